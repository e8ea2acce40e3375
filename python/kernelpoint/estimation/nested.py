"""Engines whose samples hold those of looser budgets: a looser budget never simulates more than a tighter one."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from kernelpoint.estimation.base import BaseEngine
from kernelpoint.estimation.design import ErrorBudget
from kernelpoint.estimation.look import Look
from kernelpoint.estimation.measurement_error import MeasurementErrors

LADDER = (0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001)  # relative errors whose samples tighter runs hold

Self = TypeVar("Self", bound="NestedEngine")


def looser_errors(relative_error: float) -> tuple[float, ...]:
    """The relative errors of LADDER above one, the largest first.

    >>> looser_errors(0.05), looser_errors(0.3)
    ((0.2, 0.1), ())
    """
    return tuple(eps for eps in LADDER if eps > relative_error * (1.0 + 1e-9))


class NestedEngine(BaseEngine):
    """An engine that follows the run with the next looser budget on its own results, and draws no less in any part.

    What the looser run draws is a function of the design, the seed and results of units that this one draws as well. So this
    engine holds that run, looks where a pass of it is complete, lets it grow, and draws what it draws at least. It stops once
    its own budget is met and the looser run has ended. The looser run follows the next looser one in turn. So the sample of
    a run holds those of all looser budgets of LADDER, and a looser budget never simulates more.

    A subclass calls `_begin` once its design is set, and wherever the order of draws was changed.
    """

    def __init__(self, units: int, budget: ErrorBudget, ratios: Mapping[str, tuple[str, str]] | None) -> None:
        super().__init__(units, budget, ratios)
        self._looser: NestedEngine | None = None
        self._is_followed = False  # by a tighter run, which asks for nothing but what is drawn
        self._has_ended = self._is_within = False

    # ---- what a design decides --------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def _looser_errors(self) -> Sequence[float]:
        """Relative errors of the runs to follow, the largest first."""

    @abstractmethod
    def _take_first_sample(self) -> None:
        """Draw what this budget alone asks for in the first pass."""

    @abstractmethod
    def _take_at_least(self: Self, other: Self) -> None:
        """Draw in no part less than another run of the same design."""

    @abstractmethod
    def _grow(self) -> bool:
        """See `grow`: for this budget alone."""

    def _go_on(self) -> None:
        """A pass begins that only a looser run asks for."""

    # ---- passes -----------------------------------------------------------------------------------------------------

    def _begin(self: Self) -> None:
        """First samples, of the loosest budget first."""
        looser: Self | None = None
        self._looser = None
        for eps in self._looser_errors:
            run = copy.copy(self)  # results are shared, and those of units that it does not draw do not move it
            run.budget = run._left = replace(self.budget, relative_error=eps)
            run._errors = MeasurementErrors(run.budget, self.ratios)
            run._is_followed = True
            run._begin_beyond(looser)
            looser = run
        self._begin_beyond(looser)

    def _begin_beyond(self: Self, looser: Self | None) -> None:
        self._looser = looser
        self._take_first_sample()
        if looser is not None:
            self._take_at_least(looser)

    def look(self) -> Look:
        """See BaseEngine; `met` once the looser run has ended too.

        The looser run takes a look for each of this run, and further ones while this has met its budget and holds what that
        draws. So how far it is depends on no other results than those of this sample.
        """
        look, complete = super().look(), not len(self.missing())
        self._is_within = look.met
        looser = self._looser
        if looser is None or not complete:
            return look
        looser._errors.take_over(self._errors)
        looser._pass()
        while self._is_within and not looser._has_ended and bool(np.isin(looser.drawn(), self.drawn()).all()):
            looser._pass()
        return look if looser._has_ended or not look.met else replace(look, met=False)

    def _pass(self) -> None:
        """The end of a pass of a run that is followed, and the begin of the next."""
        if not self._has_ended:
            self._has_ended = self.look().met or not self.grow()

    def grow(self) -> bool:
        """See BaseEngine; by no less than the looser run."""
        looser, within = self._looser, self._is_within
        self._is_within = False
        if within and (looser is None or looser._has_ended):
            return False
        if within:
            self._go_on()
        elif not self._grow():
            return False
        if looser is not None:
            self._take_at_least(looser)
        return True

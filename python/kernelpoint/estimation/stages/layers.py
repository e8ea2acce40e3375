"""A sample in two stages: layers, and launches in them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from kernelpoint.errors import ConfigError
from kernelpoint.estimation.budget import ErrorBudget
from kernelpoint.estimation.look import Estimate, Look
from kernelpoint.estimation.moments import Floats, Ints
from kernelpoint.estimation.nested_totals import Spreads
from kernelpoint.estimation.quantiles import two_sided
from kernelpoint.estimation.sampling import Frame, Ratios, Sampling
from kernelpoint.estimation.strata.design import Design
from kernelpoint.estimation.strata.sampling import StrataSampling


class LayerSampling(Sampling):
    """Draws layers, with a `StrataSampling` whose units are layers, and in each the launches with a weight.

    Formula (Sarndal, Swensson, Wretman 1992, section 4.3): a drawn layer l has the estimate z_l = sum_i w_i y_i over its
    drawn launches, w_i = N_lk / n_lk of N_lk launches of one kernel k. The z_l take the place of totals of layers in the
    estimator of the first stage. Its s_z^2 holds the variance between layers, and that inside them but for the fraction m / M
    that the finite-population correction takes off: V = V_1 + sum_g M_g / m_g sum_l V_2l, V_2l = sum_k N_lk^2
    (1 - n_lk / N_lk) s_lk^2 / n_lk, s_lk^2 the variance of the draws of a kernel in a layer.

    Args:
        design: with `layers` and `in_layer`; its strata and first sizes are those of layers; the first
            launch of a layer has its u.

    >>> layers, strata = np.repeat(np.arange(30), 4), np.zeros(120, int)
    >>> u, ones = np.repeat(np.linspace(0.0, 0.9, 30), 4), np.ones(120)
    >>> design = Design(strata, np.array([3]), u, layers=layers, in_layer=ones, kernels=strata)
    >>> LayerSampling(design, ErrorBudget(0.05)).drawn().tolist()
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]
    """

    def __init__(self, design: Design, budget: ErrorBudget, ratios: Ratios | None = None) -> None:
        super().__init__(len(design.strata), budget, ratios)
        self.design, self.layers, self.weights = design, np.asarray(design.layers), np.asarray(design.in_layer)
        first = np.unique(self.layers, return_index=True)[1]
        self.u = design.u
        self.inner = StrataSampling(
            replace(
                design,
                strata=design.strata[first],
                u=design.u[first],
                x=None if design.x is None else np.bincount(self.layers, weights=design.x).astype(np.float64),
                layers=None,
                in_layer=None,
                kernels=None,
            ),
            budget,
            "mean",
            ratios,
        )
        self._taken = np.zeros(len(first), dtype=bool)  # layers whose estimate the first stage has
        self._groups = np.unique(np.stack([self.layers, np.asarray(design.kernels)]), axis=1, return_inverse=True)[1]

    # ---- which units ------------------------------------------------------------------------------------------------

    def _inside(self, layers: Ints) -> Ints:
        """Launches of layers that are drawn with them."""
        chosen = np.zeros(len(self._taken), dtype=bool)
        chosen[layers] = True
        return np.flatnonzero(chosen[self.layers] & (self.weights > 0.0))

    def drawn(self) -> Ints:
        """See Sampling."""
        return self._inside(self.inner.drawn())

    def with_spare(self, factor: float) -> Ints:
        """Launches of samples of layers that are `factor` times as large, int64, ascending (StrataSampling.with_spare)."""
        return self._inside(self.inner.with_spare(factor))

    def grow(self, left: ErrorBudget) -> bool:
        """More layers."""
        return self.inner.grow(left)

    def pass_state(self) -> dict[str, Any]:
        """See Sampling: that of the layers."""
        return self.inner.pass_state()

    def restore_pass(self, state: Mapping[str, Any]) -> None:
        """See Sampling."""
        self.inner.restore_pass(state)

    # ---- looks ------------------------------------------------------------------------------------------------------

    def _take_layers(self) -> None:
        """Give the first stage the estimate of each layer whose launches all have results."""
        lacking = (
            np.bincount(self.layers[(self.results.rows < 0) & (self.weights > 0.0)], minlength=len(self._taken)) > 0
        )
        new = np.flatnonzero(~lacking & ~self._taken)
        if len(new):
            units = self._inside(new)
            values = self.weights[units, None] * self.results.of(units)
            sums = np.stack(
                [np.bincount(self.layers[units], weights=v, minlength=len(lacking)) for v in values.T], axis=1
            )
            self.inner.results.add_many(new, self.counters, sums[new].astype(np.float64))
            self._taken[new] = True

    def look(self, missing: int, budget: ErrorBudget) -> Look:
        """See Sampling."""
        self._take_layers()
        look = self.inner.look(missing, budget)
        estimates = {name: self._widened(found) for name, found in look.estimates.items()}
        stated = {**look.ratios, **estimates}
        met = look.met and all(stated[name].meets(error) for name, error in budget.targets.items())
        return replace(look, estimates=estimates, met=met, clusters=[], open_unit=None)

    def _widened(self, found: Estimate) -> Estimate:
        """An estimate of the first stage with the variance inside layers, sum_g M_g / m_g sum_l V_2l."""
        _, spreads, weights = self._undrawn(self.counters.index(found.counter))
        inside = float(((weights - 1.0) * spreads**2).sum())
        if not inside or math.isnan(found.half_width):
            return found
        error = math.hypot(found.std_error, math.sqrt(inside))
        t = two_sided(1.0 - found.confidence, max(min(found.degrees_of_freedom, 1e6), 1.0))
        half = max(found.half_width, t * error)
        return found.moved(found.estimate, half, std_error=error)

    def _undrawn(self, column: int) -> tuple[Ints, Floats, Floats]:
        """Launches of sampled layers that are not drawn there, and spreads and weights as of UnitErrors.

        Formula: S_i = s_lk sqrt(N / (n (N - n))), w_i = 1 + (N - n) M_g / m_g, N = N_lk and n = n_lk. Summed over the N - n
        launches of a kernel k in a layer l, S_i is the standard error of their total, and (w_i - 1) S_i^2 is M_g / m_g V_2lk.
        """
        units = self._inside(np.flatnonzero(self._taken))
        y, group, N = self.results.of(units)[:, column], self._groups[units], np.bincount(self._groups)
        n, sums = np.bincount(group, minlength=len(N)), np.bincount(group, weights=y, minlength=len(N))
        squares = np.bincount(group, weights=(y - (sums / np.maximum(n, 1))[group]) ** 2, minlength=len(N))
        left = np.flatnonzero(self._taken[self.layers] & (self.weights == 0.0))
        N, n, squares = (of_group[self._groups[left]] for of_group in (N, n, squares))
        spreads = np.sqrt(squares / np.maximum(n - 1, 1) * N / (n * (N - n)))
        return left, spreads, 1.0 + (N - n) * self.inner.expansions(self.layers[left])

    # ---- what it says of units --------------------------------------------------------------------------------------

    def _predict(self, units: Ints) -> Floats:
        """Of a launch without a result the mean of those of its kernel, in proportion to what its layer has."""
        has, kernels = self.results.rows >= 0, np.asarray(self.design.kernels)
        values = np.zeros((len(has), len(self.counters)))
        values[has] = self.results.of(np.flatnonzero(has))
        of_layers = self.inner.predict(np.arange(len(self._taken)))
        for column in range(len(self.counters)):
            y = values[:, column]
            count = np.bincount(kernels[has], minlength=int(kernels.max(initial=0)) + 1)
            mean = np.bincount(kernels[has], weights=y[has], minlength=len(count)) / np.maximum(count, 1)
            base = np.where(has, 0.0, np.maximum(mean[kernels], 1e-9))
            known = np.bincount(self.layers, weights=np.where(has, y, 0.0))
            below = np.bincount(self.layers, weights=base)
            scale = (of_layers[:, column] - known) / np.where(below > 0.0, below, 1.0)
            y += base * scale[self.layers]
        return values[units]

    def expansions(self, units: Ints) -> Floats:
        """See Sampling."""
        return self.inner.expansions(self.layers[units]) * self.weights[units]

    def unit_spreads(self, counter: str) -> Spreads | None:
        """Those of a layer stand at its first drawn launch: parts that do not cut layers have the right sums."""
        of_layers = self.inner.unit_spreads(counter)
        if of_layers is None:
            return None
        drawn = np.flatnonzero(self.weights > 0.0)
        at = drawn[np.unique(self.layers[drawn], return_index=True)[1]]
        weights, residuals, spreads = np.ones(len(self.layers)), np.zeros(len(self.layers)), np.zeros(len(self.layers))
        weights[at], residuals[at], spreads[at] = of_layers
        left, spreads[left], weights[left] = self._undrawn(self.counters.index(counter))
        return weights, residuals, spreads

    def lacking(self, units: Ints) -> Sampling:
        """A sample of layers needs all of their launches."""
        raise ConfigError("a launch of a drawn layer has no result; a sample of layers needs all of them")

    @property
    def frame(self) -> Frame:
        """See Sampling."""
        return Frame(self.design.strata, self.design.x)

    def expanded_totals(self) -> dict[str, float]:
        """Not known before a look."""
        return {}

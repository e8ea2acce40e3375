"""Bias that stopping leaves in a total: what the same rule states in other orders of the draws made."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kernelpoint.estimation.assisted import AssistedFit, Trust, fit_total
from kernelpoint.estimation.assisted_total import TotalFit
from kernelpoint.estimation.moments import Floats, Ints
from kernelpoint.estimation.parts import Auxiliary, Part
from kernelpoint.randomness import generator

# Numerics: see README.md
ORDERS = 50  # orders of the draws that are tried
LEAST_GOING_ON = 0.2  # share of them that go on, at least: fewer are read as that
MOST_BIAS = 0.25  # part of the error budget that a bias is at most


Groups = tuple[NDArray[np.integer], NDArray[np.integer] | None]


@dataclass(frozen=True)
class Observed:
    """A counter. values: of the draws of the rest, float64 [draws]; known: predictions and sizes; least: as of fit_total."""

    values: Floats
    known: Auxiliary
    least: float


class EarlierPass:
    """A pass of fewer cells. Its draws are some of those of the present pass; in another order of these, others of them.

    Args:
        parts: of the run, the rest first, with the cells of the present pass; cells: of each part in the earlier pass.
        groups: int [free], and their lines, as of AssistedDesign; alpha: error probability of its look; odd: `Care.odd`.
    """

    def __init__(self, parts: Sequence[Part], cells: Sequence[int], groups: Groups, alpha: float, odd: float) -> None:
        (self._groups, self._lines), self._alpha, self._odd = groups, alpha, odd
        self._parts = [copy.copy(part) for part in parts]
        for part, n in zip(self._parts, cells, strict=True):
            part.n = n
        self._rest, *begin = self._parts
        self._begin = [part for part in begin if not part.whole]
        count = int(self._groups.max(initial=-1)) + 1
        self._sizes = [np.bincount(part.cells.groups, part.cells.sizes(), count) for part in self._begin]
        now = parts[0].leaves(parts[0].n)
        self._starts = np.searchsorted(now.start, self._rest.leaves(self._rest.n).start)

    def draws(self, waits: Floats) -> Ints:
        """The present draw that each cell draws, by its place among them: int64 [orders, cells].

        Args:
            waits: float64 [orders, present draws]; the one with the least is drawn from a cell.
        """
        least = np.minimum.reduceat(waits, self._starts, axis=1)
        many = np.diff(self._starts, append=waits.shape[1])
        return np.nonzero(waits == np.repeat(least, many, axis=1))[1].reshape(least.shape)

    def fits(self, counter: Observed, units: Ints, draws: Ints) -> list[AssistedFit]:
        """The total of the rest from each row of `draws`; units: of the present draws, int64 [present draws]."""
        known, cells = counter.known, self._rest.cell_sample(self._groups, counter.known)[0]
        x, size, group = (values[units] for values in (known.x, known.size, self._groups))
        return [
            fit_total(
                counter.values[drawn],
                replace(cells, x=x[drawn], size=size[drawn], group=group[drawn], order=units[drawn]),
                self._alpha,
                Trust(counter.least),
                self._lines,
            )
            for drawn in draws
        ]

    def stops(self, rest: AssistedFit, half: float) -> bool:
        """True if the look is within a half-width, given the fit of the rest, by whose spread that of the begin is read."""
        fits, parts = [rest], [self._rest]
        for part, sizes in zip(self._begin, self._sizes, strict=True):
            fits.append(
                rest.lent(part.leaves(part.n).sums[0], float(sizes[~rest.seen].sum() / max(sizes.sum(), 1e-300)))
            )
            parts.append(part)
        total = TotalFit(tuple(fits), tuple(parts), 0.0, 1.0, self._odd, True)
        return max(total.half_width(self._alpha), total.guard(self._alpha)) <= half


def stopping_bias(
    passes: Sequence[EarlierPass],
    rest: Part,
    names: Sequence[str],
    observed: Callable[[str], Observed],
    within: tuple[float, float],
) -> dict[str, float]:
    """The bias of the total of every counter, given that the run went on after each pass but the last; {} where no order stops.

    A sample that misses what is far off its prediction looks quiet, and ends; one that holds it goes on. The total of the
    first sample has no bias for given cells, and so has its mean over all orders of the draws made in which the run
    would have gone on (Rao 1945, Blackwell 1947). That is

        T - sum over orders that stop of (T* - T) / orders that go on,

    T the total of all draws, T* that of the pass in which an order stops. In a random order a cell of an earlier pass draws
    one of the present draws inside, each with a probability in proportion to the units of its present cell, for so likely does
    it have the least of their random numbers. Numerics: ORDERS of them; where few go on, as if LEAST_GOING_ON of them did;
    no more than MOST_BIAS of the error allowed.

    Args:
        passes: the present one last; rest: the part whose draws differ, with its present cells.
        names: counters; the first stops the run; within: at a half-width of this, and this relative error.
    """
    *earlier, present = passes
    units = rest.sample()
    all_draws = np.arange(len(units))[None, :]
    waits = generator(0, "orders of draws").exponential(size=(ORDERS, len(units))) / rest.leaves(rest.n).units
    stopped: list[tuple[EarlierPass, Ints]] = []
    target, left = observed(names[0]), np.arange(ORDERS)
    for one in earlier:
        draws = one.draws(waits[left])
        stop = np.array([one.stops(fit, within[0]) for fit in one.fits(target, units, draws)], dtype=bool)
        stopped.append((one, draws[stop]))
        left = left[~stop]
    if len(left) == ORDERS:
        return {}
    going_on, bias = max(len(left), LEAST_GOING_ON * ORDERS), {}
    for name in names:
        counter = observed(name)
        total = present.fits(counter, units, all_draws)[0].estimate
        off = sum(fit.estimate - total for one, draws in stopped for fit in one.fits(counter, units, draws)) / going_on
        most = MOST_BIAS * within[1] * abs(total)
        bias[name] = min(max(off, -most), most)
    return bias

"""Two totals over the same units, both estimated with predictions, from the units drawn in both."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from kernelpoint.estimate import Estimate
from kernelpoint.estimation.cells.fit import Trust
from kernelpoint.estimation.cells.sampling import CellSampling
from kernelpoint.estimation.cells.total import TotalFit
from kernelpoint.estimation.moments import Floats
from kernelpoint.estimation.paired import PairedTotals
from kernelpoint.estimation.quantiles import quantile


def assisted_pair(cells: CellSampling, values: Floats, counter: str, alpha: float = 0.05) -> PairedTotals:
    """Ratio and difference of the totals of one counter under two configurations, from values a_i and b_i of the common
    launches.

    Formula: A and B by the model-assisted estimator (fit.fit_total), R = B / A, and what the total of b_i - R a_i leaves by its
    own line, over A: lines of two runs that are off by one factor are not shrunk alike. R - R_true is nearly the total of
    e_i = (b_i - R a_i) / A (Sarndal, Swensson, Wretman 1992, section 5.6), and that total is estimated and bounded like one
    whose predictions are 0: levels of groups and a slope on x are taken from e itself. The half-width is no less than what an
    unseen unit may change it by (AssistedFit.outlier_size times the largest share of a draw). The difference B - A is the same
    with R = 1 and without the division, but for a change by one factor, which every unit may have.

    Args:
        cells: of either run, at the number of cells of the smaller sample, with results.
        values: float64 [N, 2], a_i and b_i of each unit, nan where it was not drawn in both.
        counter: whose predictions are taken; alpha: error probability of either interval.

    >>> from kernelpoint.estimation import AssistedDesign, ErrorBudget
    >>> x = 100.0 + np.arange(500) % 7
    >>> design = AssistedDesign({"cycles": x}, np.zeros(500, int), np.random.default_rng(0).random(500))
    >>> cells = CellSampling(design, ErrorBudget(0.05))
    >>> cells.results.add_many(cells.drawn(), ("cycles",), x[cells.drawn()])
    >>> pair = assisted_pair(cells, np.column_stack([x, 1.25 * x]), "cycles")
    >>> round(float(pair.ratio.estimate), 4), pair.ratio.half_width < 0.02
    (1.25, True)
    """
    design = cells.design
    certain = values[np.asarray(design.groups) < 0].sum(axis=0)
    if cells.largest_share == 0.0:
        first, second = (float(total) for total in values[design.free].sum(axis=0) + certain)
        ratio = math.nan if first == 0.0 else second / first
        exact = 0.0 if math.isfinite(ratio) else math.nan
        return PairedTotals(first, second, Estimate.of(ratio, exact, exact, math.inf), Estimate.exact(second - first))
    cells.set_scales()
    known = cells.known(counter)
    predicted = np.full(design.size, np.nan)
    predicted[design.free] = known.x

    trust = Trust(of_budget=counter == cells.target)

    def fit(change: Callable[[Floats, Floats, Floats], Floats]) -> TotalFit:
        return cells.fit(lambda u: change(values[u, 0], values[u, 1], predicted[u]), known, alpha, trust)

    of_first, of_second = fit(lambda a, b, x: a), fit(lambda a, b, x: b)
    first, second = of_first.estimate + float(certain[0]), of_second.estimate + float(certain[1])
    unseen = 0.0, 0.0  # of a counter that is zero in some draws
    if not trust.of_budget:
        unseen = of_first.unseen_counts(alpha), of_second.unseen_counts(alpha)
    difference = second - first
    if first == 0.0:
        nothing = Estimate.of(math.nan, math.nan, math.nan, 0.0)
        return PairedTotals(first, second, nothing, Estimate.of(difference, math.nan, math.nan, 0.0))
    ratio, X = second / first, float(known.x.sum())
    of_rest = fit(lambda a, b, x: x + b - ratio * a).estimate - X + float(certain[1] - ratio * certain[0])
    ratio += of_rest / first
    moved = difference / X if X > 0.0 else 0.0
    return PairedTotals(
        first,
        second,
        _interval(fit(lambda a, b, x: x + b - ratio * a), ratio, abs(first), alpha, unseen[1] + abs(ratio) * unseen[0]),
        _interval(fit(lambda a, b, x: x + b - a - moved * x), difference, 1.0, alpha, sum(unseen)),
    )


def _interval(fit: TotalFit, value: float, divisor: float, alpha: float, unseen: float) -> Estimate:
    """The interval of `value`, whose error is that of a fit over `divisor`; unseen: amount that no draw may have shown."""
    half = max(quantile(alpha, fit.nu) * fit.error, fit.guard(alpha), unseen)
    return Estimate.of(value, half / divisor, fit.error / divisor, fit.nu)

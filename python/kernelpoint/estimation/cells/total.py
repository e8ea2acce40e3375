"""The total of a run from fits of its parts, and whether samples of other sizes should meet the budget."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from kernelpoint.estimation import constants
from kernelpoint.estimation.cells.fit import AssistedFit
from kernelpoint.estimation.cells.part import Auxiliary, Part
from kernelpoint.estimation.moments import Floats, Ints
from kernelpoint.estimation.quantiles import quantile, satterthwaite
from kernelpoint.estimation.unseen import Draws
from kernelpoint.repeated import Column


@dataclass(frozen=True)
class TotalFit:
    """Total estimated by parts. The first part is the rest of the run; the others may use its lines and spread.

    Attributes:
        fits: fit of each part, at least one.
        parts: the parts.
        exact: sum over parts that are drawn whole.
        known: predictions and sizes of all units.
        allowance: `Care.allowance`.
        alike: True if all spreads are that of the first part.
        draws: draws of all parts.
        of_budget: as of Trust.
        moved: sum of squared excesses of slow units that may be anywhere (Parts._moved).
    """

    fits: tuple[AssistedFit, ...]
    parts: tuple[Part, ...]
    exact: float
    known: Auxiliary
    allowance: float
    alike: bool
    draws: Draws
    of_budget: bool
    moved: float = 0.0

    @property
    def estimate(self) -> float:
        """Estimated total."""
        return sum(fit.estimate for fit in self.fits) + self.exact

    def corrected(
        self, x: Column | Floats, size: Column | Floats, groups: NDArray[np.integer], units: Ints, results: Floats
    ) -> Floats:
        """float64 [free]: corrected predictions of units without a result. With the results they add up to the estimate; nan
        in parts that are drawn whole.

        Args:
            x, size: of the free units, predictions and sizes; groups: int [free]; units: int64 [known], places with a
                result; results: float64 [known].
        """
        m, row = np.full(len(x), np.nan), np.full(len(x), -1, np.int32)
        row[units] = np.arange(len(units))
        for fit, part in zip(self.fits, self.parts, strict=True):
            inside, rows = self.fits[0].corrected(x[part.units], groups[part.units]), row[part.units]
            sizes, without = size[part.units], rows < 0
            undrawn = fit.estimate - float(results[rows[~without]].sum()) - float(inside[without].sum())
            below = float(sizes[without].sum())
            if below > 0.0:
                inside += undrawn / below * sizes
            m[part.units] = inside
        return m

    @property
    def error(self) -> float:
        """Standard error of the estimate."""
        return math.sqrt(sum(fit.error**2 for fit in self.fits) + self._moved_variance(self.parts[0].n))

    def _moved_variance(self, n: int) -> float:
        """Variance that slow units add to the total because the sample of n of N units contains more or fewer of them
        by chance.

        Formula: of a sum of independent excesses e, each drawn with probability n / N, (N / n - 1) sum e^2.
        """
        return self.moved * (self.parts[0].count / n - 1.0) if n else 0.0

    @property
    def nu(self) -> float:
        """Degrees of freedom of the squared standard error."""
        return self._degrees([fit.error**2 for fit in self.fits], [fit.spread.nu for fit in self.fits])

    def spent(self, alpha: float) -> float:
        """Error probability that an interim analysis uses of alpha."""
        return self.fits[0].spent(alpha)

    def half_width(self, alpha: float) -> float:
        """Half-width of the total: t SE."""
        return quantile(self.spent(alpha), self.nu) * self.error

    def guard(self, alpha: float) -> float:
        """Change of the total if one unit represented by a draw were an outlier, plus Draws.unseen_counts. For a counter that
        did not make the cells, also what its draws represent.

        Model: of such a counter a draw may be off by OUTLIER_IN_OTHERS at least. A sample that suffices for the budget may
        hold no draw of a kernel that makes up much of another counter, and its predictions are not tested then.
        """
        guard = max(self.guards({part: part.n for part in self.parts}, self.known))
        if self.of_budget:
            return max(guard, self.unseen_counts(alpha))
        outlier = max(constants.OUTLIER_IN_OTHERS, *(fit.outlier_size(self.allowance) for fit in self.fits))
        return max(guard, outlier * self.draws.largest, self.unseen_counts(alpha))

    def unseen_counts(self, alpha: float) -> float:
        """Amount that a counter, zero in some draws, may have in units of a kind that no draw shows."""
        return self.draws.unseen_counts(alpha)

    def guards(self, cells: Mapping[Part, int], known: Auxiliary) -> list[float]:
        """Change of the total by an outlier in each part, with this many cells."""
        return [
            part.largest(cells[part], known, partial(fit.outlier_sizes, self.allowance))
            for fit, part in zip(self.fits, self.parts, strict=True)
        ]

    def error_with(self, cells: Mapping[Part, int], known: Auxiliary, alpha: float) -> tuple[float, list[float]]:
        """Standard error times t that a sample with this many cells should have, and the variance of each part; relative to
        the total of `known`.
        """
        variances, nus = [], []
        for fit, part in zip(self.fits, self.parts, strict=True):
            n = cells[part]
            variances.append(fit.spread.variance(*part.sums(n, known)))
            nus.append(max(fit.spread.nu + n - part.n, 1.0))
        variances[0] += self._moved_variance(cells[self.parts[0]])
        nu = self._degrees(variances, nus)
        return quantile(self.spent(alpha), nu) * math.sqrt(sum(variances)), variances

    def _degrees(self, variances: Sequence[float], nus: Sequence[float]) -> float:
        """Degrees of freedom of a sum of variances, or of the one that all rest on."""
        if self.alike:
            return nus[0]
        nu = satterthwaite(variances, nus)
        return nu if math.isfinite(nu) else max(nus)


@dataclass(frozen=True)
class Demand:
    """Half-width and outlier allowance that a target asks of the next sample, in the unit of `known`.

    Attributes:
        fit: its total at the last look.
        known: its predictions.
        half_width: allowed half-width.
        guard: allowed change by an outlier.
        unseen: `unseen_counts` of the fit, which falls with the number of draws.
    """

    fit: TotalFit
    known: Auxiliary
    half_width: float
    guard: float
    unseen: float

    def short(self, cells: Mapping[Part, int], alpha: float) -> Part | None:
        """Part that must grow: the one with the largest outlier effect or the largest variance per cell; None if there are
        enough cells.
        """
        fit, parts = self.fit, self.fit.parts
        guards = fit.guards(cells, self.known)
        if max(guards) > self.guard:
            return parts[int(np.argmax(guards))]
        drawn = sum(part.n for part in parts)
        if self.unseen * drawn > self.half_width * sum(cells.values()):
            return parts[0]
        half, variances = fit.error_with(cells, self.known, alpha)
        if constants.SIZING_MARGIN * half > self.half_width:
            return parts[int(np.argmax([v / cells[part] for v, part in zip(variances, parts, strict=True)]))]
        return None

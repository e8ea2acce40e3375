"""Totals of nested parts of a population (domains) from the sample of the whole, each with its own half-width.

Two estimates of a part d (Rao and Molina, Small Area Estimation, 2015, chapters 2 and 4), over its units U_d and draws s_d:

    difference  D_d = sum_{U_d} yhat_i + sum_{s_d} (w_i - 1) r_i,   V_d = sum_{U_d} (w_i - 1) S_i^2
    synthetic   S_d = sum_{U_d} yhat_i,                             B_d = sum_{U_d without results} S_i

yhat_i is the unit's result, else its prediction; r_i = y_i - prediction of a draw; w_i = N_h / n_h of the stratum or cell of
a unit; S_i^2 the variance of its prediction's error, with the drift along the run. D_d is unbiased (Sarndal, Swensson,
Wretman 1992, section 10.6); V_d is the variance of r_i times membership, at most. S_d is biased where the part is unlike its
strata, but B_d bounds its root mean squared error whatever the correlation (Minkowski's inequality). The estimate with the
smaller figure counts: D_d where a part may expect about one draw or more, S_d below that.

The half-width of the whole, H, is brought to a part in proportion: H_d = min(H / SE, t) e_d, e_d = sqrt(V_d) or B_d, SE the
standard error of the whole, t its quantile or MOST_ERRORS, and H_d / T_d is no less than H / T. So all that H allows for
(quantile, budget, outliers) is in H_d; but where a run claims its budget, H, though SE is far below, small parts do not.

Once most units are drawn, V_d is small, but the error of a part is that of one unit, or of none: no multiple of sqrt(V_d) holds
it. So sum M_h^2 is added to H_d^2, over the strata h of units of the part without results: one of these may be as unlike its
stratum as the most unlike draw, M_h = S_i max_j |r_j| / S_j n_h / (n_h - 1), i the largest of them, j the draws of h (the last
factor: predicted without itself). A further unit is more unlike than n_h draws with probability 1 / (n_h + 1) (a prediction
interval without a distribution: Wilks 1941).

Parts add up: what the parts of a range differ by from it is divided among them in proportion to H_d^2 (the generalised least
squares of parts with a known sum, where their errors are independent).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kernelpoint.estimate import Estimate, relative
from kernelpoint.estimation.moments import Floats
from kernelpoint.estimation.quantiles import quantile

MOST_ERRORS = (
    4.0  # Numerics: standard errors in a half-width, at most, unless the quantile has more; from lab/coverage/ranges.py
)

DEGREES_OF_WHOLE = 10.0  # Model: degrees of freedom for which "a range scatters as the whole" counts


Spreads = tuple[Floats, Floats, Floats]  # weights, residuals and spreads of UnitErrors


@dataclass(frozen=True)
class UnitErrors:
    """Errors of all N launches in one counter, float64 [N] each.

    Attributes:
        weights: number of launches that a draw (sampled launch) of the launch's stratum represents; 1 for a launch that
            represents itself only.
        residuals: result minus prediction of each draw; 0 for undrawn launches.
        spreads: standard deviation of each launch's prediction error.
        missing: half-width of each launch that can have no result; 0 for all others.
        strata: int [N], stratum or group of each launch; -1: the launch represents itself only.
    """

    weights: Floats
    residuals: Floats
    spreads: Floats
    missing: Floats
    strata: NDArray[np.integer]

    @property
    def largest(self) -> Floats:
        """Largest error that each launch's prediction may have, judged by the draws (sampled launches) of its stratum, float64
        [N]; 0 in strata with fewer than two draws.

        Formula: S_i max_j(|r_j| / S_j) n_h / (n_h - 1), with the spreads S, the residuals r_j of the n_h draws of stratum h.
        The last factor stands for predicting each draw without itself.

        >>> zeros, strata = np.zeros(4), np.zeros(4, int)
        >>> UnitErrors(zeros, np.array([2.0, -1.0, -1.0, 0.0]), np.ones(4), zeros, strata).largest.tolist()
        [3.0, 3.0, 3.0, 3.0]
        """
        units = np.flatnonzero((self.residuals != 0.0) & (self.strata >= 0) & (self.spreads > 0.0))
        h, count = self.strata[units], int(self.strata.max(initial=-1)) + 2
        n, most = np.bincount(h, minlength=count), np.zeros(count)
        np.maximum.at(most, h, np.abs(self.residuals[units]) / self.spreads[units])
        return self.spreads * np.where(n > 1, most * n / np.maximum(n - 1, 1), 0.0)[self.strata]

    def within(self, inside: NDArray[np.bool_], results: NDArray[np.bool_]) -> tuple[Floats, UnitErrors]:
        """Correct the predictions in one part of the run by the mean error of the draws (sampled launches) in the part.

        Formula: for draw i, z_i = r_i / S_i (residual over spread) and w_i its weight. The mean error is the ratio L = sum (w_i
        - 1) r_i / sum (w_i - 1) S_i; predictions grow by L S_i (combined ratio estimator: Sarndal et al., section 7.3). S_i^2
        is multiplied by (p + (n - 1) s^2) / (p + n - 1), p = DEGREES_OF_WHOLE, n the number of draws in the part. s^2 is the
        mean of (z_i - L)^2 n_h / (n_h - 1), plain or weighted by (w_i - 1) S_i^2, whichever is larger. n_h / (n_h - 1), for n_h
        draws of the stratum, makes up for the degree of freedom that the stratum's mean takes. A draw that is alone in its
        stratum, with residual 0, does not count.

        Args:
            inside: bool [N], launches of the part.
            results: bool [N], drawn launches with a result.

        Returns:
            The correction of each launch's prediction, float64 [N], and the errors that remain.

        >>> errors = UnitErrors(np.full(4, 2.0), np.array([1.0, 1.0, 0.0, 0.0]), np.ones(4), np.zeros(4), np.zeros(4, int))
        >>> correction, left = errors.within(np.array([True, True, True, False]), np.array([True, True, False, False]))
        >>> correction.tolist(), left.residuals.tolist(), bool(left.spreads[:3].max() < 1.0)
        ([0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 0.0], True)
        """
        chosen = results & (self.weights > 1.0) & (self.spreads > 0.0)
        of_strata = np.bincount(self.strata[chosen], minlength=int(self.strata.max(initial=-1)) + 1)
        drawn = np.flatnonzero(inside & chosen)
        w, r, S, n = (
            self.weights[drawn] - 1.0,
            self.residuals[drawn],
            self.spreads[drawn],
            of_strata[self.strata[drawn]],
        )
        has_spread = (r != 0.0) | (n > 1)
        if (more := np.count_nonzero(has_spread) - 1) < 1:
            return np.zeros(len(inside)), self
        level = float((w * r).sum() / (w * S).sum())
        z2, weights = ((r / S - level) ** 2 * n / np.maximum(n - 1, 1))[has_spread], (w * S**2)[has_spread]
        scatter = max(float(z2.mean()), float((weights * z2).sum() / weights.sum())) * (more + 1) / more
        share = (DEGREES_OF_WHOLE + more * scatter) / (DEGREES_OF_WHOLE + more)
        residuals = self.residuals.copy()
        residuals[drawn] -= level * S
        correction = np.where(inside & ~results, level * self.spreads, 0.0)
        spreads = np.where(inside, math.sqrt(share) * self.spreads, self.spreads)
        return correction, replace(self, residuals=residuals, spreads=spreads)


@dataclass(frozen=True)
class Tree:
    """Tree of nested parts of a run, such as its ranges. Part 0 is the whole run.

    Attributes:
        parents: int [R], for each part the number of the part that contains it, which is smaller than its own; -1 for the
            whole.
        of_unit: int [N], number of the innermost part that contains each launch.

    >>> Tree(np.array([-1, 0, 0]), np.array([1, 1, 2, 0])).sums(np.array([1.0, 2.0, 4.0, 8.0])).tolist()
    [15.0, 3.0, 4.0, 8.0, 0.0, 0.0]
    """

    parents: NDArray[np.integer]
    of_unit: NDArray[np.integer]

    @property
    def count(self) -> int:
        """Number R of parts, the whole run included."""
        return len(self.parents)

    def inside(self, part: int) -> NDArray[np.bool_]:
        """bool [N]: True for the launches inside the part with this number.

        >>> Tree(np.array([-1, 0, 1]), np.array([1, 2, 0])).inside(1).tolist()
        [True, True, False]
        """
        within = np.arange(self.count) == part
        for below in range(part + 1, self.count):
            within[below] |= within[self.parents[below]]
        return np.asarray(within[self.of_unit])

    def sums(self, values: Floats) -> Floats:
        """float64 [2 R]: sum of the launches' values (float64 [N]) over each of the R parts, then over the rest of each part
        (its launches that lie in no smaller part).
        """
        direct = np.bincount(self.of_unit, weights=values, minlength=self.count)
        sums = direct.copy()
        for part in range(self.count - 1, 0, -1):
            sums[self.parents[part]] += sums[part]
        return np.concatenate([sums, np.where(self.leaf, 0.0, direct)])

    def largest_squares(self, values: Floats, strata: NDArray[np.integer]) -> Floats:
        """float64 [2 R]: for each of the R parts, then for the rest of each (its launches that lie in no smaller part), the sum
        over strata of the square of the largest value in the stratum.

        Args:
            values: float64 [N], value of each launch.
            strata: int [N], stratum of each launch, from -1.

        >>> tree = Tree(np.array([-1, 0, 0]), np.array([1, 1, 2]))
        >>> tree.largest_squares(np.array([1.0, 2.0, 4.0]), np.array([0, 1, 1])).tolist()
        [17.0, 5.0, 16.0, 0.0, 0.0, 0.0]
        """
        strata_count = int(strata.max(initial=-1)) + 2  # from -1

        def largest(pairs: NDArray[np.int64], of: Floats) -> tuple[NDArray[np.int64], Floats]:
            """Distinct pairs of part and stratum, as one number each, and the largest value of each."""
            distinct, which = np.unique(pairs, return_inverse=True)
            most = np.zeros(len(distinct))
            np.maximum.at(most, which, of)
            return distinct, most

        units = np.flatnonzero(values > 0.0)
        innermost = np.asarray(self.of_unit, dtype=np.int64)[units] * strata_count + strata[units] + 1
        pairs, values = largest(innermost, values[units])  # few, whatever the number of units
        part, stratum = np.divmod(pairs, strata_count)
        terms = [(part + self.count, stratum, values)]
        while len(part):
            terms.append((part, stratum, values))
            inside = np.flatnonzero(part > 0)
            part, stratum, values = self.parents[part[inside]], stratum[inside], values[inside]
        parts, stratum, values = map(np.concatenate, zip(*terms, strict=True))
        pairs, values = largest(parts * strata_count + stratum, values)
        sums = np.bincount(pairs // strata_count, weights=values**2, minlength=2 * self.count).astype(np.float64)
        sums[self.count :][self.leaf] = 0.0
        return sums

    @property
    def leaf(self) -> NDArray[np.bool_]:
        """bool [R]: True for parts that contain no other part."""
        return np.bincount(self.parents[1:], minlength=self.count) == 0


@dataclass(frozen=True)
class RangeTargets:
    """Targets of an error budget that are totals of a part of the run (a range).

    Attributes:
        of: by the target's name: the counter that is summed, a tree of parts, and the number of the part.

    >>> halves = Tree(np.array([-1, 0, 0]), np.array([1, 1, 2, 2]))
    >>> RangeTargets({"cycles of decode": ("cycles", halves, 2)}).units("cycles of decode").tolist()
    [False, False, True, True]
    """

    of: Mapping[str, tuple[str, Tree, int]]

    def units(self, target: str) -> NDArray[np.bool_]:
        """bool [N]: True for the launches in the range that a target is about."""
        _, tree, part = self.of[target]
        return tree.inside(part)


NO_RANGES = RangeTargets({})


def subtotals(
    tree: Tree,
    whole: Estimate,
    values: Floats,
    results: NDArray[np.bool_],
    errors: UnitErrors | None,
    has_bias: bool,
    of_samples: Mapping[int, Estimate] | None = None,
) -> list[Estimate]:
    """Estimate a counter's total in each part of the run, with its half-width.

    Args:
        tree: the parts.
        whole: estimate for the whole run.
        values: float64 [N], result or prediction of each launch; the sum is the estimate of the whole.
        results: bool [N], True where the value is a result.
        errors: errors of the launches; None if no half-width can be stated.
        has_bias: True if all results may err to one side; then the relative half-width of a part is no less than that of the
            whole.
        of_samples: by the number of the part, estimates of parts that were sampled separately.

    >>> errors = UnitErrors(np.full(4, 2.0), np.array([1.0, 0.0, 0.0, 0.0]), np.ones(4), np.zeros(4), np.zeros(4, int))
    >>> whole, values = Estimate("cycles", 40.0, 6.0, 0.15, 2.0, 9.0, 0.95, 21.0), np.array([11.0, 9.0, 10.0, 10.0])
    >>> tree = Tree(np.array([-1, 0, 0]), np.array([1, 1, 2, 2]))
    >>> found = subtotals(tree, whole, values, np.array([True, False, True, False]), errors, False)
    >>> [(round(part.estimate, 2), round(part.half_width, 2)) for part in found]
    [(40.0, 6.0), (20.0, 3.0), (20.0, 3.0)]
    """
    totals, simulated = tree.sums(values), tree.sums(np.where(results, values, 0.0))[: tree.count]
    half = np.append(whole.half_width, np.full(2 * tree.count - 1, 0.0 if whole.half_width == 0.0 else np.nan))
    if errors is not None:
        variance = tree.sums((errors.weights - 1.0) * errors.spreads**2)
        difference, synthetic = np.sqrt(np.maximum(variance, 0.0)), tree.sums(np.where(results, 0.0, errors.spreads))
        if np.isfinite(whole.half_width):
            error = np.minimum(difference, synthetic)
            most = max(MOST_ERRORS, quantile(1.0 - whole.confidence, whole.degrees_of_freedom))
            half = min(whole.half_width / (whole.std_error or math.inf), most) * error
            share = np.where((error > 0.0) | has_bias, np.abs(totals) / (abs(whole.estimate) or 1.0), 0.0)
            half = np.maximum(half, whole.half_width * share)
            half = np.hypot(half, np.sqrt(tree.largest_squares(np.where(results, 0.0, errors.largest), errors.strata)))
            half += tree.sums(errors.missing)
            half[0] = whole.half_width
        differences = tree.sums((errors.weights - 1.0) * errors.residuals)
        totals = totals + np.where(difference <= synthetic, differences, 0.0)
    for part, one in (of_samples or {}).items():
        totals[part], half[part] = one.estimate, one.half_width
    totals[0] = whole.estimate
    weights = np.where(np.isfinite(half), half, 0.0) ** 2
    weights[tree.count :][tree.leaf] = 0.0  # a leaf has no rest
    parents = np.concatenate([tree.parents, np.arange(tree.count)])[1:]  # of all parts but the whole, and of all rests
    inside = np.bincount(parents, weights=weights[1:], minlength=tree.count)
    for part, below in enumerate(np.split(np.argsort(parents, kind="stable") + 1, np.cumsum(np.bincount(parents))[:-1])):
        if len(below) > 1 and inside[part] > 0.0:  # what is inside a part adds up to it
            totals[below] += (totals[part] - totals[below].sum()) * weights[below] / inside[part]
    totals = totals[: tree.count]
    for part, one in (of_samples or {}).items():  # its own relative half-width: what its target is about
        half[part] *= abs(totals[part] / one.estimate) if one.estimate else 1.0
    of_error, computed = (
        amount / whole.half_width if whole.half_width else 0.0 for amount in (whole.std_error, whole.computed_half_width)
    )
    return [
        replace(
            whole,
            estimate=value,
            half_width=width,
            relative_half_width=relative(width, value, 0.0) if width == width else width,
            std_error=of_error * width,
            simulated=amount,
            computed_half_width=computed * width,
            at_most=math.nan,
        )
        for value, width, amount in zip(totals.tolist(), half[: tree.count].tolist(), simulated.tolist(), strict=True)
    ]

"""The parts of a run with predictions: how many cells each has, and the total that their draws tell."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from kernelpoint.estimation import constants
from kernelpoint.estimation.budget import ErrorBudget
from kernelpoint.estimation.cells.design import AssistedDesign
from kernelpoint.estimation.cells.fit import AssistedFit, Trust, fit_errors, fit_total, trusted_error
from kernelpoint.estimation.cells.part import Auxiliary, Part
from kernelpoint.estimation.moments import Floats, Ints
from kernelpoint.estimation.quantiles import quantile, satterthwaite
from kernelpoint.estimation.unseen import Draws, sentences, unseen_share
from kernelpoint.repeated import Column

STEP = 1.08  # from one number of cells that is tried to the next


def next_number(n: int) -> int:
    """Next larger number of cells (groups of launches with similar predictions) to try. The numbers form one fixed sequence;
    each is about 8 % larger than the one before.

    >>> [next_number(n) for n in (3, 25, 26, 27)]
    [4, 27, 27, 29]
    """
    tried = 1
    while tried <= n:
        tried = max(tried + 1, int(STEP * tried))
    return tried


@dataclass(frozen=True)
class TotalFit:
    """Estimated total of a run that is sampled in parts: the rest of the run first, then its beginning and the first launches
    of kernels. Other parts may use the line and the spread of the rest.

    Attributes:
        fits: estimate of each part that is not simulated whole.
        parts: these parts.
        exact: sum over parts that are simulated whole.
        known: predictions and sizes of all launches.
        alike: True if all parts have the spread of the rest.
        draws: sampled launches of all parts.
        of_budget: True if the budget is about this counter.
        moved: sum of squared excesses of launches that were slow in a profile and not in this run; as many may be elsewhere.
    """

    fits: tuple[AssistedFit, ...]
    parts: tuple[Part, ...]
    exact: float
    known: Auxiliary
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
        """float64 [F] (F launches are sampled by chance): corrected prediction of each launch. Results of simulated launches
        and corrected predictions of all others add up to the estimate; nan in parts that are drawn whole.

        Args:
            x, size: float64 [F], prediction and size of each launch.
            groups: int [F], group (kernel) of each launch.
            units: int64, ascending: positions of the launches with a result.
            results: float64, their results.
        """
        m, is_open = np.full(len(x), np.nan), np.ones(len(x), dtype=bool)
        is_open[units] = False
        for fit, part in zip(self.fits, self.parts, strict=True):
            inside, without = self.fits[0].corrected(x[part.units], groups[part.units]), is_open[part.units]
            of_part = results[np.searchsorted(units, part.units[~without])]
            undrawn = fit.estimate - float(of_part.sum()) - float(inside[without].sum())
            sizes = size[part.units]
            below = float(sizes[without].sum())
            if below > 0.0:
                sizes *= undrawn / below
                inside += sizes
            m[part.units] = inside
        return m

    @property
    def has_doubted_part(self) -> bool:
        """True if predictions are doubted in a part of the run with an estimate of its own, and not in the rest."""
        rest, *others = zip(self.fits, self.parts, strict=True)
        return not rest[0].doubted and any(fit.doubted for fit, part in others if part.apart)

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
        """Degrees of freedom of the estimate's variance."""
        return self._degrees([fit.error**2 for fit in self.fits], [fit.spread.nu for fit in self.fits])

    def guard(self, alpha: float) -> float:
        """Largest assumed change of the total by launches of a kind that the sample missed. It is the largest of

        - the effect of one undrawn launch that deviates from its prediction as far as `AssistedFit.outlier_sizes` assumes;
        - the amount of a counter in undrawn launches, if some sampled launches have a count of 0 (`Draws.unseen_counts`);
        - for a counter that the budget is not about: trusted_error() times the largest amount that one sampled launch
          represents. Model: the predictions of a kernel that makes up much of such a counter may be tested by no sampled
          launch.
        """
        guard = max(self.guards({part: part.n for part in self.parts}, self.known))
        if self.of_budget:
            return max(guard, self.unseen_counts(alpha))
        outlier = max(trusted_error(), *(fit.outlier_size(constants.UNDRAWN_ERROR) for fit in self.fits))
        return max(guard, outlier * self.draws.largest, self.unseen_counts(alpha))

    def unseen_counts(self, alpha: float) -> float:
        """Assumed amount of a counter in undrawn launches, if some sampled ones have a count of 0 (`Draws.unseen_counts`), by
        the mean error for the budget's counter, by the largest error for any other.
        """
        return self.draws.unseen_counts(alpha, by_largest=not self.of_budget)

    def guards(self, cells: Mapping[Part, int], known: Auxiliary) -> list[float]:
        """For each part of the run, the largest change of the total by one undrawn launch that deviates as far as is assumed
        (`AssistedFit.outlier_sizes`), for given numbers of cells (groups of launches with similar predictions).
        """
        return [
            part.largest(cells[part], known, partial(fit.outlier_sizes, constants.UNDRAWN_ERROR))
            for fit, part in zip(self.fits, self.parts, strict=True)
        ]

    def error_with(self, cells: Mapping[Part, int], known: Auxiliary, alpha: float) -> tuple[float, list[float]]:
        """Expected t x standard error of the total for given numbers of cells (groups of launches with similar predictions),
        and the expected variance of each part; both in the unit of `known`.

        Args:
            cells: number of cells in each part.
            known: predictions and sizes of all launches.
            alpha: error probability of the quantile t.
        """
        variances, nus = [], []
        for fit, part in zip(self.fits, self.parts, strict=True):
            n = cells[part]
            variances.append(part.variance(n, known, fit.spread))
            nus.append(max(fit.spread.nu + n - part.n, 1.0))
        variances[0] += self._moved_variance(cells[self.parts[0]])
        nu = self._degrees(variances, nus)
        return quantile(self.fits[0].spent(alpha), nu) * math.sqrt(sum(variances)), variances

    def _degrees(self, variances: Sequence[float], nus: Sequence[float]) -> float:
        """Degrees of freedom of a sum of variances, or of the one that all rest on."""
        if self.alike:
            return nus[0]
        nu = satterthwaite(variances, nus)
        return nu if math.isfinite(nu) else max(nus)


@dataclass(frozen=True)
class Demand:
    """Requirements of one target of the budget on the next sample, in the unit of `known`.

    Attributes:
        fit: estimate of the target's total at the last interim analysis (end of a round of sampling).
        known: predictions and sizes of all launches.
        half_width: largest half-width allowed.
        guard: largest change by one outlier allowed.
        unseen: amount of a counter that no draw shows (`Draws.unseen_counts`); it is inversely proportional to the number of
            draws (sampled launches).
    """

    fit: TotalFit
    known: Auxiliary
    half_width: float
    guard: float
    unseen: float

    def short(self, cells: Mapping[Part, int], alpha: float) -> Part | None:
        """Part of the run that needs more cells (groups of launches with similar predictions); None if the numbers of cells are
        enough. It is the part with the largest effect of an outlier if that is too large, the rest of the run if unseen counts
        are, else the part with the largest variance per cell.

        Args:
            cells: number of cells in each part.
            alpha: error probability.
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


class Parts:
    """Parts of a run that are sampled separately: the rest, the beginning, the first launch of each kernel, and the first
    launch of each further shape; or the whole run as one part.

    At first, all totals are estimated with the regression line and the error variance of the rest. If a launch of the
    beginning, or a first launch of a kernel, is an outlier, both parts become `apart`: the beginning gets an estimate and an
    error variance of its own, and all first launches of kernels are simulated. First launches of further shapes cost one draw
    at first: those of kernels are first launches of shapes, too, and testify for them. They are sampled as those of kernels
    once the beginning is `apart`, and become `apart` if one of them is an outlier.

    Args:
        design: predictions, kernels and random numbers.
        targets: counter with predictions -> relative error allowed in its total.

    Attributes:
        counts: number of launches in each part.

    >>> u = np.random.default_rng(0).random(100)
    >>> parts = Parts(AssistedDesign({"cycles": np.ones(100)}, np.zeros(100, int), u), {"cycles": 0.01})
    >>> parts.set(parts.cells(20))
    >>> parts.present, len(parts.sample()), parts.whole
    ([20, 2, 1], 23, False)
    """

    def __init__(self, design: AssistedDesign, targets: Mapping[str, float]) -> None:
        self._groups, self._rare = design.free_groups, design.rare
        self._parts = design.parts(targets)
        self._is_observed = any(one.is_observed for one in design.known.values())
        self.rest, *self.others = self._parts
        self._early, self._shapes = self.others[:2], self.others[2:]
        self._targets = targets
        none = np.zeros(0, dtype=bool)
        self._known = {name: Auxiliary(*design.prediction(name, name), none, name) for name in targets}
        self._totals = {name: float(known.size.sum()) for name, known in self._known.items()}
        self.counts = [part.count for part in self._parts]

    # ---- cells ------------------------------------------------------------------------------------------------------

    @property
    def present(self) -> list[int]:
        """Number of cells (groups of launches with similar predictions) in each part."""
        return [part.n for part in self._parts]

    @property
    def apart(self) -> list[bool]:
        """For each part, True if its total is estimated without the regression line of the rest."""
        return [part.apart for part in self._parts]

    @property
    def whole(self) -> bool:
        """True if every launch is drawn."""
        return all(part.n >= part.count for part in self._parts)

    def shares(self, cells: Sequence[int], target: str) -> Floats:
        """float64: share of the target's total that the draw (sampled launch) of each cell represents; 0 if it represents
        itself only.
        """
        pairs = zip(self._parts, cells, strict=True)
        amounts = np.concatenate([part.stands_for(n, self._known[target]) for part, n in pairs])
        return amounts / max(self._totals[target], 1e-300)

    def cells(self, n: int, least: Mapping[Part, int] | None = None) -> list[int]:
        """Number of cells (groups of launches with similar predictions) in each part, if the rest of the run has n: in
        proportion to the total size of the part, with a minimum.

        Args:
            n: number of cells in the rest.
            least: smallest number of cells in each part that is `apart` or has first launches of shapes.
        """
        n = self.rest.bounded(n)
        if n == self.rest.count:
            return self.counts
        cells = [n]
        for part in self.others:
            numbers = [part.least] if part in self._early or any(self.apart) else [1]
            if part in self._shapes or part.apart:
                numbers += [part.n, (least or {}).get(part, 0)]
            if not part.apart:
                numbers.append(round(n * part.cells.total / self.rest.cells.total))
            elif part is self._early[1]:
                numbers.append(part.count)
            cells.append(part.bounded(max(numbers)))
        return cells

    def first(self, budget: ErrorBudget) -> list[int]:
        """Number of cells (groups of launches with similar predictions) in each part of the run for the first pass (round of
        sampling). There are at least LEAST_DRAWS, and so many that neither one deviating launch nor a kind of launches that
        no draw is of breaks the budget.
        """
        n, alpha = self.rest.cells.first, 1.0 - budget.confidence
        more = constants.SECOND_DRAWS if min(self._targets.values()) < constants.APART else 0
        least = min(constants.LEAST_DRAWS + more, sum(self.counts))
        while True:
            numbers = self.cells(n)
            if sum(numbers) >= least and all(  # there is room for an outlier, and for units of a kind that no draw is of
                self.largest_share(numbers, name) * constants.UNDRAWN_ERROR <= eps
                and not (self._rare and unseen_share(self.shares(numbers, name), alpha) * self._rare > eps)
                for name, eps in self._targets.items()
            ):
                return numbers
            n = next_number(n)

    def with_second_draws(self) -> int:
        """Smallest number of cells (groups of launches with similar predictions) in the rest of the run with SECOND_DRAWS
        sampled launches whose group (kernel) has another sampled launch.
        """
        n = self.rest.n
        while n < self.rest.count:
            groups = self._groups[self.rest.sample_of(n)]
            if len(groups) - len(np.unique(groups)) >= constants.SECOND_DRAWS:
                return n
            n = next_number(n)
        return n

    def needed(self, demands: Sequence[Demand], alpha: float, least: int, most: int) -> list[int]:
        """Smallest number of cells (groups of launches with similar predictions) in each part that should meet all demands.

        Args:
            demands: requirements of the targets.
            alpha: error probability.
            least, most: limits on the number of cells in the rest of the run.
        """
        n, draws = least, {part: constants.LEAST_DRAWS for part in self.others if part.apart}
        while True:
            cells = self.cells(min(n, most), draws)
            if cells == self.counts:
                return cells
            numbers = dict(zip(self._parts, cells, strict=True))
            short = next((part for d in demands if (part := d.short(numbers, alpha)) is not None), None)
            if short is not None and (short.apart or short in self._shapes):
                draws[short] = next_number(numbers[short])
            elif short is None or n >= most:
                return cells
            else:
                n = next_number(n)

    def largest_share(self, cells: Sequence[int], target: str) -> float:
        """Largest share of a target's total that one sampled launch represents, for given numbers of cells (groups of launches
        with similar predictions); 0 if all launches are drawn.
        """
        largest = max(part.largest(n, self._known[target]) for part, n in zip(self._parts, cells, strict=True))
        return largest / max(self._totals[target], 1e-300)

    def set(self, cells: Sequence[int], apart: Sequence[bool] | None = None) -> None:
        """Set the number of cells (groups of launches with similar predictions) in each part, and so the sample; and whether
        each part is `apart`, where given.
        """
        for part, n, is_apart in zip(self._parts, cells, apart or self.apart, strict=True):
            part.n, part.apart = n, is_apart

    def sample(self) -> Ints:
        """int64: drawn launches, as positions in `AssistedDesign.free` (the launches that are sampled by chance)."""
        return np.concatenate([part.sample() for part in self._parts])

    # ---- estimates --------------------------------------------------------------------------------------------------

    def fit(self, values: Callable[[Ints], Floats], known: Auxiliary, alpha: float, trust: Trust) -> TotalFit:
        """Estimate the total of a counter, by a regression line of results on predictions. The beginning of the run has a line
        of its own only if it is `apart`; else it uses the line of the rest of the run.

        Args:
            values: function from positions in `AssistedDesign.free` (the launches that are sampled by chance) to results of the
                launches.
            known: predictions and sizes of all launches.
            alpha: the spread of results about the line is estimated by its upper quantile of this error probability.
            trust: knowledge about the errors of the predictions.
        """
        moved = self._moved(values, known, trust) if self._is_observed else 0.0
        first, known, draws = self._lines(values, known, alpha, trust)
        fits, parts, exact, drawn = [first], [self.rest], 0.0, [draws]
        for part in self.others:
            sample, units = part.cell_sample(self._groups, known)
            y = values(units)
            drawn.append((y, y - sample.x, sample.N, sample.amounts))
            if part.apart and part in self._early[:1]:
                first = fits[0] = first.with_rises(y, sample)
            if part.whole:
                exact += float(y.sum())
                continue
            inside = known.size[part.units]
            unseen = float(inside[~first.seen[self._groups[part.units]]].sum() / inside.sum())
            fits.append(fit_errors(y, sample, alpha) if part.apart else first.of_other_units(y, sample, unseen))
            parts.append(part)
        joined, alike = Draws(*map(np.concatenate, zip(*drawn, strict=True))), not any(self.apart)
        return TotalFit(tuple(fits), tuple(parts), exact, known, alike, joined, trust.of_budget, moved)

    def _moved(self, values: Callable[[Ints], Floats], known: Auxiliary, trust: Trust) -> float:
        """Sum of squared excesses of units that were slow in the observed profile and are not slow in this run;
        arguments as of `fit`.

        Model: a unit is slow that takes more than 1 + SLOW times as long as the median ratio of values and times lets expect.
        Slow units that do not repeat are a matter of the recording, so as many and as slow ones are among those that do not
        look slow. Until a drawn unit is slow in both, slow units of the profile may repeat no more than other differences
        between like units do. So the sum is at least that of all slow units except first ones, times the largest share of such
        differences that may be of the profile alone (`SharesOfSecond.most`).
        """
        sample, units = self.rest.cell_sample(self._groups, known)
        y, timed = values(units), sample.x > 0.0
        ratio = float(np.median(y[timed] / sample.x[timed])) if timed.any() else 0.0
        expected = ratio * sample.x
        moved = expected > (1.0 + constants.SLOW) * np.maximum(y, 0.0)
        shown = float((sample.N * (expected - y) ** 2)[moved].sum())
        if not len(trust.excess) or bool((~moved & (trust.excess[units] > 0.0)).any()):
            return shown
        inside = np.concatenate([part.units for part in (self.rest, *self._early[:1])])
        return max(shown, trust.second.most * float(((ratio * trust.excess[inside]) ** 2).sum()))

    def with_outliers(
        self, values: Callable[[Ints], Floats], known: Auxiliary, alpha: float, trust: Trust, room: float
    ) -> list[Part]:
        """Parts, not yet `apart`, whose draws deviate from their predictions so much more than the rest that the total may be
        wrong by more than `room`. The beginning and the first launches of kernels count as one.

        Args:
            values, known, alpha, trust: as in `fit`.
            room: error of the total that is allowed, in the unit of the counter.
        """
        if self.whole:
            return []
        first, corrected, _ = self._lines(values, known, alpha, trust)
        outlying: list[Part] = []
        for together in (self._early, self._shapes):
            together = [part for part in together if not part.apart]
            totals = [float(known.size[part.units].sum()) for part in together]
            for part, total in zip(together, totals, strict=True):
                sample, units = part.cell_sample(self._groups, corrected)
                largest_outlier = first.largest_outlier(values(units), sample, constants.UNDRAWN_ERROR)
                if largest_outlier * (sum(totals) if largest_outlier > trusted_error() else total) > room:
                    outlying += together
                    break
        return outlying

    def _lines(
        self, values: Callable[[Ints], Floats], known: Auxiliary, alpha: float, trust: Trust
    ) -> tuple[AssistedFit, Auxiliary, tuple[Floats, Floats, Floats, Floats]]:
        """Fit of the largest part of the run, its corrected predictions, and the columns of `Draws` for its draws."""
        sample, units = self.rest.cell_sample(self._groups, known)
        y = values(units)
        fit = fit_total(y, sample, alpha, trust)
        draws = y, y - fit.corrected(sample.x, sample.group), sample.N, sample.amounts
        return fit, replace(known, corrected=fit.corrected), draws

    def sizes_of_drawn_cells(self) -> Floats:
        """float64, in the order of `sample`: number of launches that each draw (sampled launch) represents."""
        return np.concatenate([np.ones(p.count) if p.whole else p.cells.leaves(p.n).units for p in self._parts])

    def cell_sizes(self) -> Floats:
        """float64 [F] (F launches are sampled by chance): number of launches in the cell (group of launches with similar
        predictions) of each launch; 1 in parts that are drawn whole. A launch is drawn with the probability 1 / this number.
        """
        numbers = np.ones(sum(self.counts))
        for part in (part for part in self._parts if not part.whole):
            units = part.cells.leaves(part.n).units
            numbers[part.units[part.cells.order]] = np.repeat(units, units.astype(int))
        return numbers

    def unit_spreads(self, fit: TotalFit, known: Auxiliary) -> Floats:
        """float64 [F] (F launches are sampled by chance): standard deviation of the prediction error of each launch; 0 in parts
        that are drawn whole.

        Formula: the variance is (K + K0 mixed + excess unlike) size^2 + line var(size), as in `Spread.variance`. K is no less
        than the scatter about the levels of the groups (kernels), because neighbours may agree where parts of the run do not.
        """
        spreads = np.zeros(len(known.x))
        for one, part in zip(fit.fits, fit.parts, strict=True):
            leaves = part.cells.leaves(part.n)
            units = part.units[part.cells.order]
            mean, square = part.size_means(part.n, known)
            varies = np.maximum(square - mean**2, 0.0)
            count = leaves.units.astype(int)
            K = max(one.spread.K, one.within**2) + one.spread.K0 * leaves.mixed + one.spread.excess * leaves.unlike
            variances = known.size[units]
            variances *= variances  # Numerics: in place; a list may have a million launches
            variances *= np.repeat(K, count)
            variances += np.repeat(one.spread.line * varies, count)
            spreads[units] = np.sqrt(variances, out=variances)
        return spreads

    # ---- statements -------------------------------------------------------------------------------------------------

    def assumptions(self, fit: TotalFit, alpha: float, target: str) -> list[str]:
        """Sentences for the report: assumptions of a half-width, and kinds of launches that the sample may miss.

        Args:
            fit: estimate of the target's total.
            alpha: error probability.
            target: name of the target.
        """
        shares, drawn = self.shares(self.present, next(iter(self._targets))), sum(self.present)
        largest = int(np.argmax(shares))
        unlike = np.concatenate([part.cells.leaves(part.n).unlike for part in self._parts])[largest : largest + 1]
        off = float(fit.fits[0].outlier_sizes(constants.UNDRAWN_ERROR, unlike)[0])
        seen = fit.fits[0].largest
        assumed = constants.UNDRAWN_ERROR
        raised = f", because a simulated unit was {100 * seen:.2g} % off, more than the assumed {100 * assumed:g} %"
        apart = {
            "the beginning of the run or first units are unlike the rest: they have an estimate of their own": self._early,
            "the first units of shapes are unlike the rest: they have an estimate of their own": self._shapes,
        }
        return [
            f"one draw in each of {drawn} cells; relative errors of predictions are exchangeable between them",
            f"the most influential simulated unit represents {100 * shares[largest]:.2g} % of {target}; it may be "
            f"{100 * off:.2g} % off its prediction{raised if seen > assumed else ''}",
            *(sentence for sentence, parts in apart.items() if any(part.apart for part in parts)),
            *sentences(shares, sum(self.counts) - drawn, alpha, target),
        ]

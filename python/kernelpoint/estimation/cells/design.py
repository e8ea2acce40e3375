"""Design of a run whose every unit has a prediction, fixed before the first draw."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelpoint.errors import ConfigError
from kernelpoint.estimation import constants
from kernelpoint.estimation.budget import Assume, check_assume
from kernelpoint.estimation.cells.part import Part
from kernelpoint.estimation.cells.tree import Cells
from kernelpoint.estimation.inference import Combination
from kernelpoint.estimation.moments import Floats, Ints
from kernelpoint.estimation.nested_totals import RangeTargets
from kernelpoint.estimation.numbering import rank_in
from kernelpoint.ratios import ACTIVE_CYCLES
from kernelpoint.repeated import Column, Repeated


@dataclass(frozen=True)
class Prediction:
    """Expected value of one counter for each of N launches. Launches with equal expected values are of one kind; values are
    stored once for each of K kinds.

    Attributes:
        values: float64 [K], expected value in the total, 0 or more.
        of_draws: float64 [K], expected result of a simulated launch, if it differs from `values`; else None.
        deviations: float64 [K], standard deviation of the value about its prediction, if known beforehand; else None.
        is_observed: True if the values were measured launch by launch (times of a profile), and so have separate errors; False
            if a model computes them, which may be wrong for whole kernels.
        kinds: int [N], kind of each launch; None: every launch has its own kind.
        second: float64 [K], expected value from a second source, the mean of launches that should be alike; None: none.
            The sample decides how much it counts (`fit.shares_of_second`).

    >>> Prediction(np.array([4.0, 9.0]), kinds=np.array([1, 0, 1])).mean.tolist()
    [9.0, 4.0, 9.0]
    """

    values: Floats
    of_draws: Floats | None = None
    deviations: Floats | None = None
    is_observed: bool = False
    kinds: NDArray[np.integer] | None = None
    second: Floats | None = None

    @property
    def size(self) -> int:
        """Number N of launches."""
        return len(self.values if self.kinds is None else self.kinds)

    @property
    def mean(self) -> Floats:
        """float64 [N]: expected value of each launch."""
        return self.values if self.kinds is None else self.values[self.kinds]

    @property
    def change(self) -> Floats:
        """float64 [N]: second expected value of each launch minus the first; 0 without a second source, and where one value is
        more than 1 + SLOW times the other: such a launch is of another kind.
        """
        return self._beside_second(lambda x, second, is_alike: np.where(is_alike, second - x, 0.0))

    @property
    def excess(self) -> Floats:
        """float64 [N]: first expected value of each slow launch minus the second; 0 of other launches. A launch is slow if the
        first is more than 1 + SLOW times the second.
        """
        return self._beside_second(lambda x, second, is_alike: np.where(is_alike, 0.0, np.maximum(x - second, 0.0)))

    def _beside_second(self, of: Callable[[Floats, Floats, NDArray[np.bool_]], Floats]) -> Floats:
        """A function of the first value, the second, and whether neither is more than 1 + SLOW times the other, float64 [N]."""
        x, far = self.values, 1.0 + constants.SLOW
        second = x if self.second is None else self.second
        values = of(x, second, (x <= far * second) & (far * x >= second))
        return values if self.kinds is None else values[self.kinds]

    def of_draw(self, units: NDArray[np.integer]) -> Floats:
        """float64 [units]: expected result of the launches with the given indices if they are simulated."""
        values = self.values if self.of_draws is None else self.of_draws
        return values[units if self.kinds is None else self.kinds[units]]

    def of(self, units: NDArray[np.integer]) -> Prediction:
        """Predictions of the launches with the given indices."""
        return replace(self, kinds=units if self.kinds is None else self.kinds[units])


@dataclass(frozen=True)
class AssistedDesign:
    """Design of a run in which every launch has a prediction. It is fixed before the first draw.

    Args:
        predictions: by counter, a `Prediction` or the expected values, float64 [N]. A counter without one uses that of the
            budget's counter, else the first.
        groups: int [N], from 0: group (kernel) of each launch, within which predictions may share an error; -1: the launch is
            always simulated.
        u: float64 [N], random numbers in [0, 1) that never change.
        assume: errors that predictions may hide, for which more launches are sampled. "repetitive": none. "ordinary": the
            beginning of the run, or first launches of groups and shapes, may be unlike the rest. "hostile": the same, and kinds
            of launches that the sample misses may be slow.
        latency: constant launch latency, in cycles, which is part of the cycles of every launch.
        shapes: int [N], equal for launches of one group with equal shapes (grid and block); None: unknown.
        offsets: int64 [processes + 1], index of the first launch of each process, and N; None: there is one process. Each has a
            beginning.
        ranges: for each target that is a total over a range (part of the run): the counter, and bool [N], True for launches in
            the range.

    Raises:
        ConfigError: lengths or values do not fit together.

    >>> AssistedDesign({"cycles": np.ones(3)}, np.array([0, 0, -1]), np.array([0.5, 0.1, 0.3])).size
    3
    """

    predictions: Mapping[str, Prediction | Floats]
    groups: NDArray[np.integer]
    u: Floats
    assume: Assume = "ordinary"
    latency: float = 0.0
    shapes: NDArray[np.integer] | None = None
    offsets: Ints | None = None
    ranges: Mapping[str, tuple[str, NDArray[np.bool_]]] = field(default_factory=dict)
    _trees: dict[str, list[tuple[Ints, Cells]]] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.predictions:
            raise ConfigError("design.predictions is empty; give predictions of one counter or more")
        sizes = {"u": len(self.u), "shapes": len(self.groups if self.shapes is None else self.shapes)}
        sizes |= {f"predictions of {name}": one.size for name, one in self.known.items()}
        for name, size in sizes.items():
            if size != len(self.groups):
                raise ConfigError(f"design.{name} has length {size}; expected {len(self.groups)}, one for each launch")
        if len(self.u) and not (self.u.min() >= 0.0 and self.u.max() < 1.0):
            raise ConfigError("design.u must lie in [0, 1)")
        kinds = next(iter(self.known.values())).kinds
        present = self.free if kinds is None else np.unique(kinds[self.free])
        for name, one in self.known.items():
            if one.kinds is not kinds:
                raise ConfigError("design.predictions: the counters have different `kinds`; give all of them the same array")
            further = (" of draws", one.of_draws), (" as deviations", one.deviations), (" from a second source", one.second)
            for what, values in (("", one.values), *further):
                if values is not None and not ((values[present] >= 0.0) & (values[present] <= 1e60)).all():
                    raise ConfigError(f"design.predictions of {name}{what} must be numbers from 0 to 1e60")
        check_assume(self.assume)
        if not 0.0 <= self.latency < math.inf:
            raise ConfigError(f"design.latency: {self.latency} is not allowed; give a number of cycles, 0 or more")

    def as_take_all(self, units: Ints) -> AssistedDesign:
        """Same design in which the launches with the given indices belong to no group (kernel), and are always simulated."""
        groups = np.array(self.groups)
        groups[units] = -1
        return replace(self, groups=groups, _trees={})

    def with_ranges(self, targets: RangeTargets, instead: str) -> AssistedDesign:
        """Same design with the ranges (parts of the run) whose totals are targets of the budget.

        Args:
            targets: the ranges.
            instead: counter whose predictions are used for a counter without predictions.
        """
        if not targets.of:
            return self
        pairs = {name: (self.predicted_by(counter, instead), targets.units(name)) for name, (counter, *_) in targets.of.items()}
        return replace(self, ranges=pairs, _trees={})

    @property
    def size(self) -> int:
        """Number N of launches in the population."""
        return len(self.groups)

    @cached_property
    def known(self) -> dict[str, Prediction]:
        """Predictions of all launches, by counter."""
        return {k: one if isinstance(one, Prediction) else Prediction(one) for k, one in self.predictions.items()}

    @cached_property
    def uncertain(self) -> dict[str, Prediction]:
        """Predictions by counter, without what is certain: the constant launch latency is subtracted from cycles."""
        if not self.latency or "cycles" not in self.known:
            return self.known
        cycles = self.known["cycles"]
        values = (
            self.known[ACTIVE_CYCLES].values if ACTIVE_CYCLES in self.known else np.maximum(cycles.values - self.latency, 0.0)
        )
        of_draws, second = (
            None if one is None else np.maximum(one - cycles.values + values, 0.0) for one in (cycles.of_draws, cycles.second)
        )
        return {**self.known, "cycles": replace(cycles, values=values, of_draws=of_draws, second=second)}

    def constant(self, counter: str) -> float:
        """Part of a counter that is the same for every launch: the launch latency for cycles, 0 for any other counter."""
        return self.latency if self._counter_of(counter) == "cycles" and "cycles" in self.known else 0.0

    def _counter_of(self, name: str) -> str:
        """The counter of a range, or the counter itself."""
        return self.ranges[name][0] if name in self.ranges else name

    def of_uncertain(self, counter: str, error: float) -> float:
        """Convert a relative error of a total into a relative error of the total without the constant part (launch latency) of
        every launch.

        Args:
            counter: name of a counter or range.
            error: relative error of its total.

        >>> x = np.full(2, 100.0)
        >>> AssistedDesign({"cycles": x}, np.zeros(2, int), np.zeros(2), latency=90.0).of_uncertain("cycles", 0.01)
        0.1
        """
        units = int(self.of_free(self.ranges[counter][1]).sum()) if counter in self.ranges else len(self.free)
        if not (constant := self.constant(counter) * units):
            return error
        x = float(self.prediction(counter, counter)[0].sum())
        return error * (x + constant) / x if x > 0.0 else error

    @property
    def kinds(self) -> NDArray[np.integer] | None:
        """int [N]: kind of each launch; launches of one kind have equal predictions. None: every launch has its own kind."""
        return next(iter(self.known.values())).kinds

    @property
    def means(self) -> Repeated:
        """float64 [N] by counter: expected value of each launch."""
        return Repeated(self.kinds, {name: one.values for name, one in self.known.items()})

    @property
    def computed(self) -> Repeated:
        """Predicted value of a counter for each launch, float64 [N], by the name of the counter. Only counters that a model of
        the simulator predicts are listed, not those that were observed in another run.
        """
        return Repeated(self.kinds, {name: one.values for name, one in self.known.items() if not one.is_observed})

    @property
    def labels(self) -> NDArray[np.integer]:
        """int [N]: group (kernel) of each launch. A `Design` has its strata under this name."""
        return self.groups

    @property
    def label_count(self) -> int:
        """Number of groups (kernels)."""
        return int(self.free_groups.max(initial=-1)) + 1

    @property
    def clusters(self) -> None:
        """Clusters of groups (kernels): none in this kind of design."""
        return None

    @property
    def expected(self) -> Column:
        """float64 [N]: expected cost of each launch: predicted cycles, or the first prediction if there are none."""
        prediction = self.known[self.predicted_by("cycles", "cycles")]
        return Column(prediction.kinds, prediction.values)

    @property
    def rare(self) -> float:
        """Assumed relative error of kinds of launches that the sample misses; 0: none are assumed. Times their largest share of
        the total (unseen.unseen_share), it is no more than the budget.
        """
        return constants.SLOW if self.assume == "hostile" else 0.0

    @cached_property
    def free(self) -> Ints:
        """int64, ascending: indices of the free launches, which are sampled by chance; all other launches are always
        simulated.
        """
        return np.flatnonzero(np.asarray(self.groups) >= 0)

    @cached_property
    def free_groups(self) -> NDArray[np.integer]:
        """int [F]: group (kernel) of each launch that is sampled by chance."""
        return self.of_free(np.asarray(self.groups))

    @cached_property
    def _drawn(self) -> dict[str, list[dict[int, int]]]:
        """Drawn units of nodes (Part) of each part, by name of the tree; a copy with another u has its own."""
        return {}

    @cached_property
    def _places(self) -> dict[str, list[Ints]]:
        """Cached results of `_units_of_parts`, by name of the sizes."""
        return {}

    @cached_property
    def _predicted(self) -> dict[str, tuple[Column, Column]]:
        """Cached results of `prediction`, by counter."""
        return {}

    @cached_property
    def _free_kinds(self) -> NDArray[np.integer] | None:
        """Kind of each unit that is sampled by chance, int [free]."""
        return None if self.kinds is None else self.of_free(self.kinds)

    def of_free(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values of the launches that are sampled by chance, from an array over all launches. Not copied if all
        launches are.
        """
        return values if len(self.free) == len(values) else values[self.free]

    def predicted_by(self, counter: str, instead: str) -> str:
        """Name of the counter, or range, whose predictions are used for a counter or range: the same name if it has
        predictions, else `instead`, else the first.
        """
        return (
            counter
            if counter in self.ranges
            else next(name for name in (counter, instead, *self.predictions) if name in self.predictions)
        )

    def prediction(self, counter: str, instead: str) -> tuple[Column, Column]:
        """Prediction x and size of each launch that is sampled by chance. Errors are relative to the size: it is x, or x +
        MIN_SIZE_SHARE mean(x) if some x are close to 0. For a range (part of the run), both are 0 outside.

        Args:
            counter: name of a counter or range.
            instead: counter whose predictions are used if `counter` has none.
        """
        name = self.predicted_by(counter, instead)
        if name in self.ranges and name not in self._predicted:
            inside = self.of_free(self.ranges[name][1])
            whole = self.prediction(self.ranges[name][0], instead)
            x_inside, size_inside = (Column(None, np.where(inside, values[:], 0.0)) for values in whole)
            self._predicted[name] = x_inside, size_inside
        elif name not in self._predicted:
            values = np.asarray(self.uncertain[name].values, dtype=float)
            x = Column(self._free_kinds, self.of_free(values) if self.kinds is None else values)
            added = self._added(x[:])
            self._predicted[name] = x, Column(x.kinds, x.of_kind + added) if added else x
        return self._predicted[name]

    def of_certain(self, counter: str, instead: str, units: Ints) -> tuple[Floats, Floats]:
        """Prediction and size (see `prediction`) of launches that are always simulated, float64 [units] both; nan where there
        is no prediction.

        Args:
            counter: name of a counter or range.
            instead: counter whose predictions are used if `counter` has none.
            units: int64, indices of the launches.
        """
        name = self.predicted_by(counter, instead)
        if name in self.ranges:
            return np.full(len(units), np.nan), np.full(len(units), np.nan)
        x, size = self.prediction(counter, instead)
        of_units = self.uncertain[name].of(units).mean
        of_units = np.where((of_units > 0.0) & (of_units <= 1e60), of_units, np.nan)
        return of_units, of_units + float((size[:1] - x[:1]).sum())

    def _added(self, x: Floats) -> float:
        """Difference between the sizes of units and their predictions x; 1 if all predictions are 0."""
        mean = float(x.mean()) if len(x) else 0.0
        if mean == 0.0:
            return 1.0
        return constants.MIN_SIZE_SHARE * mean if float(x.min()) < constants.MIN_SIZE_SHARE * mean else 0.0

    def departure(self, combination: Combination, units: Ints) -> Floats:
        """For each launch, the predicted value in the full run minus the predicted result of its simulation
        (`Prediction.of_draws`), float64 [units].

        Args:
            combination: pairs (weight, counter), whose weighted values are added.
            units: int64, indices of the launches.
        """
        beyond = np.zeros(len(units))
        for weight, name in combination:
            if name in self.uncertain and (prediction := self.uncertain[name]).of_draws is not None:
                at = units if prediction.kinds is None else prediction.kinds[units]
                beyond += weight * (prediction.values[at] - prediction.of_draws[at])
        return beyond

    def least_error(self, counter: str) -> float:
        """Lower limit of the squared relative error of a counter's predictions: the squared error that is known beforehand
        (`Prediction.deviations`), and at least MIN_SQUARED_ERROR.
        """
        if counter not in self.known or (prediction := self.uncertain[counter]).deviations is None:
            return constants.MIN_SQUARED_ERROR
        at = self.free if prediction.kinds is None else prediction.kinds[self.free]
        squared = float((prediction.deviations[at] ** 2).sum()) / max(float((prediction.values[at] ** 2).sum()), 1e-300)
        return max(squared, constants.MIN_SQUARED_ERROR)

    def expected_error(self, counter: str) -> float:
        """Squared relative error of a single prediction that is expected before any launch is simulated.

        Model: every counter scatters by EXPECTED_NOISE; of cycles, only those beyond the constant launch latency do.
        """
        return (constants.EXPECTED_NOISE * (self._active_share if counter == "cycles" else 1.0)) ** 2

    @cached_property
    def _active_share(self) -> float:
        """Share of all predicted cycles, without a known launch latency, that is active; 1 where it is not predicted."""
        if "cycles" not in self.known or ACTIVE_CYCLES not in self.known:
            return 1.0
        cycles, active = (float(self.uncertain[name].mean.sum()) for name in ("cycles", ACTIVE_CYCLES))
        return active / cycles if cycles else 1.0

    def parts(self, targets: Mapping[str, float]) -> list[Part]:
        """Divide the run into parts that are sampled separately: the rest of the run; its beginning; the first launch of each
        group (kernel); the first launch of each further shape. There is a single part if `assume` is "repetitive" or the
        beginning is too large.

        Args:
            targets: at least one counter with predictions -> relative error allowed in its total.
        """
        names = tuple(targets)
        sizes = {name: self.prediction(name, name)[1] for name in names}
        cells_key = " and ".join(f"{name} {error}" for name, error in targets.items())
        key = names[0] if len(names) == 1 else cells_key
        if cells_key not in self._trees:
            x, added = self._joint(targets)
            alone, group_error = self._alone(targets, size := x + added if added else x)
            if key not in self._places:
                self._places[key] = self._units_of_parts(size)
            self._trees.clear()
            self._trees[cells_key] = [
                (of, Cells(x[of], self.free_groups[of], 1.0 if k else alone, k > 0, key, added, group_error))
                for k, of in enumerate(self._places[key])
            ]
        if cells_key not in self._drawn:
            self._drawn.clear()
            self._drawn[cells_key] = [{} for _ in self._trees[cells_key]]
        drawn = self._drawn[cells_key]
        shares = [
            {name: float(size[units].sum()) / max(float(size.sum()), 1e-300) for name, size in sizes.items()}
            for units, _ in self._trees[cells_key]
        ]
        allowed = [
            min(targets[name] / max(share, 1e-300) for name, share in of_part.items()) for of_part in shares
        ]  # of a part, relative to it
        u = self.of_free(np.asarray(self.u, dtype=float))
        return [
            Part(units, cells, u, drawn[k], self._least(k, cells.N, allowed[k]))
            for k, (units, cells) in enumerate(self._trees[cells_key])
        ]

    def _alone(self, targets: Mapping[str, float], size: Floats) -> tuple[float | Floats, float]:
        """Two properties of the first cells, for the sizes of the first pass.

        Returns:
            The share of all sizes above which a group has cells of its own, and so a draw, from the start, one for all groups
            or float64 [groups]: its part that may be off exceeds the relative error that the targets allow. The relative
            distance that is expected between the levels of two groups.

        Model: observed times are off launch by launch, not for whole groups. Of predicted cycles, those beyond the launch
        latency of the model may be off.
        """
        if any(self.known[self._counter_of(name)].is_observed for name in targets):
            return constants.APART, constants.EXPECTED_NOISE
        (name, error), *others = targets.items()
        share = min(constants.APART, 1.0 / float(size.sum()) if others else error)  # sizes of several: _joint
        if others or name != "cycles" or self.latency or ACTIVE_CYCLES not in self.known:
            return share, constants.EXPECTED_GROUP_ERROR
        of_groups = [np.bincount(self.free_groups, v) for v in (size, self.of_free(self.known[ACTIVE_CYCLES].mean))]
        return share * of_groups[0] / np.maximum(of_groups[1], 1e-300), constants.EXPECTED_GROUP_ERROR

    def _joint(self, targets: Mapping[str, float]) -> tuple[Floats, float]:
        """Values from which cells are made, float64 [free], and what is added to them for sizes: predictions of one target; of
        several, the joint size s_i = sqrt(sum_j (s_ij / (eps_j S_j))^2).

        Formula: units of a cell leave the variance K sum s_ij^2 in the total S_j of target j. Over the variance that is allowed
        there, (eps_j S_j)^2, and over all targets, that is K sum s_i^2. So one tree serves all (for strata: Bethel 1989).
        """
        name, *others = targets
        if not others:
            x = self.prediction(name, name)[0][:]
            return x, self._added(x)
        squares = np.zeros(len(self.free))
        for name, error in targets.items():
            size = self.prediction(name, name)[1][:]
            squares += (size / max(error * float(size.sum()), 1e-300)) ** 2
        return np.sqrt(squares), 0.0

    def _least(self, part: int, count: int, allowed: float) -> int:
        """Draws at least of a part: of the rest none, of the beginning one. Of first units as many as hold one that errs by
        COLD, if those that do break the budget, an error of `allowed` of the part, or are COLD_PART of them.
        """
        if part < 2:
            return part
        cold = max(allowed / constants.COLD, constants.COLD_PART)
        return max(draws_to_see(math.ceil(cold * count), count) if cold < 1.0 else 1, min(constants.SECOND_DRAWS, count))

    def _units_of_parts(self, size: Floats) -> list[Ints]:
        """Places in `free` of the units of each part, none of them empty but the first: rest; beginning, with early units of
        groups before all others; first units of groups; first units of further shapes. As much of it as is no more than
        COLD_PART of the total.

        Model: observed times contain what first units of shapes take; those of groups may take longer in another recording.
        """
        place, rank = np.arange(len(self.free)), rank_in(self.free_groups)
        process = np.searchsorted(np.zeros(1) if self.offsets is None else self.offsets, self.free, side="right") - 1
        beginning = rank_in(process) < constants.EARLY * np.bincount(process)[process]
        most = constants.COLD_PART * float(size.sum())
        first, none = rank == 0, np.zeros(len(place), dtype=bool)
        further = none
        if self.shapes is not None and not any(one.is_observed for one in self.known.values()):
            further = (rank_in(self.of_free(np.asarray(self.shapes))) == 0) & ~first
        for early, of_shapes in product((constants.EARLY_UNITS, 1), (further, none)):
            soon = rank < early
            if self.assume != "repetitive" and float(size[beginning | soon | of_shapes].sum()) <= most:
                parts = ~(beginning | soon | of_shapes), soon & ~first & ~of_shapes, beginning & ~soon & ~of_shapes, first
                rest, early_units, others, firsts = map(np.flatnonzero, parts)
                shapes = [np.flatnonzero(of_shapes)] if of_shapes.any() else []
                return [rest, np.concatenate((early_units, others)), firsts, *shapes]
        return [place]


def draws_to_see(some: int, count: int) -> int:
    """Smallest number of sampled launches out of `count` launches that contains one of `some` special launches with probability
    95 %.

    >>> [draws_to_see(some, 8) for some in (8, 4, 3, 1)]
    [1, 4, 5, 8]
    """
    none = 1.0
    for drawn in range(count):
        none *= max(count - some - drawn, 0) / (count - drawn)
        if none <= 0.05:
            return drawn + 1
    return count

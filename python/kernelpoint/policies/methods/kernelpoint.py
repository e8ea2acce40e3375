"""KernelPoint's own policy: predictions or strata as fine as pays, random draws, a regression."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kernelpoint.clustering import threshold_clusters, unit_rows
from kernelpoint.estimation import AssistedDesign, Assume, Design, Prediction, stratify
from kernelpoint.estimation.constants import OUTLIER_ALLOWANCE, SLOW_EXCESS
from kernelpoint.policies.contract import Policy
from kernelpoint.policies.labels import context, first_of_each_process, in_each_process, usual, varying_context
from kernelpoint.policies.methods.random import simple_random_sample
from kernelpoint.program import Program
from kernelpoint.workload import Available, Need, known_times, require, usable, why_no_cells, why_unassisted

# Model: what a launch costs before anything is simulated, in cycles, up to a factor: launch latency plus the warp
# instructions of one of the SMs it spreads over. It shares out the first draws and is the covariate of the regression; the
# bound does not rest on it. Over seven full runs in the embedded host, a line in this within equal kernels left a CoV of
# 0.4 to 5 %, against 30 to 40 % with plain instruction counts (irregular graph traversal: 37 against 81 %).
LATENCY = 3000.0
SMS = 80

# Model: expected CoV of residuals within a cell of each level, coarse to fine; decides how finely strata are split.
CLUSTER_SPREADS: tuple[float, ...] = (0.3, 0.05, 0.02, 0.01)
# A description's name and amount of work say little of the cost: a list of 25 kinds whose cycles no shape predicts
# (tests/hosts/test_described.py) took 1,988 of 2,000 launches with CLUSTER_SPREADS.
DESCRIBED_SPREADS: tuple[float, ...] = (1.5, 0.5, 0.02, 0.01)
# Names and shapes hide arguments, which only the context tells apart: one neighbour on each side, or two, and the nearest ones
# whose kernels come in several shapes. Without the latter where launches are yet to be traced: then the traces tell, and
# simpleopacus at 5 % has 525 launches traced in place of 2,095, with as small an error.
METADATA_SPREADS: tuple[float, ...] = (1.5, 0.1, 0.05)
# Model: outlier allowance, how far a launch that no draw shows may be off without breaking the budget, relative to its value,
# by what the user assumes. Launches that are simulated repeat what their instructions say, which names and shapes do not tell
# where they are yet to be traced.
ODD_SIMULATED: dict[Assume, float] = {"repetitive": OUTLIER_ALLOWANCE, "ordinary": OUTLIER_ALLOWANCE, "hostile": 1.0}
ODD_UNTRACED: dict[Assume, float] = {"repetitive": 0.5, "ordinary": 2.0, "hostile": 27.0}
ODD_MEASURED: dict[Assume, float] = {"repetitive": OUTLIER_ALLOWANCE, "ordinary": OUTLIER_ALLOWANCE, "hostile": 27.0}
# Model: measured launches are now and then slow, and launches of one name and shape may do unlike work. As many of them as the
# draws do not exclude may exceed their usual time by this multiple of it; once slow ones are drawn, these tell
# (strata.variance.SlowDraws). Counts of instructions do not tell what memory does; traces do.
SLOW_NAMED: dict[Assume, float] = {"repetitive": 0.0, "ordinary": SLOW_EXCESS, "hostile": 0.0}
# Model: traffic behind the caches may sit wholly in launches that meet their data for the first time, too rare to be drawn.
COLD_COUNTERS = ("dram", "miss")
# Model: relative error that strata are made for, whatever the budget: those of one budget are good for others, and samples nest
MADE_FOR = 0.01
# Model: with as many launches of one signature in the mean, signatures tell more than a simulator's own forecast of the cost,
# which may be off by another factor for every shape: 31 signatures, forecasts 35 % off, 2,000 launches: 61 against 710 draws.
REPEATS = 10
CLUSTER_DISTANCE = 0.3  # embeddings of length 1 closer than this open no new cluster


class KernelPoint(Policy):
    """KernelPoint's own method: random draws from groups of launches that are expected to be similar, in several passes (rounds
    of sampling), until the measured error bound meets the budget.

    With a prediction for each launch, groups are cells: launches with similar predicted cycles (estimation/cells/sampling.py).
    Launches of several processes are in one sample; kernels, first launches and neighbours are those of one process.
    Sources of predictions, the first that is available:

    * the fast model, if all launches are traced;
    * times of a profile, and mean times of launches with equal neighbours, where the sample decides how much each counts; a
      traced launch without a time is predicted from its number of instructions;
    * costs that a simulator states for its launches (program/described.py).

    Without predictions, groups are strata, nested in levels from coarse to fine:

    * traces: clusters of similar embeddings (else kernels); similar instruction counts; equal instruction sequences; equal
      sequences with equal neighbours;
    * names and shapes: equal kernel; equal signature (kernel, grid, block, registers, shared memory), with similar instruction
      counts, where these are known of all launches (they are the covariate, too); equal neighbours, one and then two on each
      side, with, unless launches have still to be traced, the nearest launches whose kernels have several signatures;
    * descriptions by a simulator: equal name; similar work; equal signature; equal neighbours.

    Cost-complexity pruning chooses the strata and their first sample sizes for the error budget (estimation.stratify). A random
    part of the strata gets a second draw, from which the variance inside strata is estimated.

    Launches that are always simulated:

    * those whose trace cannot be read, or, without traces, that are not in the profile;
    * with a budget on misses or DRAM traffic: the first launch of each group of the last level but one, in each process,
      because its caches are cold;
    * where results are measured on a GPU, or launches have still to be traced, unless `assume: repetitive`: the first launch of
      each signature, because a GPU loads and tunes a kernel then.
    """

    uses_budget: ClassVar[bool] = True
    online: ClassVar[bool] = True
    assumes_tail: ClassVar[bool] = True

    @classmethod
    def inputs(cls, available: Available) -> frozenset[Need]:
        """Inputs of the policy, the first of the following that is available:

        * traces and predictions of the fast model;
        * traces, the profile that the user named, and, unless the profile has times, embeddings;
        * the profile, or nothing.
        """
        profile = available.profile
        named = frozenset() if profile is None else frozenset({Need.PROFILE})
        if not available.traces:
            return named
        if available.model:
            return frozenset({Need.TRACES, Need.MODEL})
        return named | {Need.TRACES} | (set() if profile is not None and profile.has_times else {Need.EMBEDDINGS})

    def design(self, program: Program) -> Design | AssistedDesign:
        if (joint := self.joint_design(program)) is not None:
            return joint
        if _repeats_exactly(program):
            return Design.take_all(program.u)
        if program.contents is None and not program.source:
            return simple_random_sample(program)
        levels, expected, has_work, spreads = _levels(program)
        wanted = self.budget_for(self.config)
        certain = ~has_work
        is_simulated = program.contents is not None or program.amounts is not None
        may_be_slow = not is_simulated and (program.measured or not (program.to_trace or program.has_times))
        if not is_simulated and (program.measured or program.to_trace) and self.config.assume != "repetitive":
            certain = certain | first_of_each_process(program.signature, program.offsets)
        if any(part in wanted.counter for part in COLD_COUNTERS):
            certain = certain | first_of_each_process(levels[-2], program.offsets)
        strata = stratify(
            levels[-len(spreads) :],
            wanted,
            spreads=spreads,
            expected=expected,
            x=np.where(has_work, expected, 0.0),
            cluster=np.unique(levels[0], return_inverse=True)[1],
            take_all=np.flatnonzero(certain),
            allowance=self.least_allowance(program),
            slow_excess=SLOW_NAMED[self.config.assume] if may_be_slow else 0.0,
            design_error=None if program.to_trace else MADE_FOR,  # a selection is of one budget
        )
        return strata.design(program.u, program.seed)

    def joint_design(self, program: Program) -> AssistedDesign | None:
        if program.is_part:  # predictions are of all processes, or of none
            return None
        if why_unassisted(self.config, program) is None and _predicts_most(program):
            return self._assisted(program, *_by_model(program))
        is_by_times = not _repeats_exactly(program) and why_no_cells(self.config) is None and self._times_predict(program)
        return self._assisted(program, *_by_times(program)) if is_by_times else None

    def least_allowance(self, program: Program) -> float:
        """Least allowance for an outlier (a launch far off its expected time), as a relative error. It depends on the key
        `assume`, and on what launches are known by: traces or counts of a simulator, a profile of a GPU, or a list that is not
        traced yet.
        """
        is_simulated = program.contents is not None or program.amounts is not None
        return (ODD_SIMULATED if is_simulated else ODD_UNTRACED if program.to_trace else ODD_MEASURED)[self.config.assume]

    def _times_predict(self, program: Program) -> bool:
        """True if a profile has times of most launches, for a budget on what goes with them."""
        counter, is_forecast = (
            self.config.error_budget.counter,
            program.amounts is not None and program.predictions is not None,
        )
        if not program.source or not program.has_times or program.to_trace or is_forecast:
            return False
        if counter not in program.counters and any(part in counter for part in COLD_COUNTERS):
            return False
        return program.contents is None or 2 * int(np.isfinite(program.time).sum()) >= program.size

    def _assisted(self, program: Program, predictions: dict[str, Prediction], predicted: NDArray[np.bool_]) -> AssistedDesign:
        """Make the design with predictions: groups are the kernels of each process; launches without a prediction are always
        simulated.
        """
        kernel = in_each_process(program.kernels, program.offsets)
        kernel = np.where(predicted & (kernel >= 0), kernel, -1)
        groups = np.unique(kernel, return_inverse=True)[1].ravel() - int((kernel < 0).any())
        source = None if predictions["cycles"].is_observed else program.predictor
        latency = 0.0 if source is None else source.launch_latency
        shapes = in_each_process(program.signature, program.offsets)
        return AssistedDesign(
            predictions,
            groups.astype(np.int32),
            program.u,
            self.config.assume,
            latency,
            shapes.astype(np.int32),
            program.offsets,
        )


def _by_model(program: Program) -> tuple[dict[str, Prediction], NDArray[np.bool_]]:
    """The fast model's predictions, or those of the simulator, by counter; which launches they know."""
    # here, because it needs the native reader
    from kernelpoint.simulators import MISPREDICTIONS, REPLAYED, REPLAYED_MISPREDICTIONS, SPREAD

    assert program.predictions is not None
    is_predicted = (program.predictions["cycles"] > 0.0) & (program.kernels >= 0)
    means = usable(program.predictions, is_predicted)
    predictions = {
        name: Prediction(values, kinds=means.kinds)
        for name, values in means.of_kind.items()
        if name not in (REPLAYED, REPLAYED_MISPREDICTIONS, SPREAD)
    }
    of_draws, deviations = (means.of_kind.get(name) for name in (REPLAYED, SPREAD))
    predictions["cycles"] = replace(predictions["cycles"], of_draws=of_draws, deviations=deviations)
    if REPLAYED_MISPREDICTIONS in means.of_kind:
        replayed = means.of_kind[REPLAYED_MISPREDICTIONS]
        predictions[MISPREDICTIONS] = replace(predictions[MISPREDICTIONS], of_draws=replayed)
    return predictions, is_predicted


def _by_times(program: Program) -> tuple[dict[str, Prediction], NDArray[np.bool_]]:
    """Times of a profile, with the counters of one that a simulator made, as predictions; which launches they know.

    A traced launch without a time is predicted by its work, at the median time for an amount of work. A second source of
    predictions is the mean time of launches that are alike: the scatter of their times may be of that run only.
    """
    times, timed = known_times(program, "kernelpoint")
    has_work, content = timed, program.signature
    if program.contents is not None:
        (_, _, content, _), work, has_work = _from_traces(program)
        is_timed = has_work & timed
        times = np.where(is_timed, times, np.median(times[is_timed] / work[is_timed]) * work)
    means = usable({**program.counters, "cycles": times}, has_work)
    # A profiler's counters have other names and units than a simulator's
    names = means if "cycles" in program.counters else ("cycles",)
    content = context(in_each_process(content, program.offsets), program.offsets)
    alike = varying_context(content, program.kernels, program.signature, program.offsets)
    return {name: Prediction(means[name], is_observed=True, second=usual(means[name], alike)) for name in names}, has_work


def _levels(program: Program) -> tuple[list[np.ndarray], np.ndarray, np.ndarray, tuple[float, ...]]:
    """Labels of each level of strata, expected costs, known launches, and the expected spread of each level."""
    if program.amounts is not None:
        work, signature = program.amounts, program.signature
        amount = np.round(np.log2(1.0 + work)).astype(np.int64)
        labels = [program.kernels, amount, signature, context(signature, program.offsets)]
        return labels, work, np.ones(program.size, bool), DESCRIBED_SPREADS
    if program.source and program.contents is None:
        return *_from_profile(program), METADATA_SPREADS
    return *_from_traces(program), CLUSTER_SPREADS


def _predicts_most(program: Program) -> bool:
    """True if the fast model predicts more than half of the launches."""
    if program.predictions is None or (program.contents is None and program.amounts is None):
        return False
    if program.amounts is not None and REPEATS * (1 + int(program.signature.max(initial=-1))) <= program.size:
        return False
    return 2 * int((program.predictions["cycles"] > 0.0).sum()) > program.size


def _repeats_exactly(program: Program) -> bool:
    """True if there are so few contents that simulating one launch of each, which gives the exact total, is a small sample."""
    if not program.is_deterministic or program.content is None or (program.content < 0).any():
        return False
    return REPEATS * len(np.unique(program.content)) <= program.size


def _from_traces(program: Program) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """Labels of each level, expected cost, and which launches could be read."""
    require(program, "kernelpoint", Need.TRACES)
    stream, embeddings = program.stream_ids.astype(np.int64), program.embeddings
    has_stream = stream >= 0
    alike = program.kernels
    if embeddings is not None:
        alike = threshold_clusters(unit_rows(embeddings), CLUSTER_DISTANCE)[stream]
    amount, cost = _by_instructions(program.count("instructions"), program.count("ctas"))
    return [alike, amount, stream, context(stream, program.offsets)], cost, has_stream


def _by_instructions(instructions: np.ndarray, ctas: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Label that launches with similar work share, and expected cost, from the warp instructions and CTAs of each launch."""
    per_sm = instructions / np.clip(ctas, 1, SMS)
    return np.round(np.log2(1.0 + per_sm)).astype(np.int64), LATENCY + per_sm


def _counted(program: Program) -> np.ndarray | None:
    """Warp instructions of each launch, float64 [N], if a profile counts those of all launches; else None."""
    counts = program.instructions
    return counts if counts is not None and ((counts >= 0.0) & (counts < np.inf)).all() else None


def _from_profile(program: Program) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """Levels from names and shapes. Expected costs are times, where a profile has most of them; else instructions, as of
    traces, where it counts those of all launches; else the cube root of the number of threads.

    Model: the log-log slope of durations on threads is 0.2 to 0.5 on real profiles.
    """
    require(program, "kernelpoint", Need.PROFILE)
    kernel, signature, offsets = program.kernels, program.signature, program.offsets
    instructions, ctas, has_work = _counted(program), program.grid.prod(axis=1), np.ones(program.size, dtype=bool)
    if instructions is not None:
        amount, expected = _by_instructions(instructions, ctas)
        signature = np.unique(np.stack([signature, amount]), axis=1, return_inverse=True)[1].ravel()
    else:
        expected = np.cbrt(np.maximum(ctas.astype(float) * program.block.prod(axis=1), 1.0))
    contexts = [context(signature, offsets)]
    contexts.append(context(contexts[0], offsets))
    if not program.to_trace:
        contexts = [varying_context(label, kernel, signature, offsets) for label in contexts]
    if program.has_times:
        expected, has_work = known_times(program, "kernelpoint")
        expected = np.maximum(np.where(has_work, expected, 0.0), expected[has_work & (expected > 0.0)].min(initial=np.inf))
    return [kernel, signature, *contexts], expected, has_work

"""Principal kernel selection of PKA: clusters of twelve counters, one principal kernel each (Baddouh et al., MICRO 2021)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from pydantic import Field

from kernelpoint.config import Config, Section
from kernelpoint.errors import PolicyError
from kernelpoint.estimation import Design
from kernelpoint.policies.contract import Representatives
from kernelpoint.policies.labels import numbered
from kernelpoint.program import Program
from kernelpoint.randomness import generator
from kernelpoint.repeated import first_of_each
from kernelpoint.workload import Available, Need

if TYPE_CHECKING:
    from kernelpoint.program import Program

MOST_CLUSTERS = 20
VARIANCE_KEPT = 0.9995
STARTS = 10

# The twelve counters as Nsight Compute calls them.
COUNTERS = (
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum",
    "smsp__inst_executed_op_global_ld.sum",
    "smsp__inst_executed_op_global_st.sum",
    "smsp__inst_executed_op_local_ld.sum",
    "smsp__inst_executed_op_shared_ld.sum",
    "smsp__inst_executed_op_shared_st.sum",
    "smsp__sass_inst_executed_op_global_atom.sum",
    "smsp__inst_executed.sum",
    "smsp__thread_inst_executed_per_inst_executed.ratio",
    "launch__grid_size",
)


def has_counters(profile: Program | None) -> bool:
    """True if a profile has PKA's twelve counters for at least one launch."""
    return profile is not None and all(name in profile.counters for name in COUNTERS)


class Pka(Representatives):
    """Principal kernel selection of PKA (MICRO 2021, DOI 10.1145/3466752.3480100).

    Twelve counters of each launch are scaled to unit variance, reduced by PCA and clustered by K-Means with K = 1, 2,
    ..., 20. The principal kernels are the first launch of each cluster, weighted with its size. The smallest K is taken
    with which they project the total within the error budget (the paper's target: 5 %). That total is of the profile's
    times, or of the instructions where no times are known. The total of the evaluated run is never used. If no K is
    within the target, the K with the least error on the known amounts is taken.

    Words: principal kernel = representative. No bound is stated: nothing is drawn at random.

    Inputs: a profile of Nsight Compute with the twelve counters. It may know a part of the launches only, the first ones as
    a rule, for such profiles are slow to take (two-level profiling): K is chosen on that part, and the other launches are
    mapped to its clusters by a linear classifier on kernel name, grid, block, registers and shared memory, which the traces
    or a light profile know of every launch. Without counters they are computed from the traces. Model: the scan of traces
    counts loads and stores together, so six numbers replace the twelve: sectors (for the three l1tex counters), accesses
    to global and to shared memory (for the six smsp counters of memory instructions), warp instructions, threads per
    instruction, and CTAs.

    Selection and projection together are PKA: this policy says which launches are simulated; principal kernel projection, which
    stops such a launch inside once its IPC is stable and projects the rest of it, is the parameter `project` (projection.py).
    The projected cycles of a principal kernel then represent its cluster. Replays (`kernelpoint compare`) judge selection
    alone, for nothing is simulated there that could be stopped.

    Departures from the re-implementation in STEM-AE: it takes the K with the lowest true error, an oracle, leaves features
    unscaled and picks a random representative. The paper's classifiers (SGD, naive Bayes, a network) are one here: SGD.
    """

    class Parameters(Section):
        """Parameters of the policy that a user may set."""

        max_clusters: Annotated[int, Field(ge=2, description="largest number of clusters tried")] = MOST_CLUSTERS
        project: Annotated[bool, Field(description="stop a simulated launch once its IPC is stable, and project its rest")] = (
            False
        )

    counters: ClassVar[tuple[str, ...]] = COUNTERS
    uses_budget = True

    @classmethod
    def inputs(cls, available: Available) -> frozenset[Need]:
        """Inputs of the policy: traces, unless the profile has the twelve counters for some launches and a name for all
        others.
        """
        profile = available.profile
        if profile is None or not has_counters(profile):
            return frozenset({Need.TRACES})
        return (
            frozenset({Need.PROFILE}) if (_detailed(profile) | (profile.names.numbers >= 0)).all() else frozenset({Need.TRACES})
        )

    @classmethod
    def projects(cls, config: Config) -> bool:
        """True if the parameter `project` is set: a launch is then stopped before its end, and the rest is projected."""
        return bool(cls.check_parameters(config.policy).project)

    def design(self, program: Program) -> Design:
        """Make the design: each cluster is a stratum, represented by its first launch."""
        features, detailed = _features(program)
        clusters = self._clusters(features[detailed], _known_amounts(program, detailed))
        strata = np.full(program.size, -1, dtype=np.int64)
        strata[detailed] = clusters
        rest = ~detailed & (program.kernels >= 0)
        if rest.any() and has_counters(program):
            strata[rest] = _classified(program, detailed, clusters, rest)
        strata = numbered(strata)
        chosen = first_of_each(np.where(detailed, strata, -1))
        return Design.purposive(strata, program.u, chosen)

    def _clusters(self, features: np.ndarray, amounts: np.ndarray) -> np.ndarray:
        """Labels for the smallest K whose first launches project the sum of `amounts` within the budget."""
        points, inverse, weights = np.unique(_principal_components(features), axis=0, return_inverse=True, return_counts=True)
        total, best, least = float(amounts.sum()), np.zeros(len(features), dtype=np.int64), np.inf
        for k in range(1, min(self.parameters.max_clusters, len(points)) + 1):
            labels = _k_means(points, weights, k, self.config.seed)[inverse.ravel()]
            _, first, number = np.unique(labels, return_index=True, return_counts=True)
            error = abs(float((number * amounts[first]).sum()) / total - 1.0) if total > 0.0 else 0.0
            if error < least:
                best, least = labels, error
            if error <= self.config.error_budget.relative_error:
                return labels
        return best


def _k_means(points: np.ndarray, weights: np.ndarray, k: int, seed: int) -> np.ndarray:
    if k == 1:
        return np.zeros(len(points), dtype=np.int64)
    from sklearn.cluster import KMeans

    state = int(generator(seed, "pka", k).integers(2**31))
    return KMeans(k, n_init=STARTS, random_state=state).fit(points, sample_weight=weights).labels_.astype(np.int64)


def _principal_components(features: np.ndarray) -> np.ndarray:
    """Scores of the components with VARIANCE_KEPT of the variance of the scaled features."""
    deviation = features.std(axis=0)
    scaled = (features - features.mean(axis=0)) / np.where(deviation > 0.0, deviation, 1.0)
    values, axes = np.linalg.eigh(np.atleast_2d(np.cov(scaled.T, bias=True)))
    kept = np.cumsum(values[::-1]) <= VARIANCE_KEPT * values.sum()
    count = min(int(kept.sum()) + 1, len(values))
    return np.round(scaled @ axes[:, ::-1][:, :count], 9)  # Numerics: equal launches stay equal


def _detailed(profile: Program) -> np.ndarray:
    """bool [N]: launches that have all twelve counters."""
    return np.isfinite(np.stack([profile.counters[name] for name in COUNTERS], axis=1)).all(axis=1)


def _features(program: Program) -> tuple[np.ndarray, np.ndarray]:
    """float64 [N, counters], and bool [N]: the launches that have them."""
    if has_counters(program):
        table = np.stack([program.counters[name] for name in COUNTERS], axis=1)
        return table, _detailed(program)
    if program.contents is None:
        raise PolicyError(
            "policy pka needs twelve counters of every launch; they come from a profile of Nsight Compute "
            f"({COUNTERS[0]}, ...) or are computed from traces, and there is neither"
        )
    count = program.count
    per_instruction = count("thread_instructions") / np.maximum(count("instructions"), 1)
    memory = count("sectors"), count("global_accesses"), count("shared_accesses")
    columns = (*memory, count("instructions"), per_instruction, count("ctas"))
    return np.stack(columns, axis=1).astype(float), program.stream_ids >= 0


def _known_amounts(program: Program, detailed: np.ndarray) -> np.ndarray:
    """Amount of each launch with counters, by which the number of clusters is chosen: time in the profile, else
    instructions; float64.
    """
    if program.has_times:
        times = program.time[detailed]
        if np.isfinite(times).all():
            return times
    if program.contents is not None:
        return program.count("instructions")[detailed].astype(float)
    if "smsp__inst_executed.sum" not in program.counters:
        raise PolicyError("policy pka needs times or instructions to choose the number of clusters")
    return program.counters["smsp__inst_executed.sum"][detailed]


def _classified(program: Program, detailed: np.ndarray, clusters: np.ndarray, rest: np.ndarray) -> np.ndarray:
    """Clusters of the launches without counters, from a light profile of every launch."""
    from sklearn.linear_model import SGDClassifier

    if len(np.unique(clusters)) == 1:
        return np.full(int(rest.sum()), clusters[0])
    light = _light_features(program)
    mean, deviation = light[detailed].mean(axis=0), light[detailed].std(axis=0)
    scaled = (light - mean) / np.where(deviation > 0.0, deviation, 1.0)
    state = int(generator(program.seed, "pka classifier").integers(2**31))
    model = SGDClassifier(loss="log_loss", random_state=state).fit(scaled[detailed], clusters)
    return model.predict(scaled[rest]).astype(np.int64)


def _light_features(program: Program) -> np.ndarray:
    """One column per kernel, and log2 of grid, block, registers and shared memory."""
    kernel = program.kernels
    one_hot = (kernel[:, None] == np.unique(kernel[kernel >= 0])[None]).astype(float)
    columns = program.grid, program.block, program.registers[:, None], program.shared_memory[:, None]
    sizes = np.concatenate(columns, axis=1).astype(float)
    return np.concatenate([one_hot, np.log2(1.0 + np.maximum(sizes, 0.0))], axis=1)

"""Principal kernel selection of PKA: clusters of twelve counters, one principal kernel each (Baddouh et al., MICRO 2021)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from kernelpoint.config import Config, Range, Section
from kernelpoint.errors import PolicyError
from kernelpoint.estimation import Design
from kernelpoint.policies.contract import Representatives
from kernelpoint.policies.labels import numbered
from kernelpoint.program import Program
from kernelpoint.randomness import generator
from kernelpoint.repeated import first_of_each
from kernelpoint.workload import Available, Need

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
    """Principal kernel selection of PKA (MICRO 2021, DOI 10.1145/3466752.3480100): the first launch of each cluster of launches
    with similar counters represents the cluster.

    Twelve counters of each launch are scaled to unit variance, reduced by PCA, and clustered by K-Means for K = 1, 2, ..., 20.
    For each K, the first launches, weighted with the sizes of their clusters, give a total of the profile's times (of
    instructions if there are no times). The smallest K whose total is within the error budget is used, or else the K with the
    least error. Results of the simulation are not used.

    Inputs: a profile of Nsight Compute with the twelve counters. It may have only some launches, usually the first. K is then
    chosen from these, and a linear classifier assigns all others to clusters by kernel name, grid, block, registers and shared
    memory, from the traces or a profile without counters. Without a profile, the counters come from the traces. Model: six
    numbers replace the twelve, because loads and stores are not distinguished: sectors, accesses to global memory, accesses to
    shared memory, warp instructions, threads per instruction, CTAs.

    If the parameter `project` is set, each simulated launch stops once its IPC is stable, and its rest is extrapolated
    (principal kernel projection, early_stop.py). `kernelpoint compare` evaluates the selection only.

    No bound is stated, because nothing is drawn at random.

    Differences from the re-implementation in STEM-AE: there K has the least error in the true total, features are not scaled,
    and a random launch represents each cluster. The paper has several classifiers (SGD, naive Bayes, a network); this policy
    has SGD.
    """

    @dataclass(frozen=True)
    class Parameters(Section):
        max_clusters: Annotated[int, Range(2), "largest number of clusters tried"] = MOST_CLUSTERS
        project: Annotated[bool, "stop a simulated launch once its IPC is stable, and project its rest"] = False

    counters: ClassVar[tuple[str, ...]] = COUNTERS
    uses_budget = True

    @classmethod
    def inputs(cls, available: Available) -> frozenset[Need]:
        """Inputs of the policy: a profile that has the twelve counters for some launches and a name for all others; otherwise
        traces.
        """
        profile = available.profile
        if profile is None or not has_counters(profile):
            return frozenset({Need.TRACES})
        return (
            frozenset({Need.PROFILE}) if (_detailed(profile) | (profile.names.numbers >= 0)).all() else frozenset({Need.TRACES})
        )

    @classmethod
    def projects(cls, config: Config) -> bool:
        return bool(cls.check_parameters(config.policy).project)

    def design(self, program: Program) -> Design:
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
            "policy pka needs twelve counters of every launch; give a profile of Nsight Compute that has them "
            f"({COUNTERS[0]}, ...), or traces, from which they are computed"
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
        raise PolicyError(
            "policy pka needs times or instruction counts to choose the number of clusters; give a profile of them"
        )
    return program.counters["smsp__inst_executed.sum"][detailed]


def _classified(program: Program, detailed: np.ndarray, clusters: np.ndarray, rest: np.ndarray) -> np.ndarray:
    """Clusters of the launches without counters, from a light profile of every launch: one column for each kernel, and log2 of
    grid, block, registers and shared memory.
    """
    from sklearn.linear_model import SGDClassifier

    if len(np.unique(clusters)) == 1:
        return np.full(int(rest.sum()), clusters[0])
    kernel = program.kernels
    one_hot = (kernel[:, None] == np.unique(kernel[kernel >= 0])[None]).astype(float)
    columns = program.grid, program.block, program.registers[:, None], program.shared_memory[:, None]
    sizes = np.concatenate(columns, axis=1).astype(float)
    light = np.concatenate([one_hot, np.log2(1.0 + np.maximum(sizes, 0.0))], axis=1)
    mean, deviation = light[detailed].mean(axis=0), light[detailed].std(axis=0)
    scaled = (light - mean) / np.where(deviation > 0.0, deviation, 1.0)
    state = int(generator(program.seed, "pka classifier").integers(2**31))
    model = SGDClassifier(loss="log_loss", random_state=state).fit(scaled[detailed], clusters)
    return model.predict(scaled[rest]).astype(np.int64)

"""KernelPoint's own policy: learned clusters, strata as fine as pays, random draws, a regression on work."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from kernelpoint.errors import PolicyError
from kernelpoint.estimation import Design, ErrorBudget, strata_from
from kernelpoint.policies._inputs import kernels, known_times
from kernelpoint.policies._sharpened import sharpened, steps
from kernelpoint.policies.contract import Need, Policy
from kernelpoint.policies.population import Population
from kernelpoint.profiles import Profile

# Model: what a launch costs before anything is simulated, in cycles, up to a factor: launch latency plus the warp
# instructions of one of the SMs it spreads over. It shares out the first draws and is the covariate of the regression; the
# bound does not rest on it. Over seven full runs in the embedded host, a line in this within equal kernels left a CoV of
# 0.4 to 5 %, against 30 to 40 % with plain instruction counts (irregular graph traversal: 37 against 81 %).
LATENCY = 3000.0
SMS = 80

# Model: expected CoV of residuals within a cell of each level, coarse to fine; decides how finely strata are split.
CLUSTER_SPREADS: tuple[float, ...] = (0.3, 0.05, 0.02, 0.01)
PROFILE_SPREADS: tuple[float, ...] = (0.3, 0.15, 0.1, 0.05)
METADATA_SPREADS: tuple[float, ...] = (1.5, 0.05)  # names and shapes hide arguments, which only the context tells apart
# Model: traffic behind the caches may sit wholly in launches that meet their data for the first time, too rare to be drawn.
COLD_COUNTERS = ("dram", "miss")
ALIKE = 0.3  # embeddings of length 1 closer than this open no new cluster


class KernelPoint(Policy):
    """Design section 4: strata frozen beforehand, permanent random numbers, passes, pooled variances, regression on work.

    With traces, cells nest in four levels: streams whose embeddings are near (cluster), of about equal work, equal streams,
    and equal streams between equal neighbours (context). Without traces, with a profile: equal kernels, where it has times
    those within a factor of two and within a tenth, equal signature (kernel, grid, block, registers, shared memory), equal
    context. With both, the times that launches took elsewhere take the place of the amount of work, and of what launches
    are expected to cost (_sharpened.py). Which cells become strata, and how many first draws each gets, is decided by
    cost-complexity pruning for the error budget (estimation.strata_from); a random share of the strata gets a second draw,
    which carries the pooled variance. Launches that cannot be read, or that the profile lacks where there is nothing else,
    are simulated; so is the first of each stream where the error budget is on misses or DRAM traffic.
    """

    needs: ClassVar[frozenset[Need]] = frozenset({Need.TRACES, Need.EMBEDDINGS})
    uses: ClassVar[frozenset[Need]] = needs
    uses_budget: ClassVar[bool] = True
    online: ClassVar[bool] = True

    @classmethod
    def needs_given(cls, profile: Profile | None) -> frozenset[Need]:
        """Traces, unless the user names a profile, which can take their place where there are none."""
        return cls.needs if profile is None else frozenset({Need.PROFILE})

    def design(self, population: Population) -> Design:
        """Strata, first sizes and the covariate."""
        if population.profile is not None and population.scan is None:
            levels, expected, known = _from_profile(population)
            spreads = PROFILE_SPREADS if population.profile.has_times else METADATA_SPREADS
        else:
            levels, expected, known = _from_traces(population)
            spreads = CLUSTER_SPREADS
            if population.profile is not None and population.profile.has_times:
                levels, expected = sharpened(levels, expected, known, population.profile)
        wanted = self.config.error_budget
        certain = ~known
        if any(part in wanted.counter for part in COLD_COUNTERS):
            certain = certain | _first_of_each(levels[-2], population.offsets)
        return strata_from(
            levels[-len(spreads) :],
            population.u,
            ErrorBudget(wanted.relative_error, wanted.confidence),
            spreads=spreads,
            expected=expected,
            x=np.where(known, expected, 0.0),
            cluster=np.unique(levels[0], return_inverse=True)[1],
            take_all=np.flatnonzero(certain),
            seed=population.seed,
        )


def _from_traces(population: Population) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """Labels of each level, expected cost, and which launches could be read."""
    scan, embeddings = population.scan, population.embeddings
    if scan is None or embeddings is None:
        raise PolicyError("policy kernelpoint needs the traces and embeddings of the launches, and there are none")
    from kernelpoint.clustering import ThresholdClusters, run_features

    stream = scan.stream_ids.astype(np.int64)
    known = stream >= 0
    alike = ThresholdClusters(threshold=ALIKE).fit_predict(run_features(embeddings))[stream]
    per_sm = scan.instructions / np.clip(scan.ctas, 1, SMS)
    amount = np.round(np.log2(1.0 + per_sm)).astype(np.int64)
    return [alike, amount, stream, _context(stream, population.offsets)], LATENCY + per_sm, known


def _from_profile(population: Population) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """The same from a profile: its times are the expected costs, without times the cube root of the number of threads.

    Model: the log-log slope of durations on threads is 0.2 to 0.5 on real profiles.
    """
    profile = population.profile
    if profile is None:
        raise PolicyError("policy kernelpoint needs traces or a profile, and there is neither")
    levels = [kernels(population), profile.signature, _context(profile.signature, population.offsets)]
    if not profile.has_times:
        threads = profile.grid.prod(axis=1).astype(float) * profile.block.prod(axis=1)
        return levels, np.cbrt(np.maximum(threads, 1.0)), np.ones(population.size, dtype=bool)
    times, known = known_times(population, "kernelpoint")
    positive = times[known & (times > 0)]
    least = positive.min() if len(positive) else 1.0
    cost = np.where(known, np.maximum(np.nan_to_num(times), least), least)
    kernel, *finer = levels
    octave = np.unique(np.column_stack([kernel, np.round(np.log2(cost))]), axis=0, return_inverse=True)[1].ravel()
    return [kernel, octave, steps(cost), *finer], cost, known


def _first_of_each(label: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """bool [N]: which launches are the first with their label in their process."""
    process = np.searchsorted(offsets, np.arange(len(label)), side="right")
    firsts = np.zeros(len(label), dtype=bool)
    firsts[np.unique(np.column_stack([process, label]), axis=0, return_index=True)[1]] = True
    return firsts


def _context(label: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """One label for (previous, own, next) of each launch within its process; beyond the ends stands -2."""
    before, after = np.full(len(label), -2), np.full(len(label), -2)
    before[1:], after[:-1] = label[:-1], label[1:]
    before[offsets[:-1][offsets[:-1] < len(label)]] = -2
    after[offsets[1:] - 1] = -2
    return np.unique(np.column_stack([before, label, after]), axis=0, return_inverse=True)[1].ravel()

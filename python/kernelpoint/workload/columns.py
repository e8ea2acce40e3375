"""Columns of a population that several inputs can give: times, kernels, instructions; one clear error where none does."""

from __future__ import annotations

import numpy as np

from kernelpoint.errors import PolicyError
from kernelpoint.profiles import Profile
from kernelpoint.workload.population import Population


def known_times(population: Population, policy: str) -> tuple[np.ndarray, np.ndarray]:
    """Times known beforehand, float64 [N], and which launches have one, bool [N].

    Raises:
        PolicyError: there is no profile, fewer than half of the launches have a time, or a time is negative.

    >>> import pathlib
    >>> from kernelpoint.profiles import read_profile
    >>> from kernelpoint.workload import Population
    >>> rows = "".join(f"{launch},gemm,64x1x1,128x1x1,32,0,7,0,5.{launch}\\n" for launch in range(3))
    >>> _ = pathlib.Path("times.csv").write_text("idx,name,grid,block,regs,smem,stream,ts_us,dur_us\\n" + rows)
    >>> times, known = known_times(Population(counts=(3,), seed=0, profile=read_profile("times.csv")), "stem")
    >>> times.tolist(), known.tolist()
    ([5000.0, 5100.0, 5200.0], [True, True, True])
    """
    profile = population.profile_for(policy)
    times = profile.time
    known = np.isfinite(times)
    if 2 * known.sum() < len(times):
        raise PolicyError(
            f"policy {policy} needs a time of every launch; {profile.source} has one for {known.sum():,} of {len(times):,}"
        )
    if (times[known] < 0).any():
        raise PolicyError(f"{profile.source}: a launch takes {times[known].min()}, allowed: times from 0")
    return times, known


def kernels(population: Population) -> np.ndarray:
    """int64 [N]: which kernel each launch runs, from the traces' headers or the profile's names; -1 where unknown.

    >>> from kernelpoint.traces import launch_paths, scan_launches
    >>> from kernelpoint.workload import Population
    >>> kernels(Population(counts=(6,), seed=0, scan=scan_launches(launch_paths("traces/kernelslist.g"))))
    array([0, 0, 0, 0, 0, 0])
    """
    profile, scan = population.profile, population.scan
    if scan is not None:
        return np.where(scan.stream_ids < 0, -1, scan.kernel_ids).astype(np.int64)
    if profile is not None and any(profile.names):
        unnamed = np.array([not name for name in profile.names], dtype=bool)
        return np.where(unnamed[profile.name_ids], -1, profile.name_ids).astype(np.int64)
    return np.zeros(population.size, dtype=np.int64)


def instructions(population: Population, policy: str) -> np.ndarray:
    """float64 [N]: instructions of each launch, from the profile's counters or the traces; nan where unknown.

    Raises:
        PolicyError: neither knows them.

    >>> from kernelpoint.traces import launch_paths, scan_launches
    >>> from kernelpoint.workload import Population
    >>> instructions(Population(counts=(6,), seed=0, scan=scan_launches(launch_paths("traces/kernelslist.g"))), "kernelpoint")
    array([1088., 1088., 1088., 1088., 1088., 1088.])
    """
    profile, scan = population.profile, population.scan
    if scan is not None:
        return np.where(scan.stream_ids < 0, np.nan, scan.instructions.astype(float))
    counts = None if profile is None else profile.instructions
    if counts is None:
        raise PolicyError(
            f"policy {policy} needs the instructions of every launch; they come from traces, or from a profile with a counter "
            "such as smsp__inst_executed.sum (Nsight Compute), and there is neither"
        )
    return counts


def has_instructions(profile: Profile | None) -> bool:
    """True if a profile counts the instructions of every launch.

    >>> has_instructions(None)
    False
    """
    counts = None if profile is None else profile.instructions
    return counts is not None and bool(np.isfinite(counts).all())

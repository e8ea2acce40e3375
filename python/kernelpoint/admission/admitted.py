"""Reading a profile with all checks of admission."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import numpy as np

from kernelpoint.admission.checks import findings_of, in_graphs
from kernelpoint.admission.findings import admit
from kernelpoint.errors import ProfileError
from kernelpoint.profiles import match, read_profile
from kernelpoint.program import Program
from kernelpoint.progress import Log

MATCHED_SHARE = 0.5  # of the launches (of the rows where there are fewer) that have to match


def admitted_profile(
    path: str | Path, accepted: Collection[str], log: Log, device: int | None = None, prefix: str = "kernelpoint: "
) -> Program:
    """Read a profile, report what is wrong with it, and refuse it if the errors are too large.

    Args:
        accepted: kinds of findings that the user accepts.
        device: the GPU, where the file has launches of several.

    Raises:
        ProfileError: it cannot be read. AdmissionError: it is not sound.

    >>> import pathlib
    >>> rows = "idx,name,grid,block,regs,smem,stream,ts_us,dur_us\\n0,gemm,64x1x1,128x1x1,32,0,7,0,0\\n"
    >>> _ = pathlib.Path("profile.csv").write_text(rows)
    >>> admitted_profile("profile.csv", ["zero-durations"], lambda line: None).size
    1
    """
    profile = read_profile(path, device)
    admit(findings_of(profile), accepted, log, prefix)
    return profile


def admitted_rows(profile: Program, launches: Program, accepted: Collection[str], log: Log) -> np.ndarray:
    """Row of the profile that belongs to each launch, int64 [N]; -1 for a launch without a row. `log` receives messages about
    the matching.

    Raises:
        ProfileError: fewer than half of the launches, or of the profile's rows where it has fewer, have a counterpart.
        AdmissionError: the profile shows replays of graphs that the launches lack.

    >>> from kernelpoint.program import ProgramBuilder
    >>> builder = ProgramBuilder("times.csv")
    >>> builder.add("gemm", (1, 1, 1), (32, 1, 1))
    >>> admitted_rows(builder.finish(), Program.of(["gemm"], np.array([[1, 1, 1]]), np.array([[32, 1, 1]])), (), print).tolist()
    times.csv: 1 of 1 launches are in the profile, matched by order
    [0]
    """
    matching = match(profile, launches, bool(in_graphs(profile).any()))
    for sentence in matching.sentences():
        log(f"{profile.source}: {sentence}")
    if matching.matched < MATCHED_SHARE * min(launches.size, profile.size):
        raise ProfileError(
            f"{profile.source}: only {matching.matched:,} of the {launches.size:,} launches are in this file; it seems to be "
            f"of another workload (it has {profile.size:,} launches, the first is {profile.names[0]!r})"
        )
    admit(findings_of(matching), accepted, log, f"{profile.source}: ")
    return matching.rows

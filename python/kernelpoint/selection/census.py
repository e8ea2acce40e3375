"""Every launch of a program, traced or not, as a tracer or a profiler counted them."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import numpy as np

from kernelpoint.admission import admit, admitted_profile, admitted_rows, in_graphs
from kernelpoint.errors import ConfigError, ProfileError
from kernelpoint.profiles.format import NOT_THIS, beginning_of
from kernelpoint.program import Program
from kernelpoint.progress import Log
from kernelpoint.selection.replays import repetition, traced_once
from kernelpoint.simulators import DEFAULT, Tracer, simulators

_LISTED = re.compile(r"(kernel-\d+\.trace|Memcpy[HD]to)")  # a line of a kernelslist.g


def tracers() -> dict[str, Tracer]:
    """The tracers of all simulators that have one, by the name of the simulator.

    >>> all(one.list_name for one in tracers().values())
    True
    """
    return {one.name: one.tracer for one in simulators() if one.tracer is not None}


def with_profile(program: Program, profile: Program, log: Log, accepted: Collection[str] = ()) -> Program:
    """Program of a census with the times and counters of a profile. Launches are matched by their sequence of name, grid and
    block; a profile that shows replays of graphs gives as many launches, each with the tracer's number of its node.

    Raises:
        ProfileError: the profile is of another program; see admission.admitted_rows.
    """
    if in_graphs(profile).any():
        repeated = repetition(profile, program)
        admit(repeated.findings(profile.source), accepted, log, "")
        rows = np.flatnonzero(repeated.traced >= 0)
        traced = repeated.traced[rows]
        log(
            f"{len(rows):,} launches of the program, in {repeated.replays:,} replays of graphs; {program.size:,} to trace"
        )
        return profile.take(rows).with_census_of(program.take(traced))
    rows = admitted_rows(profile, program, accepted, log)
    return profile.take(rows).with_census_of(program)


def read_census(path: Path, tracer: str | None, log: Log, accepted: Collection[str] = ()) -> Program:
    """Read a launch census, or a profile in its place; the launches have the tracer's numbers.

    Args:
        path: a tracer's census (`stats_ctx_0x...`, `kernel_names.txt`), or any profile.
        tracer: the simulator whose numbers to give the launches of a profile; a census says it itself.
        log: told that the numbers of a profile's launches may not be those of the tracer.

    Raises:
        ProfileError: the file cannot be read, or a launch is missing.
        ConfigError: a profile needs the tracer's name, or a census is of another tracer.

    >>> import pathlib
    >>> rows = "idx,name,grid,block,regs,smem,stream,ts_us,dur_us\\n0,gemm,64x1x1,128x1x1,32,0,7,0,5.5\\n"
    >>> _ = pathlib.Path("profile.csv").write_text(rows)
    >>> read_census(pathlib.Path("profile.csv"), "accelsim", lambda line: None).size
    1
    """
    try:
        beginning = beginning_of(path)
    except (OSError, EOFError) as error:
        raise ProfileError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    found = next((name for name, one in tracers().items() if one.census.certainty(beginning) > NOT_THIS), None)
    if found is None and _LISTED.match(beginning.first_line):
        raise ConfigError(
            f"{path}: this is a list of traces; give the census of the program (stats_ctx_0x... or kernel_names.txt) or a "
            "profile. A program whose launches are all traced needs no selection: run its list"
        )
    if found is not None and tracer not in (None, found):
        raise ConfigError(f"--tracer: got {tracer!r}; {path} is a census of {found}'s tracer")
    profile = admitted_profile(path, accepted, log, prefix="")
    if found is None and tracer is None:
        raise ConfigError(
            f"--tracer: {path} is not a tracer's census, so say which tracer's numbers its launches have: "
            f"{' or '.join(tracers())}"
        )
    if found is None:
        log(
            f"{path}: a profile stands for the census: launches get the tracer's numbers in the profile's order, which may "
            "differ from the tracer's own; a run refuses traces of other launches"
        )
    chosen = found or tracer or DEFAULT
    if found is None and in_graphs(profile).any():
        once = profile.take(traced_once(profile))
        return with_profile(_numbered(once, chosen), profile, log, accepted)
    return _numbered(profile, chosen)


def _numbered(program: Program, tracer: str) -> Program:
    """Program whose launches have the numbers in which this tracer counts them."""
    numbers = np.arange(program.size) + tracers()[tracer].first
    return replace(program, counts=(program.size,), processes=(), numbers=numbers, tracer=tracer)

"""Alignment of a profile with the launches: read once, its rows brought into their order."""

from __future__ import annotations

from collections.abc import Callable

from kernelpoint.profiles import Profile, matched_rows
from kernelpoint.profiles.builder import ProfileBuilder
from kernelpoint.workload.population import launches_of_traces

Log = Callable[[str], None]


def aligned(profile: Profile, paths: tuple[str, ...], log: Log) -> Profile:
    """A profile whose row i belongs to the trace `paths[i]`; `log` gets the rows and launches without a counterpart.

    A profile without names and shapes (a journal, the output of some simulators) is matched by position and gets them
    from the traces.

    Raises:
        ProfileError: fewer than half of the launches, or of the profile's rows where it has fewer, have a counterpart.

    >>> from kernelpoint.traces import launch_paths
    >>> from kernelpoint.profiles import read_profile
    >>> import kernelpoint as kp
    >>> _ = kp.simulate("traces/kernelslist.g", "run.kpjournal", policy="all")
    >>> aligned(read_profile("run.kpjournal"), tuple(launch_paths("traces/kernelslist.g")), print).size
    6
    """
    if not any(profile.names) and profile.size == len(paths):
        return named(profile, paths)
    return profile.take(matched_rows(profile, launches_of_traces(paths), lambda line: log(f"kernelpoint: {line}")))


def named(profile: Profile, paths: tuple[str, ...]) -> Profile:
    """A profile whose row i belongs to `paths[i]`, with names and shapes from the headers of the traces where it has none.

    >>> from kernelpoint.traces import launch_paths
    >>> from kernelpoint.profiles import read_profile
    >>> import kernelpoint as kp
    >>> _ = kp.simulate("traces/kernelslist.g", "run.kpjournal", policy="all")
    >>> profile = read_profile("run.kpjournal")
    >>> named(profile, tuple(launch_paths("traces/kernelslist.g"))).names[0]
    'axpy_f32'
    """
    if any(profile.names) or not paths:
        return profile
    launches = launches_of_traces(paths)
    builder = ProfileBuilder(profile.source)
    for row, name in enumerate(launches.names):
        builder.add(name, launches.grid[row].tolist(), launches.block[row].tolist(), order=row)
    return profile.with_launches_of(builder.finish())

"""Launch census: every launch of a program, traced or not, as a tracer or a profiler counted it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import numpy as np

from kernelpoint.admission import admit, admitted_profile, admitted_rows, findings_of, in_graphs
from kernelpoint.errors import ConfigError
from kernelpoint.profiles import Matching, kinds_of, match
from kernelpoint.profiles.format import NOT_THIS, beginning_of, errors_of_file
from kernelpoint.program import UNKNOWN, Program
from kernelpoint.progress import Log
from kernelpoint.repeated import NO_TEXTS, distinct_rows
from kernelpoint.simulators import DEFAULT, Tracer, simulators


def tracers() -> dict[str, Tracer]:
    """Tracer of each simulator that has one, by the name of the simulator.

    >>> all(one.list_name for one in tracers().values())
    True
    """
    return {one.name: one.tracer for one in simulators() if one.tracer is not None}


def with_profile(program: Program, profile: Program, log: Log, accepted: Collection[str] = ()) -> Program:
    """Add the times and counters of a profile to a census (the tracer's table of launches).

    Launches are matched along their sequence of name, grid and block. If the profile shows replays of CUDA graphs, the result
    has all launches of the profile, each with the tracer's number of its graph node.

    Raises:
        ProfileError: the profile belongs to another program (`admission.admitted_rows`).
    """
    if in_graphs(profile).any():
        repeated = repetition(profile, program)
        admit(findings_of(repeated), accepted, log, f"{profile.source}: ")
        rows = np.flatnonzero(repeated.listed >= 0)
        log(f"{len(rows):,} launches of the program, in {repeated.replays:,} replays of graphs; {program.size:,} to trace")
        program = program.take(repeated.listed[rows])
    else:
        rows = admitted_rows(profile, program, accepted, log)
    timed = profile.take(rows).with_labels_of(program)
    return replace(timed, counts=program.counts, processes=(), numbers=program.numbers, tracer=program.tracer)


def read_census(path: Path, tracer: str | None, log: Log, accepted: Collection[str] = ()) -> Program:
    """Read a census (the tracer's table of all launches: name, grid, block), or a profile in its place. Launches get the
    numbers that the tracer gives them.

    Args:
        path: a tracer's census (`stats_ctx_0x...`, `kernel_names.txt`), or any profile.
        tracer: simulator whose tracer numbers the launches of a profile; a census identifies its tracer.
        log: function that prints a warning if the tracer may number the launches of a profile differently.

    Raises:
        ProfileError: the file cannot be read, or a launch is missing.
        ConfigError: `path` is a profile and `tracer` is None, or the census is of another tracer.

    >>> read_census(Path("times.csv"), "accelsim", lambda line: None).numbers.tolist()
    [1, 2, 3, 4, 5, 6]
    """
    with errors_of_file(str(path)):
        beginning = beginning_of(path)
    named = next((name for name, one in tracers().items() if one.census.certainty(beginning) > NOT_THIS), None)
    if named is None and beginning.is_trace_list:
        raise ConfigError(
            f"{path}: this is a list of traces; give the census of the program (stats_ctx_0x... or kernel_names.txt) or a "
            "profile. A program whose launches are all traced needs no selection: run its list"
        )
    if named is not None and tracer not in (None, named):
        raise ConfigError(f"--tracer: got {tracer!r}; the tracer of {named} made {path}: give {named}, or leave --tracer out")
    profile = admitted_profile(path, accepted, log, prefix="")
    if named is None and tracer is None:
        raise ConfigError(f"--tracer is missing: {path} is a profile, so name the tracer to use: {' or '.join(tracers())}")
    if len(profile.counts) > 1:
        raise ConfigError(
            f"{path}: this profile has launches of {len(profile.counts)} processes, and a tracer numbers each of them from "
            "its first launch; give the census of each, or a profile of one process"
        )
    if named is None:
        log(
            f"{path}: a profile in place of the tracer's table of launches: launches are numbered in the profile's order, "
            "which may differ from the tracer's; a run refuses traces of other launches"
        )
    chosen = named or tracer or DEFAULT
    if named is None and in_graphs(profile).any():
        replayed = in_graphs(profile)
        first_of_nodes = _nodes(profile, replayed, kinds_of(profile, profile)[0])[1]
        once = profile.take(np.sort(np.concatenate([np.flatnonzero(~replayed), first_of_nodes])))
        return with_profile(_numbered(once, chosen), profile, log, accepted)
    return _numbered(profile, chosen)


def _numbered(program: Program, tracer: str) -> Program:
    """Program whose launches carry the numbers of a tracer. Traces that an output of a simulator names are not read."""
    numbers = np.arange(program.size) + tracers()[tracer].first
    return replace(program, counts=(program.size,), processes=(), traces=NO_TEXTS, numbers=numbers, tracer=tracer)


def repetition(profile: Program, launches: Program) -> Matching:
    """Find for every launch of a profile the launch of a trace list, or of a census (the tracer's table of launches), in which
    it was traced.

    A tracer sees a launch outside CUDA graphs where it runs, and each node of a graph once, where the graph is captured or
    built. A replay consists of the launches of one CUDA call. Its graph is identified by the numbers of its nodes if the
    profile has them, or else by the names, grids and blocks of its launches. Launches outside graphs, and the nodes of each
    graph, are matched in order as `profiles.match` does. If the list does not have the nodes of a graph at the position of its
    first replay, the rest of the list is searched for the same sequence of launches.

    Model: nodes of a graph with equal name, grid and block correspond in the order of their numbers, or else of their starts.

    >>> profile = Program.of(["load", "gemm", "add", "gemm", "add"], calls=np.array([1, 2, 2, 3, 3]))
    >>> repetition(profile, Program.of(["load", "gemm", "add"])).listed.tolist()
    [0, 1, 2, 1, 2]
    """
    replayed = in_graphs(profile)
    profile_kinds, theirs = kinds_of(profile, launches)
    node_of, first_of = _nodes(profile, replayed, profile_kinds)
    once = np.sort(np.concatenate([np.flatnonzero(~replayed), first_of]))  # each launch that a tracer saw, by its first run
    listed = np.full(profile.size, -1, dtype=np.int64)
    listed[once] = _matched(profile, launches, once, replayed, profile_kinds, theirs)
    listed[replayed] = listed[first_of[node_of[replayed]]]
    return Matching(listed, launches.size, replays=len(np.unique(_calls(profile)[replayed])))


def _calls(profile: Program) -> np.ndarray:
    """int64 [N]: equal for launches of one call of one process."""
    calls = np.arange(profile.size) if profile.calls is None else profile.calls
    return distinct_rows(np.stack([profile.process, calls], axis=1))[1]


def _nodes(profile: Program, replayed: np.ndarray, kinds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """int64 [N], the node that each replayed launch runs, -1 outside graphs; and the first launch of each node."""
    node_of, first_of = np.full(profile.size, -1, dtype=np.int64), list[int]()
    numbers: dict[tuple[object, ...], int] = {}
    rows, calls = np.flatnonzero(replayed), _calls(profile)
    graph_nodes = np.full(profile.size, UNKNOWN) if profile.graph_nodes is None else profile.graph_nodes
    alike: dict[bytes, list[int]] = {}  # replays that look alike
    for replay in np.split(rows, np.flatnonzero(np.diff(calls[rows])) + 1) if len(rows) else ():
        look = kinds[replay].tobytes() + graph_nodes[replay].tobytes()
        if look in alike:
            node_of[replay] = alike[look]
            continue
        replay_kinds, ids = kinds[replay].tolist(), graph_nodes[replay].tolist()
        graph = tuple(sorted(replay_kinds))
        seen: dict[int, int] = defaultdict(int)
        for row, kind, number in zip(replay.tolist(), replay_kinds, ids, strict=True):
            key = (kind, number) if number >= 0 else (graph, kind, seen[kind])
            seen[kind] += 1
            node = numbers.setdefault(key, len(first_of))
            if node == len(first_of):
                first_of.append(row)
            node_of[row] = node
        alike[look] = node_of[replay].tolist()
    return node_of, np.array(first_of, dtype=np.int64)


def _matched(
    profile: Program,
    launches: Program,
    once: np.ndarray,
    replayed: np.ndarray,
    profile_kinds: np.ndarray,
    theirs: np.ndarray,
) -> np.ndarray:
    """Traced counterpart of each launch outside replays; -1 if there is none."""
    matches = match(profile.take(once), launches).listed
    if (matches >= 0).all():
        return matches
    # Graphs that were captured elsewhere than they first ran: runs of launches, the longest first.
    matches = np.full(len(once), -1, dtype=np.int64)
    free = np.ones(launches.size, dtype=bool)
    calls = _calls(profile)[once]
    graphs = [part for part in np.split(np.arange(len(once)), np.flatnonzero(np.diff(calls)) + 1) if replayed[once[part[0]]]]
    for part in sorted(graphs, key=lambda part_of_graph: (-len(part_of_graph), int(part_of_graph[0]))):
        place = _run_of(profile_kinds[once[part]], theirs, free)
        if place is not None:
            matches[part] = np.arange(place, place + len(part))
            free[place : place + len(part)] = False
    # All others: in order among what is left.
    rest, free_launches = np.flatnonzero(matches < 0), np.flatnonzero(free)
    places = defaultdict(list)
    for row in free_launches[::-1].tolist():
        places[int(theirs[row])].append(row)
    for place in rest.tolist():
        if queue := places.get(int(profile_kinds[once[place]])):
            matches[place] = queue.pop()
    return matches


def _run_of(wanted: np.ndarray, kinds: np.ndarray, free: np.ndarray) -> int | None:
    """First sequence of unassigned launches with these kinds.

    >>> _run_of(np.array([1, 2]), np.array([1, 0, 1, 2]), np.ones(4, bool))
    2
    """
    if not len(wanted) or len(kinds) < len(wanted):
        return None
    windows = np.lib.stride_tricks.sliding_window_view
    candidates = np.flatnonzero(kinds[: len(kinds) - len(wanted) + 1] == wanted[0])
    fits = (windows(kinds, len(wanted))[candidates] == wanted).all(axis=1)
    fits &= windows(free, len(wanted))[candidates].all(axis=1)
    return int(candidates[fits][0]) if fits.any() else None

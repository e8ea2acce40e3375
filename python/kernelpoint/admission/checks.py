"""Table of all checks. To add a check, write a function here, with its kind, effect and remedy, and a test with an
input.

Checks for what only one simulator refuses are in the package of that simulator (`Simulator.checks`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from kernelpoint.admission.list_files import ListFiles
from kernelpoint.finding import LARGE, Effect, Finding
from kernelpoint.profiles import Matching
from kernelpoint.program import UNITS, Contents, Program
from kernelpoint.repeated import distinct_rows
from kernelpoint.simulators import simulators

NAMED, WITHDRAWS, REFUSES, BUDGET_CANNOT_BE_MET = Effect
SHORTEST, LONGEST = 20.0, 86_400e9  # ns; Model: a launch takes hundreds of ns, and no kernel a day
MOST_REGISTERS, MOST_SHARED, MOST_THREADS = 512, 1 << 20, 1024  # of a thread (AMD's), and bytes and threads of a CTA
ROUNDING = 1000.0  # ns by which a launch may seem to overlap the next: clocks, and files in microseconds


@dataclass(frozen=True)
class Case:
    """Positive result of an input check: a sentence, the shares of launches and of time concerned, and the place of the first
    case.
    """

    what: str
    launches: float
    time: float | None = None
    place: str = ""


@dataclass(frozen=True)
class Check:
    """Input check: the type of input that it reads (`Contents`: a ListFiles whose traces were read), the kind of defect it
    finds, the effect on a run, and the remedy that is printed.
    """

    of: type
    kind: str
    effect: Effect
    remedy: str
    look: Callable[[Any], Case | None]
    large: float


CHECKS: list[Check] = []


def check(
    of: type, kind: str, effect: Effect, remedy: str, large: float = LARGE, table: list[Check] | None = None
) -> Callable[..., Any]:
    """Decorator that registers an input check: a function of an input that returns a case, or None if the input is sound.

    Args:
        of: type of the input.
        kind: name of the kind of defect, as in the option `--accept`.
        effect: effect of a large defect on a run.
        remedy: advice to the user.
        large: smallest share of launches or time that counts as large.
        table: list of checks to add to; by default that of all simulators.
    """

    def entered(look: Callable[[Any], Case | None]) -> Callable[[Any], Case | None]:
        (CHECKS if table is None else table).append(Check(of, kind, effect, remedy, look, large))
        return look

    return entered


def findings_of(content: ListFiles | Program | Matching) -> list[Finding]:
    """Run all input checks for the type of an input, and return the defects in the order of the checks.

    >>> from kernelpoint.traces import read_trace_list
    >>> findings_of(ListFiles(read_trace_list("traces/kernelslist.g")))
    []
    """
    return [*_findings(content)]


def _findings(content: Any) -> Iterator[Finding]:
    has_contents = isinstance(content, ListFiles) and content.program.contents is not None
    for row in every_check():
        is_read = has_contents if row.of is Contents else isinstance(content, row.of)
        if is_read and (case := row.look(content)) is not None:
            yield Finding(row.kind, case.what, case.place, case.launches, case.time, row.remedy, row.effect, row.large)


def kinds() -> set[str]:
    """Names of all kinds of defects that input checks find, as the option `--accept` takes them.

    >>> "graph-blocks" in kinds()
    True
    """
    return {row.kind for row in every_check()}


def every_check() -> list[Check]:
    """All input checks: the general ones, and those of each simulator.

    >>> len(every_check()) > len(CHECKS)
    True
    """
    return [*CHECKS, *(row for one in simulators() for row in one.checks)]


def of_all(count: float, size: int) -> str:
    """Format a count and the number of all as "9 of 1,000".

    >>> of_all(9, 1000)
    '9 of 1,000'
    """
    return f"{int(count):,} of {size:,}"


# ---- profiles, and outputs of simulators ------------------------------------------------------------------------------


def _among(profile: Program, mask: np.ndarray, what: str) -> Case | None:
    """Make the case of some launches of a profile, with their share of its time."""
    if not mask.any():
        return None
    time, row = np.nan_to_num(_times(profile)), int(np.flatnonzero(mask)[0])
    total = float(np.abs(time).sum())
    share = float(np.abs(time[mask]).sum()) / total if total > 0 else None
    place = f"launch {row}, {profile.names[row][:60] or 'without a name'}"
    return Case(f"{of_all(mask.sum(), profile.size)} launches {what}", float(mask.mean()), share, f"{profile.source}: {place}")


def _times(profile: Program) -> np.ndarray:
    """float64 [N]: durations, else cycles."""
    return profile.counters.get("cycles", profile.duration) if np.isnan(profile.duration).all() else profile.duration


@check(
    Program,
    "graph-blocks",
    REFUSES,
    "the kernels of CUDA graphs are missing: record with --cuda-graph-trace=node (nsys)",
)
def graph_blocks(profile: Program) -> Case | None:
    """Find CUDA graphs whose kernels are not in the profile: it has one record for the whole graph, or only the call that
    launched it.
    """
    remark = profile.remarks.get("graph-blocks")
    if remark is None:
        return None
    kernels = float(np.nansum(profile.duration))
    share = remark.time / (remark.time + kernels) if remark.time else None
    shown = f", {remark.time / 1e6:,.3g} ms beside {kernels / 1e6:,.3g} ms of kernels" if remark.time else ""
    what = f"{remark.launches:,} replays of CUDA graphs are blocks without kernels{shown}"
    return Case(what, remark.launches / (remark.launches + profile.size), share, f"{profile.source}: {remark.place}")


def _remark(kind: str, what: str, profile: Program) -> Case | None:
    """Make the case of a remark of the reader: about launches that are not in the file, or, if `what` begins with another word,
    about the whole file.
    """
    if (remark := profile.remarks.get(kind)) is None:
        return None
    size = remark.launches + profile.size
    share = remark.launches / size if what.startswith("{lacking}") else 1.0
    shown = what.format(remark.launches, lacking=of_all(remark.launches, size))
    return Case(shown, share, None, f"{profile.source}: {remark.place}")


for _kind, _what, _effect, _remedy in (
    (
        "cut-output",
        "the line with which the simulator ends is missing after {:,} launches",
        REFUSES,
        "the simulator was killed, or still runs: take the output of a run that ended",
    ),
    (
        "limit-reached",
        "the simulator stopped at a limit of cycles or instructions, inside a launch",
        REFUSES,
        "run it without limits of cycles, instructions and CTAs",
    ),
    (
        "several-runs",
        "launches of a second run, or with a second result: {:,}",
        REFUSES,
        "results of a launch stand there more than once: give the output of one run",
    ),
    (
        "profiler-errors",
        "errors that the profiler or the simulator reports: {:,}",
        REFUSES,
        "it failed, or the program did, so launches may be missing: record or simulate again",
    ),
    (
        "missing-results",
        "{lacking} launches have no result",
        REFUSES,
        "the file was cut or filtered, so launches are missing: give the whole output",
    ),
    (
        "lost-kernels",
        "{lacking} calls launched kernels that are not in the file",
        REFUSES,
        "the profiler was stopped before they ended, or lost them: synchronise the GPU before it stops, and record again",
    ),
    (
        "gaps",
        "{lacking} numbers of launches are not in the file",
        NAMED,
        "a filter of the profiler leaves launches out: totals are of the file, not of the program",
    ),
    (
        "cut-row",
        "the last row has no line end",
        NAMED,
        "if it was cut there, its last value or name is wrong: copy or export the whole file again",
    ),
):
    check(Program, _kind, _effect, _remedy)(partial(_remark, _kind, _what))


@check(Program, "negative-durations", REFUSES, "the clock of the profiler went back: record again")
def negative_durations(profile: Program) -> Case | None:
    """Find launches that end before they start, or start before the clock does."""
    mask = (_times(profile) < 0) | (profile.start < 0)
    return _among(profile, mask, "end before they start, or start before time 0")


@check(Program, "impossible-counters", REFUSES, "the file is damaged, or of a run that did not simulate them: simulate again")
def impossible_counters(profile: Program) -> Case | None:
    """Find launches with a counter below 0, with a part of a cycle, or without an instruction."""
    mask = np.zeros(profile.size, bool)
    for name, values in profile.counters.items():
        mask |= (values > 0) & (values < 1) if name == "cycles" else (values < 0) | (values < 1) & (name == "instructions")
    return _among(profile, mask, "have a counter below 0, less than one cycle, or no instruction")


@check(
    Program,
    "zero-durations",
    REFUSES,
    "the profiler lost their times: record fewer launches at once, or with a newer version",
)
def zero_durations(profile: Program) -> Case | None:
    """Find launches of 0 ns. In a file with whole microseconds none are reported, because short launches have 0 there."""
    return None if _rounds_to_zero(profile) else _among(profile, _times(profile) == 0, "take no time")


@check(
    Program,
    "impossible-durations",
    REFUSES,
    "no kernel is that short or long: its unit, or a decimal comma, was lost. Export the file again with LC_ALL=C",
)
def impossible_durations(profile: Program) -> Case | None:
    """Find launches that take less time than any kernel can, more than a day, or more cycles than a 64-bit clock can count."""
    mask = (profile.duration > 0) & (profile.duration < SHORTEST) | (profile.duration > LONGEST) | (_times(profile) >= 2.0**63)
    return _among(profile, mask, f"take less than {SHORTEST:g} ns, more than a day, or more cycles than a clock counts")


@check(Program, "rows-left-out", NAMED, "they are no kernels, or the tool measured them otherwise: their time is in no total")
def rows_left_out(profile: Program) -> Case | None:
    """Find rows of a table that are no copies, and have no grid as kernels have, such as ranges."""
    count = profile.left_out.get("row without a grid", 0)
    return Case(f"{of_all(count, count + profile.size)} rows have no grid", 0.0, None, profile.source) if count else None


@check(Program, "whole-microseconds", NAMED, "shorter launches count 0 ns: a profiler with a finer clock tells them apart")
def whole_microseconds(profile: Program) -> Case | None:
    """Find a profile with times in whole microseconds, in which the shortest launches have time 0."""
    if not _rounds_to_zero(profile):
        return None
    return _among(profile, profile.duration == 0, "take less than a microsecond in a file of whole ones")


def _rounds_to_zero(profile: Program) -> bool:
    """True if times of 0 come from rounding. Model: then launches of 0 us are no more than those of 1 us."""
    durations = profile.duration[np.isfinite(profile.duration)]
    is_whole = bool((durations % 1000.0 == 0).all()) and bool((profile.start % 1000 == 0).all())
    return len(durations) > 0 and is_whole and int((durations == 0).sum()) <= int((durations == 1000.0).sum())


@check(Program, "unknown-durations", REFUSES, "the profiler ended before them, or lost their times: record again")
def unknown_durations(profile: Program) -> Case | None:
    """Find launches without a time in a profile that has times of other launches."""
    has_time = np.isfinite(_times(profile))
    is_census = not has_time.any() and "cycles" not in profile.counters and "unknown-durations" not in profile.remarks
    return None if is_census else _among(profile, ~has_time, "have no time (not a number)")


@check(
    Program,
    "overlapping-durations",
    REFUSES,
    "kernels of one stream run one after another, so these times are not theirs: record again with another profiler",
)
def overlapping_durations(profile: Program) -> Case | None:
    """Find launches that end after the next launch on their stream starts. Nodes of CUDA graphs are left out, because they run
    side by side.
    """
    alone = np.flatnonzero(np.isfinite(profile.duration) & (profile.stream >= 0) & (profile.start > 0) & ~in_graphs(profile))
    process = profile.process
    order = alone[np.lexsort((profile.start[alone], profile.stream[alone], process[alone]))]
    here, after = order[:-1], order[1:]
    excess = profile.start[here] + profile.duration[here] - profile.start[after]
    excess[(profile.stream[here] != profile.stream[after]) | (process[here] != process[after])] = 0.0
    mask = np.zeros(profile.size, bool)
    mask[here[excess > ROUNDING]] = True
    if (case := _among(profile, mask, "last beyond the start of the next on their stream")) is None:
        return None
    over = float(np.minimum(excess[excess > ROUNDING], profile.duration[here][excess > ROUNDING]).sum())
    share = over / float(np.nansum(profile.duration))
    return Case(f"{case.what}, by {over / 1e6:,.3g} ms in all", min(case.launches, share), share, case.place)


@check(Program, "repeated-rows", REFUSES, "the file holds the same launches twice: was it written or joined twice?")
def repeated_rows(profile: Program) -> Case | None:
    """Find rows with equal name, stream, start and duration: the same launches twice."""
    timed = np.flatnonzero((profile.start > 0) & (profile.duration > 0))
    rows = np.stack(
        [profile.names.numbers[timed], profile.stream[timed], profile.start[timed], profile.duration[timed]], axis=1
    )
    mask = np.zeros(profile.size, bool)
    order = np.lexsort(rows.T) if len(rows) else np.zeros(0, np.int64)
    mask[timed[order[1:]][(rows[order[1:]] == rows[order[:-1]]).all(axis=1)]] = True
    return _among(profile, mask, "stand in the file twice")


@check(
    Program,
    "graph-replays",
    NAMED,
    "a tracer sees each node of a graph once: `kernelpoint file expand` writes the list of all launches after tracing",
)
def graph_replays(profile: Program) -> Case | None:
    """Find launches that are nodes of CUDA graphs which ran more than once."""
    mask = in_graphs(profile)
    calls = len(np.unique(profile.calls[mask])) if mask.any() and profile.calls is not None else 0
    return _among(profile, mask, f"are nodes of CUDA graphs, in {calls:,} replays")


@check(
    Program,
    "processes",
    NAMED,
    "their launches stand one process after the other: record each by itself if they are not one program",
)
def processes(profile: Program) -> Case | None:
    """Find a profile with launches of several processes."""
    if len(profile.counts) == 1:
        return None
    share = 1.0 - profile.counts[0] / profile.size
    return Case(f"launches of {len(profile.counts):,} processes", share, None, profile.source)


@check(
    Program,
    "communication",
    NAMED,
    "these kernels wait for other GPUs, so their times say little about themselves; `kernelpoint compare` leaves them out",
)
def communication(profile: Program) -> Case | None:
    """Find kernels of communication libraries such as NCCL, whose times depend on other GPUs."""
    libraries = profile.communication
    families = ", ".join(sorted(name for name, count in zip(libraries.distinct, libraries.counts, strict=True) if count))
    case = _among(profile, libraries.numbers >= 0, f"are kernels of communication ({families})")
    return case and Case(f"{case.what}, {100 * (case.time or 0.0):.3g} % of the time", case.launches, case.time, case.place)


@check(
    Program,
    "no-grid",
    NAMED,
    "the profiler did not record it (HIP graphs, old versions), so these launches are told apart by their names only",
)
def no_grid(profile: Program) -> Case | None:
    """Find launches without a grid in a profile that has grids of other launches."""
    has_grid = np.asarray(profile.grid.all(axis=1))
    return _among(profile, np.logical_not(has_grid), "have no grid") if has_grid.any() else None


@check(Program, "no-name", REFUSES, "the file lacks which kernel they are of: was it edited, or cut? Export it again")
def no_name(profile: Program) -> Case | None:
    """Find launches without a name in a profile with names, durations or grids: only simulators leave all of these out."""
    has_any = profile.is_named or np.isfinite(profile.duration).any() or profile.grid.any()
    return _among(profile, profile.names.numbers < 0, "have no name") if has_any else None


@check(
    Program, "no-name", NAMED, "launches of such a file are told apart by their order only: give it together with their list"
)
def no_name_nor_trace(profile: Program) -> Case | None:
    """Find results of a simulator with neither names nor traces of launches."""
    has_any = profile.is_named or len(profile.traces) or np.isfinite(profile.duration).any() or profile.grid.any()
    return None if has_any else _among(profile, profile.names.numbers < 0, "have no name")


@check(Contents, "no-name", NAMED, "launches without a name count as launches of one kernel: trace again with a newer tracer")
def no_name_in_list(listed: ListFiles) -> Case | None:
    """Find traces whose header names no kernel."""
    is_read = listed.program.read.stream_ids[listed.program.content] >= 0
    return of_traces(listed, (listed.program.names.numbers < 0) & is_read, "have no name")


@check(
    Program,
    "no-call",
    REFUSES,
    "their place in the program is not known, nor which are replays of graphs: record again, with the calls of the runtime",
)
def no_call(profile: Program) -> Case | None:
    """Find launches without the number of the CUDA call that made them, in a profile that has such numbers."""
    if profile.calls is None:
        return None
    lacking = profile.calls <= 0
    is_few = lacking.all() or lacking.sum() <= len(profile.counts)
    return None if is_few else _among(profile, lacking, "have no number of a call")


@check(Program, "lost-letters", NAMED, "the file is not in UTF-8: convert it, so that kernels match those of traces")
def lost_letters(profile: Program) -> Case | None:
    """Find kernel names with letters that could not be decoded."""
    lost = np.array([*("\ufffd" in name for name in profile.names.distinct), False], dtype=bool)
    return _among(profile, lost[profile.names.numbers], "have letters in their names that cannot be read")


def in_graphs(profile: Program) -> np.ndarray:
    """True for launches that are nodes of CUDA graphs, bool [N]: as the file says, or because several launches share a CUDA
    call.

    >>> in_graphs(Program.of(["gemm"] * 3, calls=np.array([1, 2, 2]))).tolist()
    [False, True, True]
    """
    mask = np.zeros(profile.size, bool)
    if profile.graph_nodes is not None:
        mask |= profile.graph_nodes >= 0
    if profile.calls is not None:
        first, which = distinct_rows(np.stack([profile.process, profile.calls], axis=1))
        if len(first) > 1:
            mask |= (np.bincount(which)[which] > 1) & (profile.calls > 0)
    return mask


@check(
    Matching,
    "not-traced",
    REFUSES,
    "the tracer saw each node of a CUDA graph once: `kernelpoint file expand LIST --profile FILE` writes the whole list. Else "
    "record profile and traces with the same input",
)
def not_traced(matching: Matching) -> Case | None:
    """Find launches of a program with CUDA graphs that are not in the trace list, or in the tracer's table of launches."""
    extra, size = matching.extra, len(matching.listed)
    what = f"{of_all(len(extra), size)} launches of the program are not in the list"
    return Case(what, len(extra) / size, None, f"launch {extra[0]} of the program") if len(extra) else None


@check(Matching, "not-run", NAMED, "profile and traces come from different runs, or from different parts of a run")
def not_run(matching: Matching) -> Case | None:
    """Find launches of the list that are not in the profile."""
    unused = matching.unused
    what = f"{of_all(len(unused), matching.launches)} traced launches are not in the program"
    return Case(what, len(unused) / matching.launches, None, f"launch {unused[0]} of the list") if len(unused) else None


# ---- trace lists --------------------------------------------------------------------------------------------------------


def of_traces(listed: ListFiles, mask: np.ndarray, what: str) -> Case | None:
    """Result of an input check for the launches in `mask` (bool [N]): their number and their share of all instructions; None if
    there are none. `what` completes the sentence.
    """
    if not mask.any():
        return None
    first, work = int(np.flatnonzero(mask)[0]), listed.work
    share = None if work is None else float(work[mask].sum() / work.sum())
    return Case(f"{of_all(mask.sum(), len(mask))} launches {what}", float(mask.mean()), share, listed.program.traces[first])


def _defect(name: str, what: str, listed: ListFiles) -> Case | None:
    """Make the case of traces with one of the DEFECTS."""
    return of_traces(listed, listed.defects(name) > 0, what)


@check(
    ListFiles,
    "several-contexts",
    REFUSES,
    "each CUDA context is a program of its own (MPI, several processes): run the list of each, kernelslist_ctx_...g, by itself",
)
def several_contexts(listed: ListFiles) -> Case | None:
    """Find a list with traces of several CUDA contexts, or with trace files of another context in its folder."""
    if not listed.program.lists:
        return None
    is_one_list, named = len(listed.program.lists) == 1, dict[tuple[int, str], str]()
    for name, path in zip(listed.named, listed.program.traces.distinct, strict=True):
        if is_one_list and name[0] >= 0 and named.setdefault(name, path) != path:
            return Case("two traces in the list have one number", 1.0, None, f"{named[name]} and {path}")
    if is_one_list and len(listed.contexts) > 1:
        counts = ", ".join(f"{name or 'without a name'}: {count:,}" for name, count in listed.contexts.items())
        return Case(f"the list has launches of {len(listed.contexts)} contexts ({counts})", 1.0, None, listed.program.lists[0])
    other = {name: len(paths) for name, paths in listed.beside.items() if name and name not in listed.contexts}
    own_lists = {f"kernelslist_{context}.g" for context in listed.contexts}
    if not other or any(Path(one).name in own_lists for one in listed.program.lists):
        return None
    lists = ", ".join(f"kernelslist_{name}.g" for name in sorted({*other, *filter(None, listed.contexts)}))
    count = sum(other.values())
    what = f"{count:,} traces of another context lie beside the list, which has {listed.program.size:,} launches ({lists})"
    return Case(what, count / (count + listed.program.size), None, listed.program.lists[0])


@check(
    Contents,
    "unreadable",
    BUDGET_CANNOT_BE_MET,
    "an error budget below their share cannot be met. Traces without a CTA: post-processing was killed; run it again",
    large=0.5,
)
def unreadable(listed: ListFiles) -> Case | None:
    """Find launches whose traces cannot be read."""
    errors = listed.program.errors
    case = of_traces(listed, np.isin(np.arange(listed.program.size), [*errors]), "cannot be read")
    return case and Case(case.what, case.launches, None, errors[min(errors)])


@check(
    Contents,
    "zero-addresses",
    WITHDRAWS,
    "a known defect of tracers that read addresses too early: all accesses hit one line. Trace again with a newer NVBit",
)
def zero_addresses(listed: ListFiles) -> Case | None:
    """Find launches with a share above LARGE of their global memory accesses at address 0, a defect of tracers."""
    zero, accesses = listed.defects("zero_addresses"), listed.program.count("global_accesses")
    mask = zero > LARGE * accesses
    case = of_traces(listed, mask, "read or write address 0")
    share = zero[mask].sum() / max(int(accesses[mask].sum()), 1)
    return case and Case(f"{case.what}, in {100 * share:.3g} % of their accesses", case.launches, case.time, case.place)


for _kind, _what, _remedy in (
    (
        "missing-warps",
        "lack warps of their blocks",
        "the tracer's buffer overflowed, or the trace was cut: trace these launches again",
    ),
    (
        "empty-warps",
        "have warps that execute nothing",
        "every warp executes EXIT at least, so the tracer lost them: trace these launches again",
    ),
    (
        "repeated-ctas",
        "have a CTA twice, and lack another",
        "post-processing joined two tracer runs, or sorted wrongly: run it again",
    ),
    (
        "missing-barriers",
        "have warps that lack barriers of their CTA",
        "the tracer lost them, and a simulator waits for ever or stops at an assertion: trace these launches again",
    ),
):
    check(Contents, _kind, WITHDRAWS, _remedy)(partial(_defect, _kind.replace("-", "_"), _what))


@check(
    Contents,
    "missing-exits",
    WITHDRAWS,
    "every warp ends with EXIT, so the tracer lost the rest of them: trace these launches again",
)
def missing_exits(listed: ListFiles) -> Case | None:
    """Find warps without an EXIT instruction. If no warp of the list has one, none is reported: some converters leave EXIT
    out.
    """
    if (listed.defects("missing_exits") >= listed.program.count("warps")).all():
        return None
    return _defect("missing_exits", "have warps that end without EXIT", listed)


@check(Contents, "idle-lanes", WITHDRAWS, "the tracer lost the masks of active lanes: trace these launches again")
def idle_lanes(listed: ListFiles) -> Case | None:
    """Find launches in which no instruction has an active lane."""
    mask = (listed.program.count("instructions") > 0) & (listed.program.count("thread_instructions") == 0)
    return of_traces(listed, mask, "have no active lane in any instruction")


@check(
    Contents,
    "unknown-opcodes",
    NAMED,
    "a simulator may stop at them; predictions count them as unit 'other'. `kernelpoint file inspect TRACE` shows which",
)
def unknown_opcodes(listed: ListFiles) -> Case | None:
    """Find launches with opcodes that are in no table of opcodes."""
    unknown = listed.program.read.records["by_unit"][:, UNITS.index("other")][listed.program.content]
    return of_traces(listed, unknown > 0, "have opcodes that are not known")


_IMPOSSIBLE = "have a grid or block without threads, or more threads, registers or shared memory than a CTA can have"


@check(Program, "impossible-sizes", REFUSES, "the row is damaged, or its columns are those of another table: export it again")
def impossible_sizes_in_profile(profile: Program) -> Case | None:
    """Find launches with shapes that no GPU runs, such as 0x4x1."""
    return _among(profile, _has_impossible_size(profile), _IMPOSSIBLE)


@check(Contents, "impossible-sizes", REFUSES, "no GPU has as many: the header is damaged. Trace these launches again")
def impossible_sizes(listed: ListFiles) -> Case | None:
    """Find launches that need more registers or shared memory than a CTA can have."""
    return of_traces(listed, _has_impossible_size(listed.program), _IMPOSSIBLE)


def _has_impossible_size(program: Program) -> np.ndarray:
    """True for launches with a shape that no GPU runs, bool [N]. A grid or block of zeros is unknown."""
    count = len(program.labels.shapes)
    labels = Program((count,), labels=program.labels, label=np.arange(count, dtype=np.int32))
    mask = (labels.registers > MOST_REGISTERS) | (labels.shared_memory > MOST_SHARED)
    for shape in (labels.grid, labels.block):
        mask |= shape.any(axis=1) & ~shape.all(axis=1)
    mask |= labels.block.astype(float).prod(axis=1) > MOST_THREADS
    return np.append(mask, False)[program.label]


@check(Contents, "mixed-code", NAMED, "these are traces of several GPUs: were two tracer runs joined?")
def mixed_code(listed: ListFiles) -> Case | None:
    """Find a list with code of several GPU architectures."""
    if len(listed.architectures) < 2:
        return None
    usual = max(listed.architectures, key=listed.architectures.__getitem__)
    architectures = listed.program.read.architectures[listed.program.content]
    return of_traces(
        listed, (architectures > 0) & (architectures != usual), f"have code for another architecture than sm_{usual}"
    )


@check(
    Contents,
    "communication",
    NAMED,
    "these kernels wait for other GPUs, which one simulator does not have: their cycles say little",
)
def communication_in_list(listed: ListFiles) -> Case | None:
    """Find traces of kernels of communication libraries such as NCCL."""
    return of_traces(listed, listed.program.communication.numbers >= 0, "are kernels of communication")


@check(Contents, "copied-trace", REFUSES, "these launches were not traced, or their traces were overwritten: trace them again")
def copied_trace(listed: ListFiles) -> Case | None:
    """Find traces that were copied over others: a file kernel-7.traceg with the content and the number of kernel-3.traceg."""
    if (remark := listed.program.remarks.get("copied-trace")) is None:
        return None
    size, work = listed.program.size, listed.work
    share = None if work is None else remark.time / float(work.sum())
    what = f"{of_all(remark.launches, size)} launches have a copy of another launch's trace"
    return Case(what, remark.launches / size, share, remark.place)


@check(ListFiles, "not-in-list", NAMED, "the list is a part of the program if these belong to it: totals are of the list")
def not_in_list(listed: ListFiles) -> Case | None:
    """Find trace files in the folder of a list, and of its CUDA context, that the list does not name."""
    context = next(iter(listed.contexts), "")
    count = 0 if listed.is_selection or not listed.program.lists else len(listed.beside.get(context, ()))
    what = f"{count:,} traces lie beside the list that it does not name"
    return Case(what, count / (count + listed.program.size), None, listed.beside[context][0]) if count else None


@check(
    ListFiles,
    "links-outside",
    NAMED,
    "right if you put them there; a folder from a stranger may point at any file of yours, which is then read",
)
def links_outside(listed: ListFiles) -> Case | None:
    """Find traces that a symbolic link takes from outside the folders of their lists."""
    outside = np.array([*listed.is_outside, False], dtype=bool)[listed.program.traces.numbers]
    return of_traces(listed, outside, "have traces behind links that lead out of the folder of the list")


@check(ListFiles, "unordered", NAMED, "a program runs in the order of the tracer's numbers: was the list sorted by name?")
def unordered(listed: ListFiles) -> Case | None:
    """Find a list that names each trace once, in another order than that of the tracer's numbers."""
    numbers = np.array([number for number, _ in listed.named if number >= 0])
    back = np.flatnonzero(np.diff(numbers) < 0)
    if not len(back) or not listed.program.lists or listed.repeats or len(listed.contexts) > 1:
        return None
    what = f"{len(back):,} launches stand before one with a lower number"
    return Case(what, len(back) / listed.program.size, None, listed.program.traces[int(back[0])])


@check(
    ListFiles,
    "gaps",
    NAMED,
    "the tracer left launches out (its range, or a limit): totals are of the list, not of the program",
)
def gaps(listed: ListFiles) -> Case | None:
    """Find numbers of the tracer that are missing in a list, if the list names each trace once."""
    numbers = listed.numbers
    if listed.is_selection or not listed.program.lists or listed.repeats or len(numbers) < 2:
        return None
    first = min(1, int(numbers[0]))
    missing = int(numbers[-1]) - first + 1 - len(numbers)
    if missing <= 0:
        return None
    what = f"{missing:,} of the launches {first:,} to {int(numbers[-1]):,} are not in the list"
    lacking = int(np.setdiff1d(np.arange(first, first + len(numbers) + 1), numbers)[0])
    return Case(what, missing / (missing + len(numbers)), None, f"launch {lacking:,}")


@check(
    ListFiles,
    "repeated-for-missing",
    NAMED,
    "was one copied over the other? A graph that replays this launch looks alike: then the list is right",
)
def repeated_for_missing(listed: ListFiles) -> Case | None:
    """Find launches that repeat the trace of an earlier launch in place of a trace whose number the list lacks.

    Replays of CUDA graphs that `kernelpoint file expand` writes are not such launches: they use numbers that are in the list,
    or go back to an earlier number.
    """
    if listed.is_selection or not listed.program.lists or not listed.repeats:
        return None
    at = listed.program.traces.numbers
    numbers = np.array([number for number, _ in listed.named])[at]
    before, after = np.concatenate(([0], numbers[:-1])), np.concatenate((numbers[1:], [-1]))
    in_gap = (numbers >= 0) & (before >= 0) & (after == before + 2) & (np.asarray(listed.program.traces.counts)[at] > 1)
    in_gap &= ~np.isin(before + 1, listed.numbers)
    return of_traces(listed, in_gap, "name the trace of another launch where the tracer's number is missing")

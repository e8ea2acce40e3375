"""What Accel-Sim (gpgpu-sim 4) stops at, or passes over, in lists and traces: checks of admission."""

from __future__ import annotations

import re

from kernelpoint.admission.checks import Case, Check, check, of_all, of_traces
from kernelpoint.admission.list_files import ListFiles, names_in, text_of
from kernelpoint.finding import Effect
from kernelpoint.program import Contents

NAMED, REFUSES = Effect.NAMED, Effect.REFUSES
CHECKS: list[Check] = []
_FOLDER_BEFORE = re.compile(rb"^(?!kernel|#)[^\n]*/kernel-|^[ \t]+kernel-", re.MULTILINE)
_PROCESSED = re.compile(r"(.*)\.trace(?:g|z|g\.(?:xz|gz|zst))")
_RAW = re.compile(r"(kernel-\d+.*)\.trace(?:\.xz|\.gz)?")


@check(
    Contents,
    "single-warp-exits",
    NAMED,
    "Accel-Sim (gpgpu-sim 4.2) stops at an assertion in them (barrier_set_t::deallocate_barrier): leave them out",
    table=CHECKS,
)
def single_warp_exits(listed: ListFiles) -> Case | None:
    """Find CTAs of one warp whose lanes end at different EXIT instructions; Accel-Sim stops at an assertion on them."""
    one_warp = listed.program.count("warps") == listed.program.count("ctas")
    return of_traces(
        listed,
        one_warp & (listed.defects("after_exit") > 0),
        "have blocks of one warp that leaves at several EXITs",
    )


@check(
    ListFiles,
    "newer-code",
    NAMED,
    "Accel-Sim stops at an assertion where its configuration lacks a unit of that code (-specialized_unit_4, UDP, from sm_75): "
    "take the configuration of that architecture, or trace on a GPU of the configured one",
    table=CHECKS,
)
def newer_code(listed: ListFiles) -> Case | None:
    """Find traces with code for a newer architecture than that of the simulated GPU."""
    newer = {version: count for version, count in listed.architectures.items() if version > listed.architecture}
    if not newer or not listed.architecture:
        return None
    what = f"have code for sm_{max(newer)}; the configuration is for sm_{listed.architecture}"
    count, size = sum(newer.values()), sum(listed.architectures.values())
    return Case(f"{of_all(count, size)} launches {what}", count / size, None, listed.program.traces[0])


@check(
    ListFiles,
    "ends-with-copy",
    NAMED,
    "Accel-Sim aborts at the end of such a list (a failed assertion): remove its last lines",
    table=CHECKS,
)
def ends_with_copy(listed: ListFiles) -> Case | None:
    """Find a trace list whose last command is a copy from the host; Accel-Sim aborts on it."""
    last = listed.text.rstrip().rpartition(b"\n")[2]
    what = "the list ends with a copy to the GPU"
    return Case(what, 0.0, None, listed.program.lists[0]) if last.startswith(b"MemcpyHtoD") else None


@check(
    ListFiles,
    "names-not-read",
    NAMED,
    "Accel-Sim itself passes over lines that do not begin with `kernel`: write kernel-N.traceg alone",
    table=CHECKS,
)
def names_not_read(listed: ListFiles) -> Case | None:
    """Find lines of a trace list with ./ or a folder before the name of a trace; Accel-Sim does not read such traces."""
    count = sum(1 for _ in _FOLDER_BEFORE.finditer(listed.text))
    what = f"{count:,} lines have a folder or blanks before the name of a trace"
    return Case(what, 0.0, None, listed.program.lists[0]) if count else None


@check(
    ListFiles,
    "collectives",
    NAMED,
    "one simulator has no other GPU to talk to, so the list is simulated without them, and their time is in no total",
    table=CHECKS,
)
def collectives(listed: ListFiles) -> Case | None:
    """Find calls of NCCL in a trace list of several GPUs, such as ncclAllReduce."""
    count = listed.text.count(b"\nnccl") + listed.text.startswith(b"nccl")
    return Case(f"{count:,} lines of the list are calls of NCCL", 0.0, None, listed.program.lists[0]) if count else None


@check(
    ListFiles,
    "not-processed",
    REFUSES,
    "post-processing ended before them, so the list lacks them: run post-traces-processing again",
    table=CHECKS,
)
def not_processed(listed: ListFiles) -> Case | None:
    """Find raw traces of the tracer in the folder of a list that were not post-processed."""
    if listed.is_selection:
        return None
    names = {name for folder in listed.folders for name in names_in(folder)} | {
        path.rpartition("/")[2] for path in listed.program.traces.distinct
    }
    processed = {match[1] for match in map(_PROCESSED.fullmatch, names) if match}
    raw = {match[1] for match in map(_RAW.fullmatch, names) if match} - processed
    if not raw:
        return None
    what = f"{len(raw):,} traces beside the list are not processed"
    place = (listed.program.lists or listed.program.traces)[0]
    return Case(what, len(raw) / (len(raw) + listed.program.size), None, f"{place}: {min(raw)}")


@check(
    ListFiles,
    "longer-census",
    NAMED,
    "the tracer left launches out (its range, or a limit): totals are of the list; `kernelpoint select` states those of all",
    table=CHECKS,
)
def longer_census(listed: ListFiles) -> Case | None:
    """Find a census (the tracer's table of launches) in the folder of a list that has more launches than the list."""
    context = next(iter(listed.contexts), "")
    for folder in () if listed.is_selection else listed.folders:
        for name in (f"stats_{context}", "stats.csv"):
            rows = text_of(folder / name).count(b"kernel-")
            if rows > listed.program.size:
                what = f"the tracer counted {rows:,} launches, {rows - listed.program.size:,} more than the list has"
                return Case(what, (rows - listed.program.size) / rows, None, str(folder / name))
    return None


@check(
    ListFiles,
    "byte-order-mark",
    REFUSES,
    "Accel-Sim passes over its first line, a launch or a copy: save the list as UTF-8 without such a mark",
    large=0.0,
    table=CHECKS,
)
def byte_order_mark(listed: ListFiles) -> Case | None:
    """Find a trace list that begins with a byte order mark, which Windows editors write; Accel-Sim then ignores the first
    line.
    """
    if not listed.text.startswith(b"\xef\xbb\xbf"):
        return None
    return Case("the list begins with a byte order mark", 1.0 / (listed.program.size + 1), None, listed.program.lists[0])


@check(
    ListFiles,
    "container",
    NAMED,
    "Accel-Sim itself reads .traceg, .traceg.xz and .tracez only: unpack the others for it",
    table=CHECKS,
)
def container(listed: ListFiles) -> Case | None:
    """Find traces in compressed or packed files that Accel-Sim does not open."""
    pairs = zip(listed.program.traces.distinct, listed.program.traces.counts.tolist(), strict=True)
    count = sum(launches for path, launches in pairs if path.endswith((".gz", ".zst")))
    if not count or not listed.program.lists:
        return None
    return Case(f"{of_all(count, listed.program.size)} traces are .gz or .zst", 0.0, None, listed.program.lists[0])

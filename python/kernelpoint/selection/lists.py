"""Writers of trace lists: one list of several tracer runs, and lists of programs that repeat launches."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from kernelpoint.errors import ConfigError, TraceError
from kernelpoint.files import replacing
from kernelpoint.selection.census import tracers
from kernelpoint.simulators import Tracer, simulator_of
from kernelpoint.traces import read_trace_list

Copies = Sequence[tuple[int, int]]  # address and bytes of each


def write_repeated(source: Path, launches: np.ndarray, output: Path) -> Path:
    """Write a trace list that names each trace as often, and in the order, as a program ran it. Returns the path of the list.

    A copy from the host stays before the first launch that follows it in the source.

    Args:
        source: a trace list, or its folder.
        launches: int64 [N], for each launch of the program the index of its launch in the source.
        output: a list beside the source (a name that ends in .g), or a folder, which gets links to the traces.

    Raises:
        TraceError: the source cannot be read.
        ConfigError: the output is the source.
        OSError: the output cannot be written.

    >>> import shutil
    >>> _ = shutil.copytree("traces", "graphs")
    >>> path = write_repeated(Path("graphs"), np.array([0, 1, 1, 2]), Path("graphs/program.g"))
    >>> read_trace_list(path).size
    4
    """
    listed = read_trace_list(str(source))
    folder = source if source.is_dir() else source.parent
    tracer = simulator_of(listed.traces).tracer
    if tracer is None:
        raise TraceError(f"{source}: this list is of no simulator whose tracer KernelPoint supports")
    is_beside = output.suffix == ".g"
    if is_beside and (
        output.parent.resolve() != folder.resolve()
        or output.resolve() in ((folder / tracer.list_name).resolve(), source.resolve())
    ):
        raise ConfigError(
            f"--output: got {output}; allowed: another list in {folder}, or a folder, which gets links to the traces"
        )
    path = output if is_beside else output / tracer.list_name
    if is_beside:
        names = [os.path.relpath(trace, folder) for trace in listed.traces.distinct]
    else:
        names = _linked(listed.traces.distinct, tracer, folder, output)
    entries = [names[file] for file in listed.traces.numbers[launches].tolist()]
    before = _copies_before(listed.copies[0], listed.size)[launches]
    _write(path, _lines(tracer.list_head, entries, before.tolist(), _copies(listed.copies[0])))
    return path


def join_lists(folders: Sequence[Path], output: Path) -> int:
    """Join the traces of several tracer runs of one program: write one trace list with links to them. Returns the number of
    launches.

    Launches are in the order of the tracer's numbers. A tracer writes all copies from the host into each list, or none, so
    copies are taken from one list.

    Args:
        folders: folders of tracer runs of one CUDA context, each with a list.
        output: a folder, made if it is missing.

    Raises:
        TraceError: a folder has no list, lists have different copies, or a launch was traced in two runs.
        ConfigError: the lists belong to two simulators.
        OSError: `output` cannot be written.
    """
    lists, (tracer, *_) = zip(*map(_list_of, folders), strict=True)
    if len({path.name for path in lists}) > 1:
        raise ConfigError(f"{lists[0].name} and {lists[-1].name} are lists of two simulators; join lists of one simulator")
    read = [read_trace_list(path) for path in lists]
    copies = [_copies(each.copies[0]) for each in read]
    for path, list_copies in zip(lists, copies, strict=True):
        if list_copies != copies[0]:
            raise TraceError(
                f"{path}: its {len(list_copies):,} copies from the host are not those of {lists[0]} ({len(copies[0]):,}): "
                "the program ran differently, so the traces do not belong together; trace again with the same input"
            )
    launches: dict[int, tuple[str, int]] = {}  # trace, and copies before it
    for path, each in zip(lists, read, strict=True):
        before = _copies_before(each.copies[0], each.size).tolist()
        for number, trace, count in zip(np.asarray(each.numbers).tolist(), each.traces, before, strict=True):
            if number < 0 or number in launches:
                raise TraceError(f"{path}: {trace} has no launch number, or launch {number} is also in another list")
            launches[number] = trace, count
    ordered = [launches[number] for number in sorted(launches)]
    entries = _linked([trace for trace, _ in ordered], tracer, lists[0].parent, output)
    _write(output / lists[0].name, _lines(tracer.list_head, entries, [count for _, count in ordered], copies[0]))
    return len(ordered)


def _list_of(folder: Path) -> tuple[Path, Tracer]:
    for tracer in tracers().values():
        if (path := folder / tracer.list_name).is_file():
            return path, tracer
    names = " and ".join(f"no {tracer.list_name}" for tracer in tracers().values())
    raise TraceError(f"{folder} is not the folder of a tracer's run after post-processing: {names}")


def _linked(traces: Iterable[str], tracer: Tracer, source: Path, folder: Path) -> list[str]:
    """Make links in a folder to traces, and to what a tracer puts beside the list of `source`; the line of each trace.

    Links are relative, so that the folder may move together with the traces.
    """
    folder.mkdir(parents=True, exist_ok=True)
    entries = [tracer.list_entry(Path(trace)) for trace in traces]
    beside = [source / name for name in tracer.beside_list if (source / name).is_file()]
    for target in (*(target for target, _ in entries), *beside):
        text, place = os.path.relpath(target.resolve(), folder.resolve()), folder / target.name
        if not place.is_symlink() or os.readlink(place) != text:
            place.symlink_to(text)
    return [line for _, line in entries]


def _copies(rows: np.ndarray) -> Copies:
    return [(address, size) for _, address, size in rows.tolist()]


def _copies_before(copies: np.ndarray, launches: int) -> np.ndarray:
    """int64 [launches]: number of copies (as Program.copies) before each launch of a list.

    >>> _copies_before(np.array([[0, 16, 8], [2, 32, 8]]), 2).tolist()
    [1, 2]
    """
    is_copy = np.zeros(len(copies) + launches, dtype=bool)
    is_copy[copies[:, 0].astype(np.int64)] = True
    return np.cumsum(is_copy)[~is_copy]


def _lines(head: Sequence[str], entries: Iterable[str], before: Iterable[int], copies: Copies) -> Iterator[str]:
    """Lines of a list: its head, each launch after the copies that precede it, then the remaining copies.

    >>> list(_lines((), ["a", "b", "a"], [1, 2, 1], [(16, 8), (32, 8)]))
    ['MemcpyHtoD,0x0000000000000010,8', 'a', 'MemcpyHtoD,0x0000000000000020,8', 'b', 'a']
    """
    yield from head
    lines, done = [f"MemcpyHtoD,0x{address:016x},{size}" for address, size in copies], 0
    for entry, count in zip(entries, before, strict=True):
        yield from lines[done:count]
        done = max(done, count)
        yield entry
    yield from lines[done:]


def _write(path: Path, lines: Iterable[str]) -> None:
    with replacing(path) as file:
        for line in lines:
            file.write(os.fsencode(line + "\n"))

"""Trace lists that are written: of several tracer runs as one, and of programs with repetition."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kernelpoint.errors import ConfigError, TraceError
from kernelpoint.files import replacing
from kernelpoint.program import Program
from kernelpoint.selection.census import tracers
from kernelpoint.simulators import Tracer, simulator_of
from kernelpoint.traces import read_trace_list


def write_repeated(source: Path, launches: np.ndarray, output: Path) -> Path:
    """Write a list in which launches of another stand as often, and in the order, as a program ran them; its path.

    A copy from the host stays before the first launch that follows it in the source.

    Args:
        source: a list, or the folder of one.
        launches: int64 [N], for each launch of the program its launch of the source.
        output: a list beside the source (a name that ends in .g), or a folder, which gets links to the traces.

    Raises:
        TraceError: the source cannot be read. ConfigError: the output cannot be written, or is the source.

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
        raise TraceError(f"{source}: no list of a simulator whose tracer is known")
    is_beside = output.suffix == ".g"
    if is_beside and (
        output.parent.resolve() != folder.resolve()
        or output.resolve() in ((folder / tracer.list_name).resolve(), source.resolve())
    ):
        raise ConfigError(
            f"--output: got {output}; allowed: another list in {folder}, or a folder, which gets links to the traces"
        )
    path = output if is_beside else output / tracer.list_name
    try:
        entries = _entries(listed, tracer, folder, None if is_beside else output)
        lines = command_lines(tracer.list_head, listed.copies[0], entries, launches)
        with replacing(path) as file:
            for line in lines:
                file.write(os.fsencode(line + "\n"))
    except OSError as error:
        raise ConfigError(f"--output: cannot write {error.filename or output}: {error.strerror}") from None
    return path


def _entries(listed: Program, tracer: Tracer, folder: Path, links: Path | None) -> Sequence[str]:
    """Line of the source list for each launch; with a folder for links, the name of a link to its trace in that folder."""
    if links is None:
        lines = [os.path.relpath(path, folder) for path in listed.traces.distinct]
        return [lines[file] for file in listed.traces.numbers.tolist()]
    links.mkdir(parents=True, exist_ok=True)
    lines = []
    for path in listed.traces.distinct:
        target, line = tracer.list_entry(Path(path))
        lines.append(line)
        link(target, links / target.name)
    for name in tracer.beside_list:
        if (folder / name).is_file():
            link(folder / name, links / name)
    return [lines[file] for file in listed.traces.numbers.tolist()]


@dataclass(frozen=True)
class _Launch:
    number: int
    copies: int  # that come before it
    path: Path


def join_lists(folders: Sequence[Path], output: Path) -> int:
    """Write one trace list in `output`, with links to the traces of all `folders`; the number of launches.

    Launches stand in the order of the tracer's numbers. A tracer keeps every copy from the host in each of its lists, or none,
    so the copies of one list, and where a launch stands among them, are those of all.

    Args:
        folders: each holds a list of one tracer run, all of the same CUDA context.
        output: a folder, made where missing.

    Raises:
        TraceError: a folder has no list, lists differ in their copies, or a launch was traced in two runs.
        ConfigError: lists of two simulators, or `output` cannot be written.
    """
    lists_and_copies = [_list_of(folder) for folder in folders]
    lists, tracer = [path for path, _ in lists_and_copies], lists_and_copies[0][1]
    if len({path.name for path in lists}) > 1:
        raise ConfigError(
            f"{lists[0].name} and {lists[-1].name} are lists of two simulators; join lists of one simulator"
        )
    read = [read_trace_list(path) for path in lists]
    copies = [[tuple(row) for row in each.copies[0][:, 1:].tolist()] for each in read]
    for path, list_copies in zip(lists, copies, strict=True):
        if list_copies != copies[0]:
            raise TraceError(
                f"{path}: its {len(list_copies):,} copies from the host are not those of {lists[0]} ({len(copies[0]):,}): the "
                "program ran differently, so the traces do not belong together"
            )
    launches: dict[int, _Launch] = {}
    for path, each in zip(lists, read, strict=True):
        before = _copies_before(each.copies[0][:, 0].tolist(), each.size)
        for number, count, trace in zip(np.asarray(each.numbers).tolist(), before, each.traces, strict=True):
            if number < 0 or number in launches:
                raise TraceError(f"{path}: launch {number} ({trace}) is in two of the lists, or has no number")
            launches[number] = _Launch(number, count, Path(trace))
    ordered = [launches[number] for number in sorted(launches)]
    try:
        _write(output, ordered, copies[0], lists, tracer)
    except OSError as error:
        raise ConfigError(
            f"--output: cannot write {error.filename or output}: {error.strerror}; give a new folder"
        ) from None
    return len(ordered)


def _list_of(folder: Path) -> tuple[Path, Tracer]:
    for tracer in tracers().values():
        if (path := folder / tracer.list_name).is_file():
            return path, tracer
    names = " and ".join(f"no {tracer.list_name}" for tracer in tracers().values())
    raise TraceError(f"{folder}: {names}; give the folder of one tracer run, post-processed")


def _copies_before(positions: Sequence[int], launches: int) -> list[int]:
    """Number of copies before each launch of a list; `positions`: place of each copy among all commands.

    >>> _copies_before([0, 2], 2)
    [1, 2]
    """
    copies, before = set(positions), []
    seen = 0
    for command in range(len(positions) + launches):
        if command in copies:
            seen += 1
        else:
            before.append(seen)
    return before


def _write(
    output: Path, launches: Sequence[_Launch], copies: Sequence[tuple[int, ...]], lists: Sequence[Path], tracer: Tracer
) -> None:
    output.mkdir(parents=True, exist_ok=True)
    entries = []
    for launch in launches:
        target, line = tracer.list_entry(launch.path)
        link(target, output / target.name)
        entries.append(line)
    before = [launch.copies for launch in launches]
    lines = [*tracer.list_head, *_with_copies(entries, before, copies)]
    for name in tracer.beside_list:
        if (lists[0].parent / name).is_file():
            link(lists[0].parent / name, output / name)
    with replacing(output / lists[0].name) as file:
        file.write(os.fsencode("\n".join(lines) + "\n"))


def _with_copies(entries: Iterable[str], before: Iterable[int], copies: Sequence[tuple[int, ...]]) -> Iterator[str]:
    """Lines of a list: each launch after the copies that precede it, then the remaining copies."""
    done = 0
    for line, count in zip(entries, before, strict=True):
        for address, size in copies[done:count]:
            yield f"MemcpyHtoD,0x{address:016x},{size}"
        done = max(done, count)
        yield line
    for address, size in copies[done:]:
        yield f"MemcpyHtoD,0x{address:016x},{size}"


def command_lines(
    head: Sequence[str], copies: np.ndarray, entries: Sequence[str], launches: np.ndarray
) -> Iterator[str]:
    """Lines of a list in which launches of another stand in a given order, any number of times.

    Args:
        copies: of the other list, as Program.copies; entries: the line of each of its launches.
        launches: int64 [N], its launches.

    >>> list(command_lines((), np.array([[0, 16, 8], [2, 32, 8]]), ["a", "b"], np.array([0, 1, 0])))
    ['MemcpyHtoD,0x0000000000000010,8', 'a', 'MemcpyHtoD,0x0000000000000020,8', 'b', 'a']
    """
    before = _copies_before(copies[:, 0].tolist(), len(entries))
    yield from head
    order = launches.tolist()
    rows = [tuple(row) for row in copies[:, 1:].tolist()]
    yield from _with_copies((entries[row] for row in order), (before[row] for row in order), rows)


def link(target: Path, place: Path) -> None:
    """A relative link, so that the folder of a selection may move as a whole; an equal one may be there."""
    text = os.path.relpath(target.resolve(), place.parent.resolve())
    if place.is_symlink() and os.readlink(place) == text:
        return
    place.symlink_to(text)

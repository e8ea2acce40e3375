"""The traces of several tracer runs of one program as one list."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelpoint.errors import ConfigError, TraceError
from kernelpoint.files import replacing
from kernelpoint.selection.census import tracers
from kernelpoint.simulators import Tracer
from kernelpoint.traces import read_trace_list


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
    found = [_list_of(folder) for folder in folders]
    lists, tracer = [path for path, _ in found], found[0][1]
    if len({path.name for path in lists}) > 1:
        raise ConfigError(
            f"{lists[0].name} and {lists[-1].name} are lists of two simulators; join lists of one simulator"
        )
    read = [read_trace_list(path) for path in lists]
    copies = [[tuple(row) for row in each.copies[:, 1:].tolist()] for each in read]
    for path, own in zip(lists, copies, strict=True):
        if own != copies[0]:
            raise TraceError(
                f"{path}: its {len(own):,} copies from the host are not those of {lists[0]} ({len(copies[0]):,}): the program "
                "ran differently, so the traces do not belong together"
            )
    launches: dict[int, _Launch] = {}
    for path, each in zip(lists, read, strict=True):
        positions = each.copies[:, 0].tolist()
        before = _copies_before(positions, len(each.paths))
        for number, count, trace in zip(each.numbers.tolist(), before, each.paths, strict=True):
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
    """Copies that come before each launch; positions: of the copies among all commands.

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
    lines = [*tracer.list_head]
    done = 0
    for launch in launches:
        while done < launch.copies:
            lines.append(f"MemcpyHtoD,0x{copies[done][0]:016x},{copies[done][1]}")
            done += 1
        target, line = tracer.list_entry(launch.path)
        _link(target, output / target.name)
        lines.append(line)
    lines += [f"MemcpyHtoD,0x{address:016x},{size}" for address, size in copies[done:]]
    for name in tracer.beside_list:
        if (lists[0].parent / name).is_file():
            _link(lists[0].parent / name, output / name)
    with replacing(output / lists[0].name) as file:
        file.write(os.fsencode("\n".join(lines) + "\n"))


def _link(target: Path, link: Path) -> None:
    """A relative link, so that the folder of a selection may move as a whole; an equal one may be there."""
    text = os.path.relpath(target.resolve(), link.parent.resolve())
    if link.is_symlink() and os.readlink(link) == text:
        return
    link.symlink_to(text)

"""The traces of several tracer runs of one program as one list."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelpoint.errors import ConfigError, TraceError
from kernelpoint.files import replacing
from kernelpoint.traces import read_trace_list

ACCELSIM, MACSIM = "kernelslist.g", "kernel_config.txt"
BESIDE = ("kernel_names.txt",)  # of MacSim's tracer: names and shapes of all launches


@dataclass(frozen=True)
class _Launch:
    number: int
    copies: int  # that come before it
    path: Path


def join_lists(folders: Sequence[Path], output: Path) -> int:
    """Write one trace list in `output`, with links to the traces of all `folders`; the number of launches.

    Launches stand in the order of the tracer's numbers. Accel-Sim's tracer keeps every copy from the host in each of its
    lists, so the copies of one list, and where a launch stands among them, are those of all.

    Args:
        folders: each holds a list of one tracer run, all of the same CUDA context.
        output: a folder, made where missing.

    Raises:
        TraceError: a folder has no list, lists differ in their copies, or a launch was traced in two runs.
        ConfigError: lists of both simulators, or `output` cannot be written.
    """
    lists = [_list_of(folder) for folder in folders]
    if len({path.name for path in lists}) > 1:
        raise ConfigError(
            f"{lists[0].name} and {lists[-1].name} are lists of two simulators; join lists of one simulator"
        )
    is_macsim = lists[0].name == MACSIM
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
        _write(output, ordered, copies[0], lists, is_macsim)
    except OSError as error:
        raise ConfigError(
            f"--output: cannot write {error.filename or output}: {error.strerror}; give a new folder"
        ) from None
    return len(ordered)


def _list_of(folder: Path) -> Path:
    for name in (ACCELSIM, MACSIM):
        if (folder / name).is_file():
            return folder / name
    raise TraceError(f"{folder}: no {ACCELSIM} and no {MACSIM}; give the folder of one tracer run, post-processed")


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
    output: Path, launches: Sequence[_Launch], copies: Sequence[tuple[int, ...]], lists: Sequence[Path], macsim: bool
) -> None:
    output.mkdir(parents=True, exist_ok=True)
    lines = ["nvbit", "14", "-1"] if macsim else []
    done = 0
    for launch in launches:
        while done < launch.copies:
            lines.append(f"MemcpyHtoD,0x{copies[done][0]:016x},{copies[done][1]}")
            done += 1
        target = launch.path.parent if macsim else launch.path
        _link(target, output / target.name)
        lines.append(f"./{target.name}/trace.txt" if macsim else target.name)
    lines += [f"MemcpyHtoD,0x{address:016x},{size}" for address, size in copies[done:]]
    for name in BESIDE if macsim else ():
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

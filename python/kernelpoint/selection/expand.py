"""Trace lists of programs with repetition: each traced launch as often as it ran."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from kernelpoint.errors import ConfigError, TraceError
from kernelpoint.files import replacing
from kernelpoint.program import Program
from kernelpoint.selection.join import command_lines, link
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
    """The line of each launch of the source; with a folder for links, a link to its trace there."""
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

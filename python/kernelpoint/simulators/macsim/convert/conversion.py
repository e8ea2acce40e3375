"""Accel-Sim traces as traces of MacSim's NVBit front end.

The layout is the one that MacSim's public tracer writes and its simulator reads (trace version 14): ``kernel_config.txt``
lists the launches in order, ``kernel_names.txt`` describes each, and ``Kernel<N>/`` contains one launch: ``trace.txt``,
``trace_info.txt`` and a gzip file of 64-byte records for each warp. plugin/simulators/macsim/convert/convert.cc lists the
fields of a record and the losses; opcodes that MacSim has no number for are listed in the result.
"""

from __future__ import annotations

import os
import resource
import shutil
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kernelpoint import _native
from kernelpoint.errors import TraceError
from kernelpoint.files import write_output
from kernelpoint.simulators import ConversionProgress
from kernelpoint.simulators.macsim.convert.layout import Placement, place
from kernelpoint.traces import launch_paths

# zlib's fastest: 6 makes the files of a synthesised transformer 38 % smaller and takes three times the processor time.
LEVEL = 1
OTHER_FILES = 32  # that MacSim has open besides those of warps


@dataclass(frozen=True)
class Conversion:
    """Counts of a finished conversion: files, launches, approximations.

    Attributes:
        launches: in the list.
        folders: launches written; the others share one of these.
        warps: files of warps.
        records: in them.
        most_warps: of one launch: MacSim opens a file for each warp that is on a core, so never more than these.
        without_lanes: instructions left out, because no lane executed them.
        approximated: opcode -> instructions written as the nearest opcode that MacSim has a number for.

    >>> done = convert_to_macsim("traces/kernelslist.g", "converted")
    >>> done.launches, done.records > 0
    (6, True)
    """

    launches: int
    folders: int
    warps: int
    records: int
    most_warps: int
    without_lanes: int
    approximated: dict[str, int]

    def sentences(self, output: Path) -> list[str]:
        """Lines for the user: written files, approximations, and how many files MacSim will keep open."""
        limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        lines = [
            f"{output / 'kernel_config.txt'}: {self.launches:,} launches in {self.folders:,} folders, {self.warps:,} warps, "
            f"{self.records:,} records"
        ]
        if self.approximated:
            counts = ", ".join(f"{opcode} ({count:,})" for opcode, count in self.approximated.items())
            lines.append(f"MacSim has no number for these opcodes; the nearest it has stand for them: {counts}")
        lines.append(
            f"MacSim opens a file for each warp that is on a core: at most {self.most_warps:,} at once here, the limit of "
            f"this shell is {limit:,}"
        )
        if self.most_warps + OTHER_FILES > limit:
            lines.append(f"before running MacSim: ulimit -n {self.most_warps + OTHER_FILES}")
        return lines


def convert_to_macsim(
    source: str | os.PathLike[str],
    output: str | os.PathLike[str],
    level: int = LEVEL,
    threads: int | None = None,
    progress: ConversionProgress = lambda stage, done, total: None,
) -> Conversion:
    """Convert a list of Accel-Sim traces into MacSim's layout.

    Launches with equal files share a folder. All is written beside `output` and gets its name when it is whole. What an
    interrupted conversion (Ctrl-C, or killed) leaves there, the next one removes.

    Args:
        source: a kernelslist.g, or a folder of kernel-N.traceg files.
        output: a new or empty folder.
        level: of gzip, 1 (fastest) to 9.
        threads: by default as many as this process may use; the files do not depend on it.
        progress: called with ("reading" or "writing", done, of how many).

    Raises:
        TraceError: a trace cannot be used or is more than MacSim can number, a file cannot be written, or the folder is not
            empty.

    Example:
        >>> convert_to_macsim("no-such-list.g", "converted")
        Traceback (most recent call last):
        kernelpoint.errors.TraceError: no-such-list.g: cannot be opened: No such file or directory
    """
    if not 1 <= level <= 9:
        raise TraceError(f"the level of compression is {level}; allowed: 1 to 9")
    source, output = Path(source), Path(output)
    paths = launch_paths(source)
    if _native.trace_format(paths[0]) == "macsim":
        raise TraceError(f"{source}: expected a list of Accel-Sim traces, found one of MacSim's")
    try:
        if output.exists() and (entry := next(output.iterdir(), None)) is not None:
            raise TraceError(f"{output}: expected a new or empty folder, found {entry.name}")
        unfinished = output.with_name(f".{output.name}.unfinished")
        if unfinished.exists():
            shutil.rmtree(unfinished)
        unfinished.mkdir(parents=True)
        with _pool(threads) as (pool, stop):
            digests = _read(pool, stop, paths, progress)
            placements = place(digests)
            _write(pool, stop, paths, placements, unfinished, level, progress)
        _write_lists(unfinished, digests, placements)
        unfinished.rename(output)
    except OSError as error:
        raise TraceError(f"{error.filename or output}: cannot be made or read: {error.strerror}") from error
    return _summary(digests, placements)


@contextmanager
def _pool(threads: int | None) -> Iterator[tuple[ThreadPoolExecutor, _native.macsim.StopFlag]]:
    """Threads that give up soon when the caller is interrupted."""
    stop = _native.macsim.StopFlag()
    pool = ThreadPoolExecutor(threads or len(os.sched_getaffinity(0)))
    try:
        yield pool, stop
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)


def _read(
    pool: ThreadPoolExecutor, stop: _native.macsim.StopFlag, paths: Sequence[str], progress: ConversionProgress
) -> list[_native.macsim.Digest]:
    """The digest of every launch; launches of one kernel with equal files share the object, so that memory stays small."""
    distinct = list(dict.fromkeys(paths))
    futures = deque(pool.submit(_native.macsim.digest, path, stop) for path in distinct)
    digest_of_file: dict[tuple[str, str], _native.macsim.Digest] = {}
    digests: dict[str, _native.macsim.Digest] = {}
    for path in distinct:
        progress("reading", len(digests), len(distinct))
        digest = futures.popleft().result()
        digests[path] = digest_of_file.setdefault((digest.content, digest.header.kernel_name), digest)
    progress("reading", len(distinct), len(distinct))
    return [digests[path] for path in paths]


def _write(
    pool: ThreadPoolExecutor,
    stop: _native.macsim.StopFlag,
    paths: Sequence[str],
    placements: Sequence[Placement],
    output: Path,
    level: int,
    progress: ConversionProgress,
) -> None:
    """Every launch that has a folder of its own."""

    def write(launch: int) -> None:
        folder = output / f"Kernel{launch}"
        folder.mkdir()
        _native.macsim.write(paths[launch], str(folder), placements[launch].code_base, level, stop)

    written = [launch for launch, placement in enumerate(placements) if placement.folder == launch]
    for done, future in enumerate([pool.submit(write, launch) for launch in written]):
        progress("writing", done, len(written))
        future.result()
    progress("writing", len(written), len(written))


def _write_lists(output: Path, digests: Sequence[_native.macsim.Digest], placements: Sequence[Placement]) -> None:
    names = []
    for launch, digest in enumerate(digests):
        header = digest.header
        grid, block = (", ".join(map(str, size)) for size in (header.grid, header.block))
        names.append(
            f"Kernel{launch} name: {header.kernel_name}\n"
            f"  Grid size: ({grid}), Block size: ({block}), maxBlockPerCore: {digest.ctas_per_core}, "
            f"# of regs: {header.registers}, static shared mem: {header.shared_memory}, dynamic shared mem: 0\n"
        )
    write_output(output / "kernel_names.txt", "".join(names))
    lines = ["nvbit", "14", "-1", *(f"./Kernel{placement.folder}/trace.txt" for placement in placements)]
    write_output(output / "kernel_config.txt", "\n".join(lines) + "\n")


def _summary(digests: Sequence[_native.macsim.Digest], placements: Sequence[Placement]) -> Conversion:
    folder_digests = [digests[launch] for launch, placement in enumerate(placements) if placement.folder == launch]
    approximated: Counter[str] = Counter()
    for digest in folder_digests:
        approximated.update(digest.approximated)
    return Conversion(
        launches=len(digests),
        folders=len(folder_digests),
        warps=sum(digest.warps for digest in folder_digests),
        records=sum(digest.records for digest in folder_digests),
        most_warps=max(digest.warps for digest in folder_digests),
        without_lanes=sum(digest.without_lanes for digest in folder_digests),
        approximated=dict(sorted(approximated.items())),
    )

"""Accel-Sim traces as traces of MacSim's NVBit front end.

The layout is the one that MacSim's public tracer writes and its simulator reads (trace version 14): ``kernel_config.txt``
lists the launches in order, ``kernel_names.txt`` describes each, and ``Kernel<N>/`` contains one launch: ``trace.txt``,
``trace_info.txt`` and a gzip file of 64-byte records for each warp. plugin/simulators/macsim/convert/convert.cc lists the
fields of a record and the losses; opcodes that MacSim has no number for are listed in the result.

MacSim decodes an instruction once for each PC of an application, so code of different kernels must not share PCs, and
launches of one kernel should, as on hardware, or the instruction cache would see new code at each of them.
"""

from __future__ import annotations

import gzip
import os
import resource
import shutil
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kernelpoint import _native
from kernelpoint.errors import TraceError
from kernelpoint.files import open_output_bytes, write_output
from kernelpoint.simulators import ConversionProgress
from kernelpoint.traces import read_trace_list

# zlib's fastest: 6 makes the files of a synthesised transformer 38 % smaller and takes three times the processor time.
LEVEL = 1
OTHER_FILES = 32  # that MacSim has open besides those of warps
FIRST_CODE = 0x7F00_0000_0000  # address of code in real traces
RECORD_BYTES = 64
Check = Callable[[], None]  # called now and then during long work; an exception ends it


@dataclass(frozen=True)
class Conversion:
    """Counts of a conversion of traces for MacSim.

    Attributes:
        launches: number of launches in the list.
        folders: number of folders written; launches with equal files share a folder.
        warps: number of files, one for each warp.
        records: number of instructions in these files.
        most_warps: largest number of warps of a launch, and so of files that MacSim holds open.
        without_lanes: number of instructions left out because no lane executed them.
        approximated: for each opcode that MacSim lacks, the number of instructions written with the nearest opcode.

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
        """Lines for the user: files written, approximations, and the number of files that MacSim will hold open."""
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
    """Convert Accel-Sim traces into the file layout that MacSim reads.

    Launches with equal files share a folder. The output appears when it is complete. Remains of an interrupted conversion are
    removed by the next one.

    Args:
        source: a kernelslist.g, or a folder of kernel-N.traceg files.
        output: a new or empty folder.
        level: level of gzip compression, 1 (fastest) to 9.
        threads: number of threads; by default as many as this process may use. The files do not depend on it.
        progress: function called with the stage ("reading" or "writing"), the launches done, and the number of launches.

    Raises:
        TraceError: a trace cannot be used or exceeds MacSim's limits, a file cannot be written, or the folder is not empty.

    Example:
        >>> convert_to_macsim("no-such-list.g", "converted")
        Traceback (most recent call last):
        kernelpoint.errors.TraceError: no-such-list.g: cannot be opened: No such file or directory
    """
    if not 1 <= level <= 9:
        raise TraceError(f"level: got {level}; allowed: compression levels 1 to 9")
    source, output = Path(source), Path(output)
    paths = read_trace_list(source).traces
    if _native.trace_format(paths[0]) == "macsim":
        raise TraceError(f"{source}: expected a list of Accel-Sim traces, found one of MacSim's")
    try:
        if output.exists() and (entry := next(output.iterdir(), None)) is not None:
            raise TraceError(f"{output}: expected a new or empty folder, found {entry.name}")
        unfinished = output.with_name(f".{output.name}.unfinished")
        if unfinished.exists():
            shutil.rmtree(unfinished)
        unfinished.mkdir(parents=True)
        with _pool(threads) as (pool, check):
            digests = _read(pool, check, paths, progress)
            placements = place(digests)
            _write(pool, check, paths, digests, placements, unfinished, level, progress)
        _write_lists(unfinished, digests, placements)
        unfinished.rename(output)
    except OSError as error:
        raise TraceError(f"{error.filename or output}: cannot be made or read: {error.strerror}") from error
    return _summary(digests, placements)


@contextmanager
def _pool(threads: int | None) -> Iterator[tuple[ThreadPoolExecutor, Check]]:
    """Pool of threads that stop soon when the caller is interrupted."""
    stop = threading.Event()

    def check() -> None:
        if stop.is_set():
            raise CancelledError

    pool = ThreadPoolExecutor(threads or len(os.sched_getaffinity(0)))
    try:
        yield pool, check
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)


def _read(
    pool: ThreadPoolExecutor, check: Check, paths: Sequence[str], progress: ConversionProgress
) -> list[_native.macsim.Digest]:
    """The digest of every launch; launches of one kernel with equal files share the object, so that memory stays small."""
    distinct = list(dict.fromkeys(paths))
    futures = deque(pool.submit(_native.macsim.digest, path, check) for path in distinct)
    digest_of_file: dict[tuple[str, str], _native.macsim.Digest] = {}
    digests: dict[str, _native.macsim.Digest] = {}
    for path in distinct:
        progress("reading", len(digests), len(distinct))
        digest = futures.popleft().result()
        digests[path] = digest_of_file.setdefault((digest.content, digest.header.kernel_name), digest)
    progress("reading", len(distinct), len(distinct))
    return [digests[path] for path in paths]


class Placement(NamedTuple):
    """Place of one launch in a list converted for MacSim.

    Attributes:
        folder: number N of its folder ``Kernel<N>``: the launch's index, or that of an earlier launch with equal files.
        code_base: address of the first instruction of its kernel.
    """

    folder: int
    code_base: int


class _Code:
    """Instructions at each program counter of one kernel."""

    def __init__(self, base: int) -> None:
        self.base = base
        self._hashes: dict[int, int] = {}

    def take(self, instructions: dict[int, int]) -> bool:
        """Add a launch's instructions (PC -> hash) unless one contradicts those that are known."""
        if any(self._hashes.get(pc, digest) != digest for pc, digest in instructions.items()):
            return False
        self._hashes |= instructions
        return True


def place(digests: Sequence[_native.macsim.Digest]) -> list[Placement]:
    """Choose a folder and a code address for every launch of a list converted for MacSim.

    ``Model:`` launches whose kernels have equal names run the same code, unless the traces have different instructions at one
    PC. Then they are different functions of that name (from several libraries of one process).
    """
    codes: dict[str, list[_Code]] = {}
    folders: dict[tuple[str, int], int] = {}
    base_of_digest: dict[int, int] = {}  # id of a digest -> code base: launches of one trace share the object
    bases = 0
    placements = []
    for launch, digest in enumerate(digests):
        if id(digest) not in base_of_digest:
            table: np.ndarray = digest.instructions
            instructions = dict(zip(table["pc"].tolist(), table["hash"].tolist(), strict=True))
            same_name = codes.setdefault(digest.header.kernel_name, [])
            code = next((code for code in same_name if code.take(instructions)), None)
            if code is None:
                code = _Code(FIRST_CODE + bases * _native.macsim.CODE_SIZE)
                code.take(instructions)
                same_name.append(code)
                bases += 1
            base_of_digest[id(digest)] = code.base
        base = base_of_digest[id(digest)]
        placements.append(Placement(folders.setdefault((digest.content, base), launch), base))
    return placements


def _write(
    pool: ThreadPoolExecutor,
    check: Check,
    paths: Sequence[str],
    digests: Sequence[_native.macsim.Digest],
    placements: Sequence[Placement],
    output: Path,
    level: int,
    progress: ConversionProgress,
) -> None:
    """Write every launch that has a folder of its own."""

    def write(launch: int) -> None:
        folder = output / f"Kernel{launch}"
        folder.mkdir()
        counts: dict[int, int] = {}

        def put(name: str, content: bytes) -> None:
            with open_output_bytes(folder / name) as file:
                file.write(content)

        def take(warp: int, records: bytes) -> None:
            counts[warp] = len(records) // RECORD_BYTES
            put(f"trace_{warp}.raw", gzip.compress(records, level, mtime=0))

        _native.macsim.each_warp(paths[launch], placements[launch].code_base, check, take)
        warps = sorted(counts)  # MacSim counts the warps of a CTA by those of CTA 0 at the beginning
        put("trace_info.txt", "".join(f"{warp} {counts[warp]}\n" for warp in warps).encode())
        lines = ["nvbit", "14", f"{digests[launch].ctas_per_core}", f"{len(warps)}", *(f"{warp} 0" for warp in warps)]
        put("trace.txt", ("\n".join(lines) + "\n").encode())

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

"""Writes a sequence of launches as Accel-Sim traces: kernel-N.traceg or .tracez, kernelslist.g and workload.json."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from types import TracebackType

from kernelpoint.errors import SetupError
from kernelpoint.files import open_output, open_output_bytes
from kernelpoint_lab.synth.launch import Launch
from kernelpoint_lab.synth.machine import Warps
from kernelpoint_lab.synth.values import ValuedWarps

LINES_PER_FRAME = 2048  # as Accel-Sim's post-processing
DICTIONARY_SIZE, SAMPLE_BYTES, SAMPLE_STEP = 64 << 10, 1 << 20, 8
LEVEL = 3
Place = tuple[int, int, int]


class TracezWriter:
    """Writer of one `.tracez` file: CTAs are added in order, and closing the file writes its index.

    The dictionary is trained on lines of the first CTAs, as Accel-Sim's post-processing does; traces with too few lines
    go without one.

    Args:
        path: the file.
        header: the text before the first CTA, as in a .traceg.
        lines: lines of the first CTAs, for training the dictionary.

    Example:
        >>> import tempfile
        >>> from kernelpoint.traces import read_header
        >>> header = (
        ...     "-kernel name = k\\n-kernel id = 1\\n-grid dim = (1,1,1)\\n-block dim = (32,1,1)\\n-shmem = 0\\n-nregs = 16\\n"
        ...     "-binary version = 90\\n-accelsim tracer version = 6\\n#traces format\\n"
        ... )
        >>> path = Path(tempfile.mkdtemp()) / "kernel-1.tracez"
        >>> with TracezWriter(path, header, []) as writer:
        ...     writer.add_cta((0, 0, 0), ["0000 ffffffff 0 EXIT 0 0 0 NoVal\\n"])
        >>> read_header(path).tracer_version
        6
    """

    def __init__(self, path: Path, header: str, lines: Sequence[str]) -> None:
        self._dictionary, self._compress = _compression(_samples(lines))
        self._file = open_output_bytes(path)
        self._file.write(header.encode("ascii") + b"\0" + struct.pack("<II", len(self._dictionary), LINES_PER_FRAME))
        self._file.write(self._dictionary)
        self._index = bytearray()
        self._ctas = 0
        self.size = 0

    def __enter__(self) -> TracezWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        if kind is None:
            self._finish()
        self._file.close()

    def add_cta(
        self, index: Place, warps: Sequence[str], cluster: Place = (0, 0, 0), place: Place = (0, 0, 0), rank: int = 0
    ) -> None:
        """Add a CTA, given the instruction lines of each of its warps; `place` and `rank` are those in its cluster."""
        self._index += struct.pack("<11I", *index, *cluster, *place, rank, len(warps))
        for text in warps:
            self._add_warp(text.splitlines())
        self._ctas += 1

    def _add_warp(self, lines: list[str]) -> None:
        chunks = [lines[i : i + LINES_PER_FRAME] for i in range(0, len(lines), LINES_PER_FRAME)]
        self._index += struct.pack("<IIQ", len(lines), len(chunks), self._file.tell())
        self._index += struct.pack(f"<{len(chunks)}I", *map(len, chunks))
        self._file.write(struct.pack("<II", len(lines), len(chunks)))
        for chunk in chunks:
            frame = self._compress("\n".join(chunk).encode("ascii"))
            self._file.write(struct.pack("<I", len(frame)) + frame)

    def _finish(self) -> None:
        offset = self._file.tell()
        self._file.write(struct.pack("<I", self._ctas) + self._index + struct.pack("<Q", offset))
        self.size = self._file.tell()


def _compression(samples: Sequence[bytes]) -> tuple[bytes, Callable[[bytes], bytes]]:
    """Train a compression dictionary on sample lines (empty if there are too few); returns it with the function that
    compresses a frame.
    """
    try:
        import zstandard  # of the extra "formats"
    except ImportError:
        raise SetupError("--format tracez needs the package zstandard; pip install '.[formats]'") from None
    try:
        trained = zstandard.train_dictionary(DICTIONARY_SIZE, list(samples))
    except (zstandard.ZstdError, ValueError):
        return b"", zstandard.ZstdCompressor(LEVEL).compress
    return trained.as_bytes(), zstandard.ZstdCompressor(LEVEL, trained).compress


def _samples(lines: Sequence[str]) -> list[bytes]:
    samples, size = [], 0
    for line in lines[::SAMPLE_STEP]:
        samples.append(line.encode("ascii"))
        size += len(line)
        if size >= SAMPLE_BYTES:
            break
    return samples


WARPS_AT_ONCE = 1024
TRACER_VERSIONS = (3, 4, 5, 6)
_FORMAT = (
    "#traces format = threadblock_x threadblock_y threadblock_z warpid_tb PC mask dest_num [reg_dests] opcode src_num "
    "[reg_srcs] mem_width [adrrescompress?] [mem_addresses]"
)


# Fields behind the operands of a line: from version 5 on an immediate, in version 6 two and `NoVal` (`Val`: values.py).
TAILS = {3: "", 4: "", 5: "0 ", 6: "0 0 NoVal "}
NVBIT = {3: "1.5.3", 4: "1.5.3", 5: "1.7", 6: "1.8"}
# Model: no clusters, as in traces of GPUs before compute capability 9.0.
_CLUSTER = "cluster id = 0,0,0\ncluster cta = 0,0,0\ncluster rank = 0\n"


Parts = Iterator[tuple[Warps, list[str]]]


@dataclass(frozen=True)
class Written:
    """A trace file and its content; one entry of workload.json's `launches`."""

    file: str
    family: str
    kernel: str
    label: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    warp_instructions: int
    thread_instructions: int
    bytes: int


def header(launch: Launch, number: int, registers: int, version: int) -> str:
    """The header of a trace file, as the tracer of that version writes it."""
    x, y, z = launch.grid
    bx, by, bz = launch.block
    lines = [
        f"kernel name = {launch.kernel}",
        f"kernel id = {number}",
        f"grid dim = ({x},{y},{z})",
        f"block dim = ({bx},{by},{bz})",
        f"shmem = {launch.shared}",
        f"nregs = {max(registers, 16)}",
        "binary version = 70",
        "cuda stream id = 0",
        "shmem base_addr = 0x00007f2000000000",
        "local mem base_addr = 0x00007f1e00000000",
        f"nvbit version = {NVBIT[version]}",
        f"accelsim tracer version = {version}",
    ]
    if version >= 4:
        lines.append("enable lineinfo = 0")
    return "".join(f"-{line}\n" for line in lines) + f"\n{_FORMAT}\n\n\n\n"


def write_trace(launch: Launch, path: Path, number: int, version: int = 3, values: int | None = None) -> Written:
    """Write the trace of one launch, some CTAs at a time; returns its content. The suffix .tracez chooses that format.

    Args:
        launch: launch to write.
        path: the file.
        number: kernel id.
        version: tracer version.
        values: seed of the operand values, for version 6; None writes none.
    """
    counts = [0, 0]

    def parts() -> Iterator[tuple[Warps, list[str]]]:
        step = max(1, WARPS_AT_ONCE // launch.warps_per_cta)
        for first in range(0, launch.ctas, step):
            last = min(first + step, launch.ctas)
            warps = Warps(launch, first, last, TAILS[version])
            if values is not None:
                warps = ValuedWarps(launch, first, last, values)
            launch.program(warps)
            yield warps, warps.finish()
            counts[0] += int(warps.instructions.sum())
            counts[1] += warps.lanes

    write = _write_tracez if path.suffix == ".tracez" else _write_text
    size = write(launch, path, number, version, parts())
    return Written(
        path.name, launch.family, launch.kernel, launch.label, launch.grid, launch.block, counts[0], counts[1], size,
    )  # fmt: skip


def _write_text(launch: Launch, path: Path, number: int, version: int, parts: Parts) -> int:
    with open_output(path) as file:
        for first, (warps, texts) in enumerate(parts):
            if first == 0:
                file.write(header(launch, number, warps.registers.used, version))
            file.write(_ctas(launch, warps, texts, _CLUSTER if version >= 6 else ""))
        return file.tell()


def _write_tracez(launch: Launch, path: Path, number: int, version: int, parts: Parts) -> int:
    first_warps, first_texts = next(parts)
    top = header(launch, number, first_warps.registers.used, version)
    lines = [line for text in first_texts for line in text.splitlines()]
    with TracezWriter(path, top, lines) as writer:
        for warps, texts in chain([(first_warps, first_texts)], parts):
            per_cta = launch.warps_per_cta
            for cta, place in enumerate(_places(launch, warps)):
                writer.add_cta(place, texts[cta * per_cta : (cta + 1) * per_cta])
    return writer.size


def _places(launch: Launch, warps: Warps) -> list[tuple[int, int, int]]:
    step = launch.warps_per_cta
    columns = (warps.cta_x[::step, 0].tolist(), warps.cta_y[::step, 0].tolist(), warps.cta_z[::step, 0].tolist())
    return list(zip(*columns, strict=True))


def _ctas(launch: Launch, warps: Warps, texts: list[str], cluster: str) -> str:
    pieces = []
    per_cta = launch.warps_per_cta
    counts = warps.instructions.tolist()
    for cta, (x, y, z) in enumerate(_places(launch, warps)):
        pieces.append(f"#BEGIN_TB\n\nthread block = {x},{y},{z}\n{cluster}\n")
        for warp in range(per_cta):
            row = cta * per_cta + warp
            pieces.append(f"warp = {warp}\ninsts = {counts[row]}\n{texts[row]}\n")
        pieces.append("#END_TB\n\n")
    return "".join(pieces)

"""Writes Accel-Sim's compressed traces (.tracez): header, dictionary, frames of instruction lines, index."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType

from kernelpoint.errors import SetupError
from kernelpoint.files import open_output_bytes

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
        lines: of the first CTAs, to train on.

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

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
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

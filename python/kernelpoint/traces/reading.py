"""Reading of trace files that the cache does not know: here, or by a pool of workers."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter

import numpy as np

from kernelpoint import _native
from kernelpoint.pool import Pool, pieces_of
from kernelpoint.traces.cache import TraceCache
from kernelpoint.traces.cache_records import COUNTS, RECORD
from kernelpoint.traces.scan import LaunchShape, shape_from_native

_counts = attrgetter(*COUNTS)
CHUNK = 1024  # traces read here before what they showed is written to the cache
MOST_FILES, MOST_BYTES = 256, 32 << 20  # of a piece that one worker reads

Log = Callable[[str], None]
Progress = Callable[[int, int], None]


@dataclass
class Chunk:
    """Content of some traces, by position.

    Attributes:
        records: of cache.RECORD, zeros where a trace cannot be used.
        shapes: None there.
        errors: reason for each failure.
        opcodes: warp instructions of opcodes that are in no table.
        store_data: instructions whose STORE_DATA fields were left out.
    """

    records: np.ndarray
    shapes: list[LaunchShape | None] = field(default_factory=list)
    errors: dict[int, str] = field(default_factory=dict)
    opcodes: Counter[str] = field(default_factory=Counter)
    store_data: int = 0


def read_chunk(files: Sequence[str], threads: int = 1, report: Callable[[int], None] | None = None) -> Chunk:
    """Read traces. report: called with how many are read, a few times a second, and may raise to stop."""
    chunk = Chunk(np.zeros(len(files), dtype=RECORD))
    known: dict[LaunchShape, LaunchShape] = {}  # equal shapes travel once between workers
    for i, scan in enumerate(_native.scan_many(list(files), threads, report)):
        if isinstance(scan, str):
            chunk.errors[i] = scan
            chunk.shapes.append(None)
            continue
        hashes = bytes.fromhex(scan.stream), bytes.fromhex(scan.values)
        chunk.records[i] = *hashes, _counts(scan.work), scan.work.by_unit
        shape = shape_from_native(scan.header)
        chunk.shapes.append(known.setdefault(shape, shape))
        if scan.unknown_opcodes:
            chunk.opcodes.update(scan.unknown_opcodes)
        chunk.store_data += scan.store_data_left_out
    return chunk


def read_files(
    files: list[str], cache: TraceCache, progress: Progress, threads: int, log: Log, pool: Pool | None
) -> tuple[np.ndarray, list[LaunchShape | None], dict[int, str]]:
    """Record, shape and error of every file; a file has either a shape or an error."""
    stats = _native.stat_many(files, versions=True)
    cached = cache.get_launches(files, stats)
    records, shapes = cached.records, cached.shapes
    errors: dict[int, str] = {}
    missing = np.flatnonzero(~cached.found)
    opcodes: Counter[str] = Counter()
    store_data = 0
    if len(missing):
        records = records.copy()
    for rows, chunk in _chunks(files, missing, stats[:, 0], progress, threads, pool):
        records[rows] = chunk.records
        for row, shape in zip(rows.tolist(), chunk.shapes, strict=True):
            shapes[row] = shape
        errors.update((int(rows[i]), why) for i, why in chunk.errors.items())
        opcodes.update(chunk.opcodes)
        store_data += chunk.store_data
        good = [row for row, shape in zip(rows.tolist(), chunk.shapes, strict=True) if shape is not None]
        known = [shape for shape in chunk.shapes if shape is not None]
        cache.put_launches([files[row] for row in good], stats[good], records[good], known)
    _tell(opcodes, store_data, log)
    return records, shapes, errors


def _chunks(
    files: list[str], missing: np.ndarray, sizes: np.ndarray, progress: Progress, threads: int, pool: Pool | None
) -> Iterator[tuple[np.ndarray, Chunk]]:
    """The rows of each chunk of unread files, with their content."""
    total = len(missing)
    if pool is None:
        for start in range(0, total, CHUNK):
            rows = missing[start : start + CHUNK]
            report = partial(_report, progress, start, total)
            yield rows, read_chunk([files[i] for i in rows], threads, report)
        return
    pieces = [missing[piece.start : piece.stop] for piece in pieces_of(sizes[missing].tolist(), MOST_BYTES, MOST_FILES)]
    done = 0
    for rows, chunk in zip(
        pieces, pool.map(read_chunk, [[os.path.abspath(files[i]) for i in rows] for rows in pieces]), strict=True
    ):
        for i, why in chunk.errors.items():  # told with the path as the list has it
            path = files[rows[i]]
            chunk.errors[i] = why.replace(os.path.abspath(path), path, 1)
        done += len(rows)
        progress(done, total)
        yield rows, chunk


def _report(progress: Progress, before: int, total: int, done: int) -> None:
    progress(before + done, total)


def _tell(opcodes: Counter[str], store_data: int, log: Log) -> None:
    """Report unknown content of traces, once for all that were read."""
    if opcodes:
        names = [f"{name} ({count:,})" for name, count in opcodes.most_common(5)]
        more = f" and {len(opcodes) - 5} more" if len(opcodes) > 5 else ""
        log(
            f"{opcodes.total():,} warp instructions have opcodes that are not known, which count as unit 'other': "
            f"{', '.join(names)}{more}"
        )
    if store_data:
        log(f"the STORE_DATA fields of {store_data:,} instructions were left out: nothing here uses them")

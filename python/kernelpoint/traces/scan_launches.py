"""Reading of every launch of a workload into one table, through the cache."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np

from kernelpoint.pool import Pool
from kernelpoint.traces.cache import TraceCache
from kernelpoint.traces.reading import Log, Progress, read_files
from kernelpoint.traces.scan import LaunchShape
from kernelpoint.traces.scan_table import ScanTable


def scan_launches(
    paths: Sequence[str],
    cache: TraceCache | None = None,
    progress: Progress | None = None,
    log: Log = lambda text: None,
    threads: int | None = None,
    pool: Pool | None = None,
) -> ScanTable:
    """Read the trace of every launch once; unchanged traces that the cache knows are not read again.

    A trace that cannot be used does not stop the others: it is reported in ``errors``. An interrupted scan (Ctrl-C) goes
    on where it stopped, because the cache is filled as it goes.

    Args:
        paths: the launches' traces, as :func:`~kernelpoint.traces.launch_paths` gives them; a file may repeat.
        cache: by default the user's.
        progress: called with (traces read, traces to read) a few times a second, and may raise to stop the scan.
        log: told what is worth knowing about the cache, and which opcodes and fields of the traces are not known.
        threads: by default as many as this process may use; the result does not depend on it.
        pool: workers that read instead; nor does it on them.

    Example:
        >>> import tempfile
        >>> table = scan_launches(["missing.traceg"], cache=TraceCache(tempfile.mkdtemp()))
        >>> table.errors
        {0: 'missing.traceg: cannot be opened: No such file or directory'}
    """
    rows: dict[str, int] = {}
    row_of_launch = np.fromiter((rows.setdefault(path, len(rows)) for path in paths), dtype=np.int32, count=len(paths))
    files = list(rows)
    own_cache = TraceCache(log=log) if cache is None else cache
    try:
        records, shapes, errors = read_files(
            files, own_cache, progress or _quiet, threads or _usable_threads(), log, pool
        )
    finally:
        if cache is None:
            own_cache.close()
    return _table(paths, row_of_launch, records, shapes, errors)


def _table(
    paths: Sequence[str],
    row_of_launch: np.ndarray,
    records: np.ndarray,
    shapes: list[LaunchShape | None],
    errors: dict[int, str],
) -> ScanTable:
    streams = records["stream"].tolist()
    good = [shape is not None for shape in shapes]
    stream_ids, distinct_streams = _intern([s if ok else None for s, ok in zip(streams, good, strict=True)])
    shape_ids, distinct_shapes = _intern(shapes)
    kernel_of_shape, kernel_names = _intern([shape.kernel_name for shape in distinct_shapes])
    kernel_ids = np.where(shape_ids >= 0, np.append(kernel_of_shape, -1)[shape_ids], -1).astype(np.int32)
    values = records["values"]
    return ScanTable(
        stream_ids=stream_ids[row_of_launch],
        shape_ids=shape_ids[row_of_launch],
        kernel_ids=kernel_ids[row_of_launch],
        records=records,
        record_ids=row_of_launch,
        streams=np.array(distinct_streams, dtype="V16"),
        shapes=tuple(distinct_shapes),
        kernel_names=tuple(kernel_names),
        errors={} if not errors else {i: errors[r] for i, r in enumerate(row_of_launch.tolist()) if r in errors},
        paths=paths if isinstance(paths, tuple) else tuple(paths),
        values=values[row_of_launch] if any(values.tobytes()) else values[:0],
    )


def _intern(values: list) -> tuple[np.ndarray, list]:
    """int32 numbers in order of first appearance, -1 for None; and the distinct values."""
    numbers: dict = {}
    ids = [-1 if value is None else numbers.setdefault(value, len(numbers)) for value in values]
    return np.array(ids, dtype=np.int32), list(numbers)


def _usable_threads() -> int:
    return len(os.sched_getaffinity(0))


def _quiet(done: int, total: int) -> None:
    pass

"""Reading of the trace of one launch, and of the traces of a program: each distinct trace once, through the cache."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter
from typing import Any

import numpy as np

from kernelpoint import _native
from kernelpoint.errors import TraceError
from kernelpoint.pool import Pool, pieces_of
from kernelpoint.program import COUNTS, DEFECTS, RECORD, UNKNOWN, Contents, Labels, Program, Remark
from kernelpoint.progress import Log, Progress
from kernelpoint.repeated import Texts
from kernelpoint.traces.cache import ArtefactCache, key_of, opened
from kernelpoint.traces.trace_list import numbers_and_contexts


def read_header(path: str | os.PathLike[str]) -> _native.LaunchHeader:
    """Read only the header of a trace: kernel name and shape of the launch, and data on the tracer.

    Raises:
        TraceError: the header cannot be read.

    >>> header = read_header("traces/kernel-1.traceg")
    >>> header.kernel_name, header.grid, header.block, header.kernel_id
    ('axpy_f32', (8, 1, 1), (256, 1, 1), 1)
    """
    return _native.read_header(os.fspath(path))


def read_labels(traces: Sequence[str]) -> Program:
    """Read kernel names and shapes of launches from the headers of their traces. For an unreadable trace, the name is one that
    no kernel has.

    >>> read_labels(["traces/kernel-1.traceg"]).names[0]
    'axpy_f32'
    """
    texts = Texts.of(traces)
    names, shapes = [], []
    for path in texts.distinct:
        try:
            header = read_header(path)
            names.append(header.kernel_name)
            shapes.append((*header.grid, *header.block, UNKNOWN, UNKNOWN))
        except TraceError:
            names.append(f"unreadable {path}")
            shapes.append((0, 0, 0, 0, 0, 0, UNKNOWN, UNKNOWN))
    labels, of_trace = Labels.of(Texts.of(names), np.array(shapes, dtype=np.int64).reshape(-1, 8))
    label = np.append(of_trace, np.int32(-1))[texts.numbers]
    return Program((len(texts),), labels=labels, label=label, traces=texts)


def scan_trace(path: str | os.PathLike[str]) -> _native.Scan:
    """Read a trace once, without the cache: its header, work, defects, and the hash of its instruction sequence.

    The path of a launch that is stored as a folder is that of the folder's ``trace.txt``. The hash depends on the trace format.

    Raises:
        TraceError: the trace is missing, truncated, damaged or of an unknown tracer version; names file and line.

    Example:
        >>> scan = scan_trace("traces/kernel-1.traceg")
        >>> scan.work.ctas, scan.work.warps, scan.defects.missing_warps, len(scan.stream), scan.unknown_opcodes
        (8, 64, 0, 32, {})
        >>> scan_trace("no-such.traceg")
        Traceback (most recent call last):
        kernelpoint.errors.TraceError: no-such.traceg: cannot be opened: No such file or directory
    """
    return _native.scan(os.fspath(path))


def fields_of(record: Any) -> dict[str, Any]:
    """Fields of an object that the C++ extension returns for a trace (header, work, defects or scan), by name.

    >>> fields_of(scan_trace("traces/kernel-1.traceg").defects)["missing_warps"]
    0
    """
    values = {name: getattr(record, name) for name, kind in vars(type(record)).items() if isinstance(kind, property)}
    return {name: value if type(value).__module__ == "builtins" else fields_of(value) for name, value in values.items()}


# ---- every launch of a program -----------------------------------------------------------------------------------------

CONTENT = f"content {_native.CONTENT_VERSION}"  # kinds of artefacts
SCAN = f"scan {_native.STREAM_HASH_VERSION} {RECORD.itemsize} 3"
CHUNK = 1024  # traces read here before what they show is written to the cache
MOST_FILES, MOST_BYTES = 256, 32 << 20  # of a piece that one worker reads
_NO_CONTENTS = np.zeros((0, 4), dtype=np.uint64)
NO_NUMBER = np.iinfo(np.uint64).max  # as bytes of text: the content of the trace is not compared

# Of the native readers: the system refused a file, or had no memory. Everything else is the content's fault.
_REFUSED = (": cannot be opened: ", ": cannot be read: ", "std::bad_alloc", "std::bad_array_new_length")

Shape = tuple[str, tuple[int, int, int], tuple[int, int, int], int, int]  # name, grid, block, shared memory, registers
Scanned = tuple[bytes, Shape]  # of RECORD
_counts, _defects = attrgetter(*COUNTS), attrgetter(*DEFECTS)


def scan_launches(
    paths: Sequence[str],
    cache: ArtefactCache | None = None,
    progress: Progress | None = None,
    log: Log = lambda text: None,
    threads: int | None = None,
    pool: Pool | None = None,
) -> Program:
    """Read the trace of every launch, and return the program (table of launches) with the trace contents.

    Each file is opened once; equal traces are parsed once, and results in the cache are not read again. An unusable trace does
    not stop the others and is reported in ``errors``. After an interruption (Ctrl-C), the next call continues from the cache.

    Args:
        paths: trace file of each launch; a file may occur more than once.
        cache: cache of earlier results; by default the user's.
        progress: function called with (traces read, traces to read) a few times a second; it may raise an error to stop.
        log: function that receives messages about the cache, and about fields of the traces that were left out.
        threads: number of threads; by default as many as this process may use. The result does not depend on it.
        pool: worker processes that read the traces in place of this process. The result does not depend on them.

    Example:
        >>> import tempfile
        >>> table = scan_launches(["missing.traceg"], cache=ArtefactCache(tempfile.mkdtemp()))
        >>> table.errors
        {0: 'missing.traceg: cannot be opened: No such file or directory'}
    """
    paths = Texts.of(paths)
    if not paths.is_whole:  # a launch without a trace is one whose trace cannot be opened
        numbers = np.where(paths.numbers < 0, len(paths.distinct), paths.numbers).astype(np.int32)
        paths = Texts((*paths.distinct, ""), numbers)
    with opened(cache, log) as cache_in_use:
        reading = _Reading(list(paths.distinct), cache_in_use)
        reading.read(progress or (lambda done, total: None), threads or len(os.sched_getaffinity(0)), pool)
    if reading.store_data:
        log(f"the STORE_DATA fields of {reading.store_data:,} instructions were left out: nothing here uses them")
    return reading.program(paths)


def passing(reasons: Iterable[str]) -> list[str]:
    """Those of the failure reasons that may not recur at another attempt: too many open files, no permission, a failing disk or
    server.

    >>> passing(["a.traceg:7: expected a mask, found 'x'", "b.traceg: cannot be opened: Permission denied"])
    ['b.traceg: cannot be opened: Permission denied']
    """
    return [reason for reason in reasons if any(words in reason for words in _REFUSED)]


def trace_keys(paths: Sequence[str], cache: ArtefactCache) -> list[tuple[str, ...]]:
    """Cache keys of each trace: the key of its file, then the key of its content if the cache has it."""
    files = _file_keys(paths, _native.stat_many(paths))
    contents = cache.get(CONTENT, files, _contents)
    return [
        (key,) if content is None else (key, *_content_keys(content[None]))
        for key, content in zip(files, contents, strict=True)
    ]


@dataclass
class Chunk:
    """Results of reading some traces, in the order of their files.

    Attributes:
        contents: uint64 [n, 4], hash values and size of each content (`Contents.keys`), and the launch's number in the header;
            the last two are NO_NUMBER where they are not known.
        scans: scan of each trace; None if the trace is unusable, or its content was met before.
        errors: reason for each unusable trace.
        store_data: number of instructions whose STORE_DATA fields were left out.
    """

    contents: np.ndarray
    scans: list[Scanned | None] = field(default_factory=list)
    errors: dict[int, str] = field(default_factory=dict)
    store_data: int = 0


def read_chunk(
    files: Sequence[str],
    threads: int = 1,
    met: _native.MetContents | None = None,
    report: Callable[[int], None] | None = None,
) -> Chunk:
    """Read traces, each file once, and parse one trace of each distinct content.

    Args:
        files: trace files.
        threads: number of threads.
        met: contents that are not parsed again; newly parsed contents are added.
        report: function called with the number of traces read, a few times a second; it may raise an error to stop.
    """
    contents, scans = _native.scan_many(list(files), threads, met or _native.MetContents(_NO_CONTENTS), report)
    chunk, record = Chunk(contents), np.zeros(1, dtype=RECORD)
    shapes: dict[Shape, Shape] = {}  # equal shapes travel once between workers
    for i, scan in enumerate(scans):
        if scan is None or isinstance(scan, str):
            chunk.scans.append(None)
            if scan is not None:
                chunk.errors[i] = scan
            continue
        hashes = bytes.fromhex(scan.stream), bytes.fromhex(scan.values)
        defects = _defects(scan.defects), scan.header.binary_version
        record[0] = *hashes, _counts(scan.work), scan.work.by_unit, *defects
        header = scan.header
        shape: Shape = (header.kernel_name, header.grid, header.block, header.shared_memory, header.registers)
        chunk.scans.append((record.tobytes(), shapes.setdefault(shape, shape)))
        chunk.store_data += scan.store_data_left_out
    return chunk


class _Reading:
    """Reading of many trace files: content hash and scan of each, from the cache or from the file."""

    def __init__(self, files: list[str], cache: ArtefactCache) -> None:
        self.files, self._cache = files, cache
        stats = _native.stat_many(files)
        self._sizes, self._keys = stats[:, 0], _file_keys(files, stats)
        # A file whose content is not known counts as unlike every other file.
        numbers = [
            (int(key[:16], 16), int(key[16:], 16), 0, NO_NUMBER) if content is None else content
            for key, content in zip(self._keys, cache.get(CONTENT, self._keys, _contents), strict=True)
        ]
        self.contents = np.array(numbers, dtype=np.uint64).reshape(-1, 4)
        self._errors: dict[str, tuple[str, str]] = {}  # by content: a path to it, and why it cannot be used
        self.store_data = 0  # instructions whose STORE_DATA fields were left out
        keys = list(dict.fromkeys(_content_keys(self.contents)))
        scans = zip(keys, cache.get(SCAN, keys, _scanned), strict=True)
        self._scans: dict[str, Scanned] = {key: scan for key, scan in scans if scan is not None}  # by content

    def read(self, progress: Progress, threads: int, pool: Pool | None) -> None:
        """Read the traces that the cache lacks, each opened once, and store what they show in the cache."""
        missing = np.flatnonzero([key not in self._scans for key in _content_keys(self.contents)])
        total, scanned = len(missing), np.isin(np.arange(len(self.files)), missing, invert=True)
        met = _native.MetContents(self.contents[scanned])

        def report(before: int, done: int) -> None:
            progress(before + done, total)

        if pool is None:
            pieces = [missing[start : start + CHUNK] for start in range(0, total, CHUNK)]
            chunks: Iterable[Chunk] = (
                read_chunk(
                    [self.files[row] for row in piece],
                    threads,
                    met,
                    partial(report, number * CHUNK),
                )
                for number, piece in enumerate(pieces)
            )
        else:
            parts = pieces_of(self._sizes[missing].tolist(), MOST_BYTES, MOST_FILES)
            pieces = [missing[part.start : part.stop] for part in parts]
            chunks = pool.map(read_chunk, [[os.path.abspath(self.files[row]) for row in piece] for piece in pieces])
        done = 0
        for piece, chunk in zip(pieces, chunks, strict=True):
            self._take(piece, chunk)
            done += len(piece)
            progress(done, total)

    def _take(self, rows: np.ndarray, chunk: Chunk) -> None:
        compared = chunk.contents[:, 2] != NO_NUMBER
        self.contents[rows[compared]] = chunk.contents[compared]
        keys = _content_keys(self.contents[rows])
        scans = {key: scan for key, scan in zip(keys, chunk.scans, strict=True) if scan is not None}
        self._scans |= scans
        for i, why in chunk.errors.items():
            path = self.files[rows[i]]
            self._errors[keys[i]] = path, why.replace(os.path.abspath(path), path, 1)
        self.store_data += chunk.store_data
        self._cache.put(CONTENT, {self._keys[row]: self.contents[row].tobytes() for row in rows[compared].tolist()})
        self._cache.put(SCAN, {key: record + json.dumps(shape).encode() for key, (record, shape) in scans.items()})

    def program(self, traces: Texts) -> Program:
        """The program of launches of these files."""
        keys = _content_keys(self.contents)
        content_of_file, distinct = _intern(keys)
        scans = [self._scans.get(key) for key in distinct]
        records = np.frombuffer(b"".join(scan[0] if scan else bytes(RECORD.itemsize) for scan in scans), dtype=RECORD)
        hashes = records["stream"].tolist()
        stream_ids, _ = _intern([s if scan else None for s, scan in zip(hashes, scans, strict=True)])
        label_of_content, shapes = _intern([scan and scan[1] for scan in scans])
        names = Texts.of([name for name, *_ in shapes])
        sizes = [(*grid, *block, registers, shared_memory) for _, grid, block, shared_memory, registers in shapes]
        file_of_content = np.unique(content_of_file, return_index=True)[1]
        content = content_of_file[traces.numbers]
        failed = {row: self._error(keys[row], path) for row, path in enumerate(self.files) if keys[row] in self._errors}
        launches = enumerate(traces.numbers.tolist()) if failed else ()
        return Program(
            (len(traces),),
            labels=Labels(names, np.array(sizes, dtype=np.int64).reshape(-1, 8)),
            label=label_of_content[content],
            traces=traces,
            contents=Contents(
                records,
                keys=self.contents[file_of_content, :3],
                traces=tuple(self.files[file] for file in file_of_content.tolist()),
                stream_ids=stream_ids,
            ),
            content=content,
            errors={launch: failed[file] for launch, file in launches if file in failed},
            unread=tuple(passing(failed.values())),
            remarks=self._copied(traces, content_of_file, records["counts"][:, COUNTS.index("instructions")]),
        )

    def _copied(self, traces: Texts, content: np.ndarray, instructions: np.ndarray) -> dict[str, Remark]:
        """Remark about traces that were copied over another: content and number are those of the trace in another file.

        Args:
            traces: trace file of each launch.
            content: number of each file's content.
            instructions: instructions of each content.
        """
        contents, in_header = content.tolist(), self.contents[:, 3].tolist()
        in_name = [number for number, _ in numbers_and_contexts(self.files)]
        rows = {(content, number): row for row, (content, number) in enumerate(zip(contents, in_name, strict=True))}
        copies = {
            row: original
            for row, (header, name) in enumerate(zip(in_header, in_name, strict=True))
            if header != name >= 0
            and (original := rows.get((contents[row], header))) is not None
            and not os.path.samefile(self.files[row], self.files[original])  # a link repeats a launch
        }
        if not copies:
            return {}
        copied, (first, original) = [*copies], next(iter(copies.items()))
        launches = traces.counts[copied]
        work = float((instructions[content[copied]] * launches).sum())
        return {"copied-trace": Remark(int(launches.sum()), work, f"{self.files[first]}, from {self.files[original]}")}

    def _error(self, key: str, path: str) -> str:
        """Message on why a file cannot be used, with its path."""
        parsed, why = self._errors[key]
        return why.replace(parsed, path, 1)


_CONTENT_BYTES = 32


def _contents(values: list[bytes]) -> list[np.ndarray]:
    """Rows of `Chunk.contents` from their bytes."""
    if any(len(value) != _CONTENT_BYTES for value in values):
        raise ValueError("the cache is damaged: a trace's content has a wrong length")
    return list(np.frombuffer(b"".join(values), dtype="<u8").reshape(-1, 4))


def _scanned(values: list[bytes]) -> list[Scanned]:
    scans: list[Scanned] = []
    for value in values:
        name, grid, block, shared_memory, registers = json.loads(value[RECORD.itemsize :])
        scans.append((value[: RECORD.itemsize], (name, tuple(grid), tuple(block), shared_memory, registers)))
    return scans


def _file_keys(files: Sequence[str], stats: np.ndarray) -> list[str]:
    """Keys of files by path, size and version."""
    sizes, versions = stats[:, 0].tolist(), stats[:, 2].tolist()
    return [key_of(os.path.abspath(path), *stat) for path, *stat in zip(files, sizes, versions, strict=True)]


def _content_keys(contents: np.ndarray) -> list[str]:
    return [f"{high:016x}{low:016x}" for high, low, *_ in contents.tolist()]


def _intern(values: list) -> tuple[np.ndarray, list]:
    """int32 numbers in order of first appearance, -1 for None; and the distinct values."""
    numbers: dict = {}
    ids = [-1 if value is None else numbers.setdefault(value, len(numbers)) for value in values]
    return np.array(ids, dtype=np.int32), list(numbers)

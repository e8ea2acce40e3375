"""Cache of scans and embeddings, in two levels.

Level 1: (path, size, version) of a trace -> stream hash, hash of its operand values, shape, work.
Level 2: (key of a graph, maker of the embedding) -> embedding. The key is the stream's hash, joined by that of the
operand values where the trace has some (`ScanTable.graph_keys`): they enter the graph and not the stream.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import astuple
from pathlib import Path

import numpy as np

from kernelpoint import _native
from kernelpoint.traces.cache_records import RECORD, CachedLaunches, EmbeddingKey, round_embeddings
from kernelpoint.traces.scan import LaunchShape
from kernelpoint.traces.store import Log, cache_folder, checksum, is_damage, move_aside, open_store

SCHEMA_VERSION = 4
VERSION = SCHEMA_VERSION * 1000 + _native.STREAM_HASH_VERSION
SCHEMA = """
CREATE TABLE folders (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE);
CREATE TABLE shapes (id INTEGER PRIMARY KEY, shape TEXT NOT NULL UNIQUE);
CREATE TABLE launches (folder INTEGER NOT NULL, name TEXT NOT NULL, size INTEGER NOT NULL, version INTEGER NOT NULL,
    shape INTEGER NOT NULL, record BLOB NOT NULL, crc32 INTEGER NOT NULL, PRIMARY KEY (folder, name)) WITHOUT ROWID;
CREATE TABLE makers (id INTEGER PRIMARY KEY, maker TEXT NOT NULL UNIQUE);
CREATE TABLE embeddings (maker INTEGER NOT NULL, stream BLOB NOT NULL, embedding BLOB NOT NULL,
    crc32 INTEGER NOT NULL, PRIMARY KEY (maker, stream)) WITHOUT ROWID
"""
WHOLE_FOLDER = 2000  # from here on all rows of a folder are read instead of asking for each name

# Errors of damage that SQLite does not see: a row of other types, without its checksum, or that names what is not there.
_DAMAGED = (sqlite3.DatabaseError, ValueError, TypeError, LookupError, AttributeError, OverflowError)


class TraceCache:
    """Both levels in one file, `scans.sqlite` in the cache folder; safe for several processes at once.

    Args:
        folder: of the file; by default :func:`cache_folder`.
        log: called if the cache cannot be used, is damaged, or comes from another version.

    Example:
        >>> import tempfile
        >>> cache = TraceCache(tempfile.mkdtemp())
        >>> key = EmbeddingKey("c0ffee", "1", "1", 20000)
        >>> cache.put_embeddings(key, ["00" * 16], np.ones((1, 3), dtype=np.float32))
        >>> found, embeddings = cache.get_embeddings(key, ["00" * 16, "ff" * 16])
        >>> found.tolist(), embeddings[0].tolist()
        ([True, False], [1.0, 1.0, 1.0])
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None, log: Log = lambda text: None) -> None:
        self.path = (cache_folder() if folder is None else Path(folder)) / "scans.sqlite"
        self._log = log
        self._db = open_store(self.path, VERSION, SCHEMA, log)

    def close(self) -> None:
        """Close the file; the cache cannot be used afterwards."""
        self._db.close()

    def get_launches(self, paths: Sequence[str], sizes_and_versions: np.ndarray) -> CachedLaunches:
        """Cached scans of the traces that have the same size and version as when they were scanned (int64 [n, 2], from
        `_native.stat_many`)."""
        found = np.zeros(len(paths), dtype=bool)
        shapes: list[LaunchShape | None] = [None] * len(paths)
        blobs = [bytes(RECORD.itemsize)] * len(paths)
        try:
            texts, known = dict(self._db.execute("SELECT id, shape FROM shapes")), {}
            stats = sizes_and_versions.tolist()
            for folder, names, rows in _by_folder(paths):
                cached = self._rows(folder, names)
                for name, row in zip(names, rows, strict=True):
                    hit = cached.get(name)
                    if hit is not None and [hit[0], hit[1]] == stats[row]:
                        if hit[2] not in known:
                            known[hit[2]] = _shape(texts[hit[2]])
                        _check(hit[4], f"{folder}/{name} {hit[0]} {hit[1]} {texts[hit[2]]}", hit[3])
                        blobs[row], shapes[row], found[row] = hit[3], known[hit[2]], True
            if any(len(blob) != RECORD.itemsize for blob in blobs):
                raise ValueError("a record has another length")
            records = np.frombuffer(b"".join(blobs), dtype=RECORD)
        except _DAMAGED as error:
            self._recover(error)
            return CachedLaunches(np.zeros_like(found), np.zeros(len(paths), dtype=RECORD), [None] * len(paths))
        return CachedLaunches(found, records, shapes)

    def put_launches(
        self, paths: Sequence[str], sizes_and_versions: np.ndarray, records: np.ndarray, shapes: Sequence[LaunchShape]
    ) -> None:
        """Remember what :func:`get_launches` shall find."""
        stats = sizes_and_versions.tolist()
        try:
            self._db.execute("BEGIN IMMEDIATE")
            with self._db:
                texts = {shape: json.dumps(astuple(shape)) for shape in set(shapes)}
                numbers = self._intern("shapes", "shape", texts.values())
                for folder, names, rows in _by_folder(paths):
                    number = self._intern("folders", "path", [folder])[folder]
                    values = []
                    for name, i in zip(names, rows, strict=True):
                        (size, version), record = stats[i], records[i].tobytes()
                        shape = texts[shapes[i]]
                        crc = checksum(f"{folder}/{name} {size} {version} {shape}", record)
                        values.append((number, name, size, version, numbers[shape], record, crc))
                    self._db.executemany("INSERT OR REPLACE INTO launches VALUES (?, ?, ?, ?, ?, ?, ?)", values)
        except sqlite3.DatabaseError as error:
            self._recover(error)

    def get_embeddings(self, key: EmbeddingKey, streams: Sequence[str]) -> tuple[np.ndarray, dict[int, np.ndarray]]:
        """Known graphs (`streams`, keys of 32 digits) as bool [n], and row -> float32 embedding for those."""
        found = np.zeros(len(streams), dtype=bool)
        embeddings: dict[int, np.ndarray] = {}
        query = "SELECT stream, embedding, crc32 FROM embeddings WHERE maker = (SELECT id FROM makers WHERE maker = ?)"
        maker = json.dumps(astuple(key))
        try:
            cached = {stream: rest for stream, *rest in self._db.execute(query, (maker,))}
            for row, stream in enumerate(streams):
                if (rest := cached.get(bytes.fromhex(stream))) is not None:
                    blob, crc = rest
                    _check(crc, f"{maker} {stream}", blob)
                    embeddings[row] = np.frombuffer(blob, dtype="<f2").astype(np.float32)
                    found[row] = True
        except _DAMAGED as error:
            self._recover(error)
            return np.zeros(len(streams), dtype=bool), {}
        return found, embeddings

    def put_embeddings(self, key: EmbeddingKey, streams: Sequence[str], embeddings: np.ndarray) -> None:
        """Remember float32 [n, d] embeddings, rounded as :func:`round_embeddings` does.

        Raises:
            PlanError: a value is not finite or does not fit float16.
        """
        rounded = round_embeddings(embeddings).astype("<f2")
        try:
            self._db.execute("BEGIN IMMEDIATE")
            with self._db:
                maker = json.dumps(astuple(key))
                number = self._intern("makers", "maker", [maker])[maker]
                values = (
                    (number, bytes.fromhex(stream), row.tobytes(), checksum(f"{maker} {stream}", row.tobytes()))
                    for stream, row in zip(streams, rounded, strict=True)
                )
                self._db.executemany("INSERT OR REPLACE INTO embeddings VALUES (?, ?, ?, ?)", values)
        except sqlite3.DatabaseError as error:
            self._recover(error)

    def _rows(self, folder: str, names: Sequence[str]) -> dict[str, tuple[int, int, int, bytes, int]]:
        """name -> (size, version, shape, record, checksum) of the launches known in a folder."""
        query = (
            "SELECT name, size, version, shape, record, crc32 FROM launches "
            "WHERE folder = (SELECT id FROM folders WHERE path = ?)"
        )
        rows: Iterable[tuple[str, int, int, int, bytes, int]]
        if len(names) >= WHOLE_FOLDER:
            rows = self._db.execute(query, (folder,))
        else:
            single = f"{query} AND name = ?"
            rows = [row for name in names for row in self._db.execute(single, (folder, name))]
        return {name: (size, version, shape, record, crc) for name, size, version, shape, record, crc in rows}

    def _intern(self, table: str, column: str, texts: Iterable[str]) -> dict[str, int]:
        """The number of each text in a table of texts; new ones get one. Inside a transaction."""
        texts = list(texts)
        self._db.executemany(f"INSERT OR IGNORE INTO {table} ({column}) VALUES (?)", ((text,) for text in texts))
        query = f"SELECT id FROM {table} WHERE {column} = ?"
        return {text: self._db.execute(query, (text,)).fetchone()[0] for text in texts}

    def _recover(self, error: Exception) -> None:
        """After an error inside a query: a file that cannot be written now is left alone, a damaged one replaced."""
        if not is_damage(error):
            self._log(f"kernelpoint: the cache {self.path} cannot be used at the moment ({error})")
            return
        self._db.close()
        move_aside(self.path, self._log)
        self._db = open_store(self.path, VERSION, SCHEMA, self._log)


def _by_folder(paths: Sequence[str]) -> list[tuple[str, list[str], list[int]]]:
    """Absolute folder, file names in it, and their rows in `paths`."""
    groups: dict[str, tuple[list[str], list[int]]] = {}
    for row, path in enumerate(paths):
        folder, _, name = path.rpartition("/")
        names, rows = groups.setdefault(folder, ([], []))
        names.append(name)
        rows.append(row)
    return [
        (os.path.abspath(folder if folder or not paths[rows[0]].startswith("/") else "/"), names, rows)
        for folder, (names, rows) in groups.items()
    ]


def _check(crc: int, text: str, blob: bytes) -> None:
    if checksum(text, blob) != crc:
        raise ValueError("a row does not have its checksum")


def _shape(text: str) -> LaunchShape:
    name, grid, block, shared_memory, registers = json.loads(text)
    return LaunchShape(name, tuple(grid), tuple(block), shared_memory, registers)

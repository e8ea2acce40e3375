"""Stored footprints of traces: the last access of a launch to each line of memory, packed by the native reader."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path

from kernelpoint import _native
from kernelpoint.traces.store import Log, cache_folder, checksum, is_damage, move_aside, open_store

SCHEMA_VERSION = 3
VERSION = SCHEMA_VERSION * 1000 + _native.FOOTPRINT_VERSION
SCHEMA = """
CREATE TABLE footprints (path TEXT NOT NULL, residency TEXT NOT NULL, size INTEGER NOT NULL, version INTEGER NOT NULL,
    packed BLOB NOT NULL, crc32 INTEGER NOT NULL, PRIMARY KEY (path, residency)) WITHOUT ROWID
"""


class FootprintStore:
    """Packed footprints in `footprints.sqlite` of the cache folder; safe for several processes at once.

    A footprint belongs to a trace as it is (path, size, version) and to how many CTAs the simulated GPU holds at
    once, which decides the order of its touches. Saved footprints are written by :meth:`flush`. A file that cannot be
    used or is
    damaged costs reading the traces again, and nothing else.

    Args:
        residency: of the simulated GPU, see ``kp_host_info``: SMs, and CTAs, warps, registers and shared memory of one.
        folder: of the file; by default :func:`~kernelpoint.traces.store.cache_folder`.
        log: called if the cache cannot be used, is damaged, or comes from another version.

    Example:
        >>> import tempfile, pathlib
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> trace = folder / "kernel-1.traceg"
        >>> _ = trace.write_text("-kernel name = sum\\n")
        >>> store = FootprintStore((80, 32, 64, 65536, 98304), folder)
        >>> store.load(str(trace)) is None
        True
        >>> store.save(str(trace), b"packed")
        >>> store.flush()
        >>> store.load(str(trace))
        b'packed'
    """

    def __init__(
        self,
        residency: tuple[int, ...],
        folder: str | os.PathLike[str] | None = None,
        log: Log = lambda text: None,
    ) -> None:
        self.path = (cache_folder() if folder is None else Path(folder)) / "footprints.sqlite"
        self._residency = ",".join(map(str, residency))
        self._log = log
        self._db: sqlite3.Connection | None = open_store(self.path, VERSION, SCHEMA, log)
        self._unwritten: list[tuple[str, str, int, int, bytes, int]] = []

    def load(self, path: str) -> bytes | None:
        """The footprint of a trace that has not changed since it was saved."""
        if self._db is None:
            return None
        query = "SELECT packed, crc32 FROM footprints WHERE path = ? AND residency = ? AND size = ? AND version = ?"
        key = self._key(path)
        try:
            packed, crc = self._db.execute(query, key).fetchone() or (None, 0)
            if packed is not None and checksum(repr(key), packed) != crc:
                raise sqlite3.DatabaseError("a row does not have its checksum")
        except (sqlite3.DatabaseError, TypeError, ValueError) as error:
            self._begin_anew(error)
            return None
        return None if packed is None else bytes(packed)

    def save(self, path: str, packed: bytes) -> None:
        """Remember a footprint until the next :meth:`flush`."""
        key = self._key(path)
        self._unwritten.append((*key, packed, checksum(repr(key), packed)))

    def flush(self) -> None:
        """Write the saved footprints."""
        rows, self._unwritten = self._unwritten, []
        if not rows or self._db is None:
            return
        try:
            self._db.execute("BEGIN IMMEDIATE")
            with self._db:
                self._db.executemany("INSERT OR REPLACE INTO footprints VALUES (?, ?, ?, ?, ?, ?)", rows)
        except sqlite3.DatabaseError as error:
            self._begin_anew(error)

    @classmethod
    def kept(cls, paths: Iterable[str]) -> Iterator[tuple[str, str, bytes]]:
        """Trace, residency and footprint of all that the cache has of some traces as they are now."""
        store = cls(())
        if store._db is None:
            return
        query = (
            "SELECT residency, packed FROM footprints WHERE path = ? AND size = ? AND version = ? ORDER BY residency"
        )
        for path in paths:
            absolute, _, size, version = store._key(path)
            for residency, packed in store._db.execute(query, (absolute, size, version)).fetchall():
                yield path, residency, bytes(packed)

    @classmethod
    def keep(cls, rows: Iterable[tuple[str, str, bytes]]) -> None:
        """Put footprints of other machines' runs into the cache: trace, residency and footprint of each."""
        store = cls(())
        for path, residency, packed in rows:
            store._residency = residency
            store.save(path, packed)
        store.flush()

    def _key(self, path: str) -> tuple[str, str, int, int]:
        size, version = _native.stat_many([path], versions=True)[0].tolist()
        return os.path.abspath(path), self._residency, size, version

    def _begin_anew(self, error: Exception) -> None:
        """A damaged file is moved aside; one that cannot be used now is not asked again."""
        if self._db is not None:
            self._db.close()
        self._db = None
        if is_damage(error):
            move_aside(self.path, self._log)
            self._db = open_store(self.path, VERSION, SCHEMA, self._log)
        else:
            self._log(
                f"kernelpoint: the cache {self.path} cannot be used ({error}); footprints are read from the traces"
            )

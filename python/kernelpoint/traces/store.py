"""A SQLite file that is only a cache: it may be lost, be damaged or come from another version, and no run breaks.

SQLite finds damage of its structure and not of what stands in a row, so every row carries a checksum of all that its reader
believes (:func:`checksum`). A file with other tables, views or triggers than were made is damaged, and so is one in which a
query takes more steps than it has bytes.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
import tempfile
import time
from collections.abc import Callable
from functools import cache, partial
from itertools import repeat
from pathlib import Path
from typing import Any
from zlib import crc32

from kernelpoint.files import require_regular

Log = Callable[[str], None]
SECONDS_TO_WAIT = 60.0  # for another process that writes
_FILES = ("", "-journal", "-wal", "-shm")  # of a SQLite file; the last two where an older KernelPoint wrote it


_STEPS = 100_000  # of SQLite's machine between two counts
_FEWEST_STEPS = 20_000_000
_STEPS_PER_BYTE = 4  # a row takes some 20 bytes, and to read it some 20 steps


class Store(sqlite3.Connection):
    """A connection whose queries end: one that takes more steps than the file can need is interrupted."""

    most_steps = _FEWEST_STEPS

    def execute(self, *arguments: Any) -> sqlite3.Cursor:
        """As of a connection."""
        # Counted without Python code, which would take Ctrl-C for itself.
        self.set_progress_handler(partial(next, repeat(0, self.most_steps // _STEPS), 1), _STEPS)
        try:
            return super().execute(*arguments)
        except UnicodeDecodeError:  # of SQLite's own message, which quotes the schema
            raise sqlite3.DatabaseError("its schema is no text") from None


def checksum(text: str, *blobs: bytes) -> int:
    """CRC-32 of a row: its numbers and texts as one text, then its bytes.

    >>> checksum("kernel-1.traceg 120", b"record")
    2753436906
    """
    value = crc32(text.encode("utf-8", "surrogatepass"))
    for blob in blobs:
        value = crc32(blob, value)
    return value


def is_damage(error: Exception) -> bool:
    """True if an error inside a query says that the file is damaged, and not that it cannot be used at the moment."""
    words = ("malformed", "no such table", "no such column", "disk image", "decode", "interrupted")
    return not isinstance(error, sqlite3.OperationalError) or any(word in str(error) for word in words)


def cache_folder() -> Path:
    """Folder of the caches: ``$KERNELPOINT_CACHE``, else ``$XDG_CACHE_HOME/kernelpoint``, else ``~/.cache/kernelpoint``.

    >>> import os
    >>> os.environ["KERNELPOINT_CACHE"] = "/scratch/kernelpoint"
    >>> cache_folder()
    PosixPath('/scratch/kernelpoint')
    """
    told = os.environ.get("KERNELPOINT_CACHE")
    if told:
        return Path(told)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kernelpoint"


def open_store(path: Path, version: int, schema: str, log: Log) -> Store:
    """Open the cache file, several processes at once; make it where it is missing.

    A file of another version is emptied. A damaged one is moved aside and made again. Where no file can be made, the
    cache is in memory and ends with the process. Each of these is said once through `log`.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _require_locks(path.parent)
        try:
            return _open(path, version, schema, log)
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
        move_aside(path, log)
        return _open(path, version, schema, log)
    except (OSError, sqlite3.DatabaseError) as error:
        reason = error.strerror or error if isinstance(error, OSError) else error
        log(f"kernelpoint: the cache {path} cannot be used ({reason}); nothing read in this run is remembered")
        return _prepare(sqlite3.connect(":memory:", isolation_level=None, factory=Store), version, schema)


def move_aside(path: Path, log: Log) -> None:
    """Rename a damaged cache, so that it can be looked at, and say so."""
    aside = path.with_name(f"{path.name}.damaged-{time.time_ns()}")
    for suffix in _FILES:
        with contextlib.suppress(FileNotFoundError):
            os.rename(f"{path}{suffix}", f"{aside}{suffix}")
    log(f"kernelpoint: the cache {path} is damaged; it was moved to {aside} and a new one begun")


def _require_locks(folder: Path) -> None:
    """Refuse a file system without locks, on each of which SQLite would wait for a minute.

    Raises:
        OSError: a lock of a new file, which no other process knows, is refused; or no file can be made.
    """
    with tempfile.TemporaryFile(dir=folder) as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise OSError(error.errno, f"its file system refuses locks: {error.strerror}") from None


def _open(path: Path, version: int, schema: str, log: Log) -> Store:
    for suffix in _FILES:
        with contextlib.suppress(FileNotFoundError):
            require_regular(f"{path}{suffix}")
    connection = sqlite3.connect(path, timeout=SECONDS_TO_WAIT, isolation_level=None, factory=Store)
    try:
        connection.most_steps = _FEWEST_STEPS + _STEPS_PER_BYTE * os.path.getsize(path)
        connection.execute("PRAGMA trusted_schema = OFF")
        # WAL needs memory that all writers share: no second machine could write.
        connection.execute("PRAGMA journal_mode = TRUNCATE")
        connection.execute("PRAGMA synchronous = NORMAL")
        found = connection.execute("PRAGMA user_version").fetchone()[0]
        if found not in (0, version):
            log(f"kernelpoint: the cache {path} has version {found}, this KernelPoint uses {version}; it is emptied")
        if found != version:
            return _prepare(connection, version, schema)
        if _schema(connection) != _made(schema):
            raise sqlite3.DatabaseError("it has other tables than were made")
        return connection
    except BaseException:
        connection.close()
        raise


def _prepare(connection: Store, version: int, schema: str) -> Store:
    """Replace whatever stands in the file by empty tables, unless another process just did."""
    connection.execute("BEGIN IMMEDIATE")
    with connection:
        if connection.execute("PRAGMA user_version").fetchone()[0] != version:
            things = "SELECT type, name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'"
            for kind, name in connection.execute(things).fetchall():
                quoted = name.replace('"', '""')
                connection.execute(f'DROP {kind} "{quoted}"')
            for statement in schema.split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {version}")
    return connection


def _schema(connection: sqlite3.Connection) -> list[Any]:
    return connection.execute(
        "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name"
    ).fetchall()


@cache
def _made(schema: str) -> list[Any]:
    """The schema as SQLite keeps it."""
    with contextlib.closing(sqlite3.connect(":memory:")) as made:
        made.executescript(schema)
        return _schema(made)

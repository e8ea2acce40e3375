"""Cache of everything computed from traces; each entry's key is a hash of all its inputs.

The cache is a SQLite file. No run fails because the file is lost, damaged or of another version. SQLite detects damage of the
structure of a file, but not of the content of a row, so every row has a checksum (:func:`checksum`). A file counts as damaged
if it has tables, views or triggers that KernelPoint did not make, or if a query takes more steps than the file has bytes.

Only a file that KernelPoint made for this user is opened: a link, another user's file, or a database with another application
id is left as it is, and the run does without a cache. A file of another version of KernelPoint is emptied and used.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import sqlite3
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from itertools import repeat
from pathlib import Path
from typing import Any, TypeVar
from zlib import crc32

from kernelpoint.files import open_regular, require_own
from kernelpoint.progress import Log

Value = TypeVar("Value")
VERSION = 5000
APPLICATION = 0x4B506361  # "KPca", SQLite's application id
SCHEMA = """
CREATE TABLE artefacts (kind TEXT NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL, crc32 INTEGER NOT NULL,
    PRIMARY KEY (kind, key)) WITHOUT ROWID
"""
SECONDS_TO_WAIT = 60.0  # for another process that writes
_BEFORE_5000 = frozenset(
    ("folders", "shapes", "launches", "makers", "embeddings")
)  # tables of versions without an application id
_FORMER = (frozenset(("artefacts",)), _BEFORE_5000)
_FILES = ("", "-journal", "-wal", "-shm")  # of a SQLite file; the last two where an older KernelPoint wrote it
_HEADER = 100  # bytes of a SQLite file, with its user version at byte 60 and its application id at byte 68
_SUPER = bytes.fromhex("d9d505f920a163d7")  # ends a journal that names a super-journal, which SQLite removes after a rollback
_STEPS = 100_000  # of SQLite's machine between two counts
_FEWEST_STEPS = 20_000_000
_STEPS_PER_BYTE = 4  # a row takes some 20 bytes, and to read it some 20 steps

# Errors of damage that SQLite does not see: a row of other types, without its checksum, or of other content than was made.
_DAMAGED = (sqlite3.DatabaseError, ValueError, TypeError, LookupError, AttributeError, OverflowError)


def cache_folder() -> Path:
    """Path of the cache folder: ``$KERNELPOINT_CACHE``, else ``$XDG_CACHE_HOME/kernelpoint``, else ``~/.cache/kernelpoint``.

    >>> import os
    >>> os.environ["KERNELPOINT_CACHE"] = "/scratch/kernelpoint"
    >>> cache_folder()
    PosixPath('/scratch/kernelpoint')
    """
    folder = os.environ.get("KERNELPOINT_CACHE")
    if folder:
        return Path(folder)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kernelpoint"


def key_of(*parts: object) -> str:
    """Key of a cached value: a hash, in 32 hexadecimal digits, of the text of all `parts`. The parts must be everything that
    the value depends on.

    >>> key_of("kernel-1.traceg", 120, 7) == key_of("kernel-1.traceg", 120, 8)
    False
    """
    text = "\0".join(map(str, parts))
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def checksum(text: str, value: bytes) -> int:
    """Checksum (CRC-32) of a row of the cache. `text` has the kind and the key of the row; `value` follows it.

    >>> checksum("scan c0ffee", b"record")
    249616442
    """
    return crc32(value, crc32(text.encode("utf-8", "surrogatepass")))


class ArtefactCache:
    """Cache of computed values (artefacts) in one file, `artefacts.sqlite`. Several processes may use it at once.

    An artefact has a kind and a key (:func:`key_of`). It never becomes outdated: the key contains everything that the value
    depends on, such as the time of a file's last change.

    Args:
        folder: folder of the cache file; by default :func:`cache_folder`.
        log: function that receives a message if the cache cannot be used, or is damaged.

    Example:
        >>> import tempfile
        >>> cache = ArtefactCache(tempfile.mkdtemp())
        >>> cache.put("footprint", {"c0ffee": b"packed"})
        >>> cache.get("footprint", ["c0ffee", "another"])
        [b'packed', None]
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None, log: Log = lambda text: None) -> None:
        self.path = (cache_folder() if folder is None else Path(folder)) / "artefacts.sqlite"
        self._log = log
        self._db = _open_or_make(self.path, log)

    def close(self) -> None:
        """Close the file; the cache cannot be used afterwards."""
        self._db.close()

    def get(
        self,
        kind: str,
        keys: Sequence[str],
        decode: Callable[[list[bytes]], Sequence[Value]] = list,  # type: ignore[assignment]
    ) -> list[Value | None]:
        """Look up values of a kind by their keys; None for a missing one.

        Args:
            kind: kind of value.
            keys: keys of the values.
            decode: function that decodes the bytes of values. If it raises ValueError, the values count as missing and the
                cache as damaged.
        """
        query = "SELECT key, value, crc32 FROM artefacts WHERE kind = ? AND key IN (SELECT value FROM json_each(?))"
        values: dict[str, Value] = {}
        try:
            rows = self._db.execute(query, (kind, json.dumps(keys))).fetchall()
            if any(checksum(f"{kind} {key}", value) != crc for key, value, crc in rows):
                raise ValueError("the cache is damaged: a row does not match its checksum")
            values = dict(zip((key for key, *_ in rows), decode([value for _, value, _ in rows]), strict=True))
        except _DAMAGED as error:
            self._recover(error)
        return [values.get(key) for key in keys]

    def put(self, kind: str, artefacts: Mapping[str, bytes]) -> None:
        """Store values of one kind in the cache, by their keys."""
        rows = [(kind, key, value, checksum(f"{kind} {key}", value)) for key, value in artefacts.items()]
        try:
            self._db.execute("BEGIN IMMEDIATE")
            with self._db:
                self._db.executemany("INSERT OR REPLACE INTO artefacts VALUES (?, ?, ?, ?)", rows)
        except sqlite3.DatabaseError as error:
            self._recover(error)

    def kinds(self, beginning: str) -> list[str]:
        """Sorted names of the stored kinds that begin with this text."""
        try:
            rows = self._db.execute("SELECT DISTINCT kind FROM artefacts WHERE kind GLOB ?", (f"{beginning}*",))
            return sorted(str(kind) for (kind,) in rows)
        except _DAMAGED as error:
            self._recover(error)
            return []

    def _recover(self, error: Exception) -> None:
        """Handle an error inside a query: replace a damaged file; stop using one that cannot be used at the moment."""
        self._db.close()
        if not _is_damage(error):
            self._db = _in_memory(self.path, error, self._log)
            return
        _move_aside(self.path, self._log)
        self._db = _open_or_make(self.path, self._log)


@contextlib.contextmanager
def opened(cache: ArtefactCache | None, log: Log):  # type: ignore[no-untyped-def]
    """Context manager that gives `cache`, or, if it is None, the user's cache, which is closed at the end."""
    cache_in_use = ArtefactCache(log=log) if cache is None else cache
    try:
        yield cache_in_use
    finally:
        if cache is None:
            cache_in_use.close()


# ---- the file --------------------------------------------------------------------------------------------------------


class _Connection(sqlite3.Connection):
    """SQLite connection that interrupts a query of too many steps, so that a damaged file cannot hang the program."""

    most_steps = _FEWEST_STEPS

    def execute(self, *arguments: Any) -> sqlite3.Cursor:
        # Counted without Python code, which would take Ctrl-C for itself.
        self.set_progress_handler(partial(next, repeat(0, self.most_steps // _STEPS), 1), _STEPS)
        try:
            return super().execute(*arguments)
        except UnicodeDecodeError:  # of SQLite's own message, which quotes the schema
            raise sqlite3.DatabaseError("its schema is no text") from None


def _is_damage(error: Exception) -> bool:
    """True if an error inside a query says that the file is damaged, and not that it cannot be used at the moment."""
    words = ("malformed", "no such ", "disk image", "decode", "interrupted")
    return not isinstance(error, sqlite3.OperationalError) or any(word in str(error) for word in words)


def _open_or_make(path: Path, log: Log) -> _Connection:
    """Open the cache file, or make it if it is missing; several processes may do so at the same time.

    A damaged file is moved aside and a new one is made. If no file can be made, the cache is in memory and ends with the
    process. `log` receives one message in either case.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _require_locks(path.parent)
        try:
            return _open(path)
        except sqlite3.DatabaseError as error:
            if not _is_damage(error):
                raise
        _move_aside(path, log)
        return _open(path)
    except (OSError, sqlite3.DatabaseError) as error:
        return _in_memory(path, error, log)


_REPORTED: set[Path] = set()  # caches that cannot be used, of which this process has told its user


def _in_memory(path: Path, error: Exception, log: Log) -> _Connection:
    """Cache in memory, used if the file cannot be."""
    if path not in _REPORTED:
        _REPORTED.add(path)
        reason = error.strerror or error if isinstance(error, OSError) else error
        log(f"kernelpoint: the cache {path} cannot be used ({reason}); nothing read from now on is remembered")
    return _prepare(sqlite3.connect(":memory:", isolation_level=None, factory=_Connection))


def _move_aside(path: Path, log: Log) -> None:
    """Rename a damaged cache, so that it can be looked at, and say so."""
    aside = path.with_name(f"{path.name}.damaged-{time.time_ns()}")
    for suffix in _FILES:
        with contextlib.suppress(FileNotFoundError):
            os.rename(f"{path}{suffix}", f"{aside}{suffix}")
    log(f"kernelpoint: the cache {path} is damaged; it was moved to {aside} and a new one begun")


def _require_locks(folder: Path) -> None:
    """Refuse a file system without locks: SQLite would wait for a minute at each lock.

    Raises:
        OSError: a lock of a new file, which no other process knows, is refused; or no file can be made.
    """
    with tempfile.TemporaryFile(dir=folder) as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise OSError(error.errno, f"its file system refuses locks: {error.strerror}") from None


def _require_ours(path: Path) -> None:
    """Refuse a cache file that is not KernelPoint's or not this user's, before SQLite opens it.

    Raises:
        OSError: a file is not this user's alone, or is a database of another application.
        DatabaseError: its journal names another file. The cache is one file, so SQLite writes no such journal for it.
    """
    for suffix in _FILES:
        with contextlib.suppress(FileNotFoundError):
            require_own(f"{path}{suffix}")
    with contextlib.suppress(FileNotFoundError), open_regular(f"{path}-journal") as journal:
        if journal.seek(0, os.SEEK_END) >= len(_SUPER):
            journal.seek(-len(_SUPER), os.SEEK_END)
            if journal.read() == _SUPER:
                raise sqlite3.DatabaseError("the cache is damaged: its SQLite journal names another file")
    header = b""
    with contextlib.suppress(FileNotFoundError), open_regular(path) as file:
        header = file.read(_HEADER)
    application, version = (int.from_bytes(header[at : at + 4], "big") for at in (68, 60))
    if not header.startswith(b"SQLite format 3\0") or application == APPLICATION:
        return
    if application != 0 or not 1000 <= version <= VERSION or _names(path) not in _FORMER:
        raise OSError(errno.EINVAL, "is a database of another application: delete it if nobody needs it", str(path))


def _names(path: Path) -> frozenset[object]:
    """Names of the tables of a database, read without a write to it; empty if it cannot be read."""
    place = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
    with contextlib.closing(sqlite3.connect(place, uri=True, factory=_Connection)) as connection:
        try:
            return frozenset(name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'"))
        except _DAMAGED:
            return frozenset()


def _open(path: Path) -> _Connection:
    _require_ours(path)
    connection = sqlite3.connect(path, timeout=SECONDS_TO_WAIT, isolation_level=None, factory=_Connection)
    try:
        connection.most_steps = _FEWEST_STEPS + _STEPS_PER_BYTE * os.path.getsize(path)
        connection.execute("PRAGMA trusted_schema = OFF")
        # WAL needs memory that all writers share: no second machine could write.
        connection.execute("PRAGMA journal_mode = TRUNCATE")
        connection.execute("PRAGMA synchronous = NORMAL")
        if not _is_current(connection):
            return _prepare(connection)
        if _tables(connection) != _made(SCHEMA):
            raise sqlite3.DatabaseError("the cache is damaged: it has other tables than KernelPoint makes")
        return connection
    except BaseException:
        connection.close()
        raise


def _is_current(connection: _Connection) -> bool:
    """True if a file says that it is a cache of this version."""
    pragmas = ("user_version", "application_id")
    return [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in pragmas] == [VERSION, APPLICATION]


def _prepare(connection: _Connection) -> _Connection:
    """Replace the content of the file by an empty table, unless another process has just done so."""
    connection.execute("BEGIN IMMEDIATE")
    with connection:
        if not _is_current(connection):
            things = "SELECT type, name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'"
            for kind, name in connection.execute(things).fetchall():
                quoted = name.replace('"', '""')
                connection.execute(f'DROP {kind} "{quoted}"')
            for statement in SCHEMA.split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {VERSION}")
    return connection


def _tables(connection: sqlite3.Connection) -> list[Any]:
    return connection.execute("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name").fetchall()


@cache
def _made(schema: str) -> list[Any]:
    """Schema text of the cache as SQLite stores it."""
    with contextlib.closing(sqlite3.connect(":memory:")) as made:
        made.executescript(schema)
        return _tables(made)

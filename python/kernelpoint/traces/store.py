"""A SQLite file that is only a cache: it may be lost, be damaged or come from another version, and no run breaks."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

Log = Callable[[str], None]
SECONDS_TO_WAIT = 60.0  # for another process that writes


def cache_folder() -> Path:
    """Folder of the caches: ``$KERNELPOINT_CACHE``, else ``$XDG_CACHE_HOME/kernelpoint``, else ``~/.cache/kernelpoint``."""
    told = os.environ.get("KERNELPOINT_CACHE")
    if told:
        return Path(told)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kernelpoint"


def open_store(path: Path, version: int, schema: str, log: Log) -> sqlite3.Connection:
    """Open the cache file, several processes at once; make it where it is missing.

    A file of another version is emptied; a damaged one is moved aside and made anew; where no file can be made, the cache
    lives in memory and ends with the process. Each of these is said once through `log`.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return _open(path, version, schema, log)
    except sqlite3.OperationalError as error:
        if not _is_damage(error):
            log(f"kernelpoint: the cache {path} cannot be used ({error}); nothing read in this run is remembered")
            return _prepare(sqlite3.connect(":memory:", isolation_level=None), version, schema)
    except OSError as error:
        log(f"kernelpoint: the cache {path} cannot be used ({error}); nothing read in this run is remembered")
        return _prepare(sqlite3.connect(":memory:", isolation_level=None), version, schema)
    except sqlite3.DatabaseError:
        pass
    move_aside(path, log)
    return _open(path, version, schema, log)


def move_aside(path: Path, log: Log) -> None:
    """Rename a damaged cache, so that it can be looked at, and say so."""
    aside = path.with_name(f"{path.name}.damaged-{time.time_ns()}")
    for suffix in ("", "-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            os.rename(f"{path}{suffix}", f"{aside}{suffix}")
    log(f"kernelpoint: the cache {path} is damaged; it was moved to {aside} and a new one begun")


def _open(path: Path, version: int, schema: str, log: Log) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=SECONDS_TO_WAIT, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        found = connection.execute("PRAGMA user_version").fetchone()[0]
        if found not in (0, version):
            log(f"kernelpoint: the cache {path} has version {found}, this KernelPoint uses {version}; it is begun anew")
        return connection if found == version else _prepare(connection, version, schema)
    except BaseException:
        connection.close()
        raise


def _prepare(connection: sqlite3.Connection, version: int, schema: str) -> sqlite3.Connection:
    """Replace whatever stands in the file by empty tables, unless another process just did."""
    connection.execute("BEGIN IMMEDIATE")
    with connection:
        if connection.execute("PRAGMA user_version").fetchone()[0] != version:
            tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            for (table,) in tables:
                connection.execute(f'DROP TABLE "{table}"')
            for statement in schema.split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {version}")
    return connection


def _is_damage(error: sqlite3.OperationalError) -> bool:
    """True if an "operational" error in truth says that the file is damaged."""
    return any(word in str(error) for word in ("malformed", "no such table", "no such column", "disk image"))

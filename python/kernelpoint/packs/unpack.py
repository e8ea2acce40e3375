"""A pack unpacked: a folder with a list, traces, a plan and a configuration, from which the run can be made again.

A pack may come from a stranger. Its description is checked before anything is written (contents.py); members are read as
streams, and their sizes are limited before the first is; nothing is written outside the folder, the cache included.
"""

from __future__ import annotations

import lzma
import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, BinaryIO

import yaml

from kernelpoint.archive import SEAL_DIGITS, check_directory, check_seal, damaged
from kernelpoint.errors import ConfigError, PlanError
from kernelpoint.file_names import name_problem
from kernelpoint.files import open_output_bytes, open_regular, write_output
from kernelpoint.packs.contents import (
    ABOUT,
    ABOUT_RATIO,
    CONFIGURATION,
    FOOTPRINTS,
    FREE_ABOUT,
    FREE_LIST,
    HEAD,
    HEADS,
    LIST,
    MOST_ABOUT,
    PLAN,
    SEAL,
    TRACES,
    About,
    TraceFile,
    read_about,
)
from kernelpoint.progress import Log, elapsed_time

MOST_DICTIONARY = 16 << 20  # of LZMA; packs are written with 8 MiB
FREE_BYTES, MOST_RATIO = 1 << 30, 200  # a pack may unpack to so many bytes, or to so many times its own
_PIECE = 4096  # compressed bytes that are read at once: LZMA makes at most 30 MB of them

_REFUSED = (ValueError, LookupError, TypeError, AttributeError, EOFError, RecursionError, OverflowError, MemoryError)
_DAMAGED = (zipfile.BadZipFile, NotImplementedError, RuntimeError, lzma.LZMAError, zlib.error, struct.error)


def is_pack(path: Path) -> bool:
    """True if a file begins like a pack (archive of a run with its traces); its end is not checked."""
    try:
        with open_regular(path) as file:
            return file.read(4) == b"PK\x03\x04"
    except OSError:
        return False


def unpack(path: Path, folder: Path | None = None, most_bytes: int | None = None) -> Path:
    """Unpack a pack (archive of a run with its traces) into a folder. Returns the path of the trace list.

    The folder gets `kernelpoint.yaml`, the plan, the trace list, a file for each trace, and lists of accessed memory sectors
    for skipped launches. It appears whole or not at all. A folder with this pack's content is used as it is.

    Args:
        path: the pack.
        folder: the folder; by default one beside the pack, with the pack's name and checksum.
        most_bytes: largest number of bytes to write; by default 1 GiB, or 200 times the size of the pack.

    Raises:
        PlanError: the pack is damaged, of another version, larger than allowed, or has content that is not allowed; or the
            folder is not empty.
        ConfigError: no folder can have the name of the pack.
        OSError: the folder cannot be written.
    """
    with _opened(path, most_bytes) as (archive, about, seal):
        if folder is None:  # one of its name and content, beside the pack, lest another be used
            folder = path.with_name(f"{path.stem}-{seal[:8].decode()}")
            if problem := name_problem(folder.name):  # a stranger may have chosen the name
                raise ConfigError(f"cannot unpack {path}: {problem}; rename the pack, or name a folder with -o")
        listed = folder / about.list
        if _is_made(folder, archive, about, seal):
            return listed
        if folder.is_symlink() or (folder.exists() and (not folder.is_dir() or any(folder.iterdir()))):
            raise PlanError(f"-o: the folder {folder} is not empty, or is a link; name a new or empty folder")
        folder.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent) as made:
            _write(archive, about, Path(made) / "made", folder)
            (Path(made) / "made" / SEAL).write_bytes(seal)
            (Path(made) / "made").replace(folder)
    return listed


def unpack_for_simulator(pack: str, log: Log) -> str:
    """Unpack a pack (archive of a run with its traces) beside it, for the simulator in this process. Returns the absolute path
    of the trace list.

    Raises:
        PlanError: the pack is damaged, of another version, larger than allowed, or has content that is not allowed.
        ConfigError: no folder can have the name of the pack.
        OSError: the folder cannot be written.
    """
    with elapsed_time("unpacking", log):
        return str(unpack(Path(pack)).absolute())


def about_pack(path: Path) -> About:
    """Read the description in a pack (archive of a run with its traces).

    Raises:
        PlanError: the pack is damaged, of another version, or has content that is not allowed.
    """
    with _opened(path, None, is_read=True) as (_, about, _seal):
        return about


@contextmanager
def _opened(path: Path, most_bytes: int | None, is_read: bool = False) -> Iterator[tuple[zipfile.ZipFile, About, bytes]]:
    """Open a pack and check its checksum, members and sizes; returns archive, description and checksum."""
    try:
        with open_regular(path) as file:
            check_seal(file)
            file.seek(-SEAL_DIGITS, os.SEEK_END)
            seal = file.read()
            size = file.tell()
            check_directory(file)
            with zipfile.ZipFile(file) as archive:
                if "about.npy" in archive.namelist():
                    raise PlanError(
                        f"{path} is a plan or a selection, not a pack; name it in a configuration: `plan: {path.name}` or "
                        f"`selection: {path.name}`"
                    )
                members = _members(archive, file, size)
                about = read_about(_all(archive, members, ABOUT, min(MOST_ABOUT, max(FREE_ABOUT, ABOUT_RATIO * size))))
                _check_sizes(about, members)
                most = most_bytes if most_bytes is not None else max(FREE_BYTES, MOST_RATIO * size)
                total = sum(entry.file_size for entry in members.values())
                if total > most and not is_read:
                    raise ValueError(
                        f"the pack's {size:,} bytes would unpack to {total:,}; allowed: at most {most:,}. If you trust the "
                        "pack, allow more with --most BYTES"
                    )
                listed = members[LIST].file_size
                if most_bytes is None and not is_read and listed > FREE_LIST:
                    raise ValueError(
                        f"the trace list in the pack has {listed:,} bytes; allowed: {FREE_LIST:,}. If you trust the pack, "
                        "allow more with --most BYTES"
                    )
                yield archive, about, seal
    except PlanError:
        raise
    except _REFUSED as error:
        raise PlanError(f"cannot unpack {path}: {' '.join(str(error).split())[:400]}") from None
    except _DAMAGED as error:
        raise PlanError(
            f"cannot unpack {path}: it is damaged, or no pack ({' '.join(str(error).split())[:200]}); take another copy"
        ) from None


def _members(archive: zipfile.ZipFile, file: BinaryIO, size: int) -> dict[str, zipfile.ZipInfo]:
    """Members of a pack by name; raises ValueError for a folder, a duplicate, and an unknown compression."""
    members: dict[str, zipfile.ZipInfo] = {}
    for entry in archive.infolist():
        name = entry.filename[:80]
        if entry.orig_filename in members or entry.orig_filename != entry.filename:
            raise damaged(f"its part {name!r} occurs twice, or has a zero byte in its name")
        if entry.flag_bits & 0x1 or stat.S_IFMT(entry.external_attr >> 16) not in (0, stat.S_IFREG):
            raise damaged(f"its part {name!r} is encrypted, or a link, folder or device; expected a plain file")
        if entry.compress_type != zipfile.ZIP_LZMA or not 0 <= entry.compress_size <= size:
            raise damaged(f"its part {name!r} is not compressed with LZMA, or states a size above that of the pack")
        if not 0 <= entry.header_offset <= size:
            raise damaged(f"its part {name!r} begins behind the end of the file")
        if (dictionary := _dictionary(file, entry)) > MOST_DICTIONARY:
            raise ValueError(
                f"the pack's part {name!r} needs {dictionary:,} bytes of memory (its LZMA dictionary); allowed: at most "
                f"{MOST_DICTIONARY:,}. Make the pack again with `kernelpoint file pack`"
            )
        members[entry.filename] = entry
    return members


def _dictionary(file: BinaryIO, entry: zipfile.ZipInfo) -> int:
    """Size in bytes of the LZMA dictionary that a member needs."""
    file.seek(entry.header_offset)
    header = file.read(30)
    file.seek(entry.header_offset + 30 + sum(struct.unpack("<2H", header[26:30])))
    _version, length, _properties, size = struct.unpack("<HHBL", file.read(9))
    if length != 5:
        raise damaged(f"its part {entry.filename[:80]!r} has LZMA properties of {length} bytes; expected 5")
    return int(size)


def _check_sizes(about: About, members: dict[str, zipfile.ZipInfo]) -> None:
    """Check that members and sizes agree with the description; raises ValueError."""
    whole = {TRACES + file.name: file.size for file in about.files if file.whole}
    expected = {ABOUT, LIST, PLAN, HEADS, FOOTPRINTS, *whole}
    if other := sorted(members.keys() ^ expected):
        raise damaged(f"its description and its contents disagree about the part {other[0][:80]!r}")
    sizes = {
        **whole,
        HEADS: sum(min(file.size, HEAD) for file in about.files if not file.whole),
        FOOTPRINTS: sum(row.size for row in about.footprints),
    }
    for name, size in sizes.items():
        if members[name].file_size != size:
            raise damaged(f"its part {name[:80]!r} has {members[name].file_size:,} bytes, its description states {size:,}")


def _all(archive: zipfile.ZipFile, members: dict[str, zipfile.ZipInfo], name: str, most: int) -> bytes:
    """Read a whole member of limited size."""
    if members[name].file_size > most:
        raise damaged(f"its part {name!r} has {members[name].file_size:,} bytes; allowed: at most {most:,}")
    with archive.open(name) as member:
        return b"".join(_pieces(member, members[name].file_size))


def _pieces(member: IO[bytes], size: int) -> Iterator[bytes]:
    """Read the next `size` bytes of a member in small pieces; raises ValueError if it ends before."""
    while size > 0:
        piece = member.read(min(size, _PIECE))
        if not piece:
            raise damaged("a part of it ends early")
        size -= len(piece)
        yield piece


def _is_made(folder: Path, archive: zipfile.ZipFile, about: About, seal: bytes) -> bool:
    """True if the folder contains this pack, unpacked and with unchanged list, plan and configuration."""
    try:
        with open_regular(folder / SEAL) as file:
            is_same = file.read(SEAL_DIGITS + 1) == seal
        with open_regular(folder / CONFIGURATION) as file:
            text = _configuration(about, folder).encode()
            is_same = is_same and file.read(len(text) + 1) == text
    except OSError:
        return False
    return is_same and all(
        _checksum(folder / name) == archive.getinfo(member).CRC for name, member in ((about.list, LIST), (PLAN, PLAN))
    )


def _checksum(path: Path) -> int | None:
    try:
        with open_regular(path) as file:
            crc = 0
            while block := file.read(1 << 20):
                crc = zlib.crc32(block, crc)
            return crc
    except OSError:
        return None


def _configuration(about: About, folder: Path) -> str:
    """Configuration of an unpacked run; its journal is `run.kpjournal` in the working directory."""
    return yaml.safe_dump({**about.config, "plan": str((folder / PLAN).absolute())}, sort_keys=False)


def _write(archive: zipfile.ZipFile, about: About, place: Path, folder: Path) -> None:
    """Write all files of a pack into `place`, which is then renamed to `folder`."""
    from kernelpoint.traces.replay import (
        write_beside,  # not at the top: the next run from the folder needs no traces
    )

    place.mkdir()
    with archive.open(HEADS) as heads:
        for file in about.files:
            if file.whole:
                with archive.open(TRACES + file.name) as trace:
                    _write_trace(_pieces(trace, file.size), file, place / file.name)
            else:
                _write_trace(_pieces(heads, min(file.size, HEAD)), file, place / file.name)
    for name, member in ((about.list, LIST), (PLAN, PLAN)):
        with archive.open(member) as content, open_output_bytes(place / name) as output:
            output.writelines(_pieces(content, archive.getinfo(member).file_size))
    with archive.open(FOOTPRINTS) as content:
        rows = [(row.trace, row.residency, row.size) for row in about.footprints]
        write_beside(place, rows, _pieces(content, archive.getinfo(FOOTPRINTS).file_size))
    write_output(place / CONFIGURATION, _configuration(about, folder))


def _write_trace(content: Iterator[bytes], file: TraceFile, path: Path) -> None:
    """Write a trace with its size and modification time; the missing end of an incomplete trace is a hole in the file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open_output_bytes(path) as output:
        output.writelines(content)
        output.truncate(file.size)
    os.utime(path, ns=(file.time, file.time))

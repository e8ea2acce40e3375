"""Named arrays and a JSON description of them, in one npz file with its own checksum.

The file is a zip archive of .npy members, which other tools read, with `about.npy` (JSON as bytes). The archive's comment is
`kernelpoint blake2b ` and 64 hexadecimal digits: BLAKE2b, 32 bytes long, of all bytes of the file but these 64.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from tokenize import TokenError
from typing import TYPE_CHECKING, Any, BinaryIO

from kernelpoint.errors import PlanError
from kernelpoint.files import open_regular, replacing

if TYPE_CHECKING:
    import numpy as np

_ABOUT = "about"
_COMMENT = b"kernelpoint blake2b "
SEAL_DIGITS = 64
_BLOCK = 1 << 20
_EXPANSION = 1032  # bytes that deflate can make of one
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
MOST_MEMBERS, MOST_DIRECTORY = 65_000, 64 << 20  # of a zip archive, and bytes of its directory
FREE_BYTES, MOST_RATIO = 256 << 20, 100  # arrays may take so many bytes, and so many times those of the file
_FIRST_DATE = (1980, 1, 1, 0, 0, 0)  # equal content, equal file
_IMPOSSIBLE = (ValueError, LookupError, AttributeError, TypeError, EOFError, RecursionError, MemoryError)
_NOT_READABLE = (NotImplementedError, zlib.error, struct.error, zipfile.BadZipFile, RuntimeError, OverflowError)
_DAMAGED = (*_IMPOSSIBLE, *_NOT_READABLE)


def write_archive(path: str | Path, about: Mapping[str, Any], arrays: Mapping[str, np.ndarray], compress: bool = False) -> None:
    """Write a description and arrays to one file, an archive (zip). The file appears whole or not at all, and is on the disk
    when the function returns.

    Args:
        path: the file.
        about: description, any content of JSON.
        arrays: arrays by name; no name may be "about".
        compress: True for a smaller file that is slower to read.

    Raises:
        OSError: the file cannot be written.
    """
    with replacing(path) as file:
        _write(file, about, arrays, compress)
        seal(file)


def archived(about: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> bytes:
    """Encode a description and arrays as the bytes of an archive (zip), without the checksum that a file has.

    >>> import numpy as np
    >>> from_archived(archived({"made": "today"}, {"values": np.arange(3)}))[1]["values"].tolist()
    [0, 1, 2]
    """
    file = io.BytesIO()
    _write(file, about, arrays, compress=True)
    return file.getvalue()


def from_archived(data: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Decode the bytes that `archived` made. Returns the description, and the arrays by name.

    Raises:
        ValueError: the bytes are no archive, or are damaged.
    """
    try:
        return _read(io.BytesIO(data))
    except _DAMAGED as error:
        raise ValueError(str(error)) from None


def read_archive(path: str | Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read a file that `write_archive` made. Returns the description, and the arrays by name.

    The checksum is verified first. No array takes more memory than the file has bytes for it.

    Raises:
        PlanError: the file cannot be read, is no archive of this kind, or is damaged.

    Example:
        >>> import tempfile
        >>> file = f"{tempfile.mkdtemp()}/some.npz"
        >>> import numpy as np
        >>> write_archive(file, {"made": "today"}, {"values": np.arange(3)})
        >>> about, arrays = read_archive(file)
        >>> about, arrays["values"].tolist()
        ({'made': 'today'}, [0, 1, 2])
    """
    try:
        with open_regular(path) as file:
            check_seal(file)
            check_directory(file)
            return _read(file)
    except OSError as error:
        raise PlanError(
            f"cannot read the file {path}: {error.strerror or error}; name an existing plan or selection that this user may "
            "read"
        ) from None
    except _IMPOSSIBLE as error:
        raise PlanError(f"cannot read {path}: {' '.join(str(error).split())[:200]}") from None
    except _NOT_READABLE as error:
        raise PlanError(
            f"cannot read {path}: it is damaged, or no plan or selection ({' '.join(str(error).split())[:200]}); take another "
            "copy"
        ) from None


def seal(file: BinaryIO) -> int:
    """Write a checksum into the comment of a finished zip archive. Returns the size of the file in bytes."""
    with zipfile.ZipFile(file, "a") as archive:
        archive.comment = _COMMENT + b"0" * SEAL_DIGITS
    size = file.seek(0, io.SEEK_END)
    digits = _checksum(file, size - SEAL_DIGITS)
    file.seek(size - SEAL_DIGITS)
    file.write(digits)
    return size


def check_seal(file: BinaryIO) -> None:
    """Raise ValueError if the checksum of a zip archive is missing or wrong."""
    size = file.seek(0, io.SEEK_END)
    length = len(_COMMENT) + SEAL_DIGITS
    file.seek(max(size - length, 0))
    comment, digits = (tail := file.read(length))[:-SEAL_DIGITS], tail[-SEAL_DIGITS:]
    if comment != _COMMENT:
        file.seek(0)
        if (begin := file.read(40))[:2] not in (b"", b"PK"):
            raise ValueError(
                "expected a plan (.kpplan), a selection (.kpselect) or a pack (.kppack), got another kind of file (it begins "
                f"{begin!r}); name another file"
            )
        raise ValueError(
            "the file was cut short, or another version of KernelPoint wrote it, since it does not end with a checksum; take "
            "another copy"
        )
    if _checksum(file, size - SEAL_DIGITS) != digits:
        raise ValueError("the file was damaged or changed after it was written: its checksum is wrong; take another copy")


def damaged(what: str) -> ValueError:
    """Error on a file that KernelPoint cannot have written so; `what` is wrong with it."""
    return ValueError(f"the file is damaged or forged: {what}; take another copy")


def check_directory(file: BinaryIO) -> None:
    """Raise ValueError if the directory of a zip archive is too large. The module `zipfile` would read all of it into
    memory.
    """
    size, comment = file.seek(0, io.SEEK_END), len(_COMMENT) + SEAL_DIGITS
    end = _bytes_before(file, size - comment, 22)
    if end[:4] != b"PK\x05\x06" or end[20:] != struct.pack("<H", comment):
        raise damaged("it does not end as a zip archive does")
    count, length = struct.unpack("<HL", end[10:16])
    if _bytes_before(file, size - comment - 22, 20)[:4] == b"PK\x06\x07":  # zip64
        record = _bytes_before(file, size - comment - 42, 56)
        if record[:4] != b"PK\x06\x06":
            raise damaged("its zip64 record is not where it should be")
        count, length = max(count, *struct.unpack("<2Q", record[24:40])), struct.unpack("<Q", record[40:48])[0]
    if count > MOST_MEMBERS or length > MOST_DIRECTORY:
        allowed = f"at most {MOST_MEMBERS:,} members in {MOST_DIRECTORY:,} bytes"
        raise damaged(f"its zip directory has {count:,} members in {length:,} bytes; allowed: {allowed}")


def _bytes_before(file: BinaryIO, end: int, count: int) -> bytes:
    """Read the `size` bytes of a file before a position; filled with zeros at the front if there are fewer."""
    file.seek(max(end - count, 0))
    return file.read(count) if end >= count else bytes(count)


def _checksum(file: BinaryIO, size: int) -> bytes:
    """Checksum of the first `size` bytes of a file, in hexadecimal digits."""
    digest = hashlib.blake2b(digest_size=SEAL_DIGITS // 2)
    file.seek(0)
    while size > 0 and (block := file.read(min(_BLOCK, size))):
        digest.update(block)
        size -= len(block)
    return digest.hexdigest().encode()


def _write(file: BinaryIO, about: Mapping[str, Any], arrays: Mapping[str, np.ndarray], compress: bool) -> None:
    import numpy as np  # not at the top: a pack's seal needs none

    text = np.frombuffer(json.dumps(about).encode(), dtype=np.uint8)
    method = zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, array in {_ABOUT: text, **arrays}.items():
            entry = zipfile.ZipInfo(f"{name}.npy", _FIRST_DATE)
            entry.compress_type = method
            with archive.open(entry, "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asarray(array, order="C"), allow_pickle=False)


def _read(file: BinaryIO) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    size = file.seek(0, io.SEEK_END)
    arrays = {}
    with zipfile.ZipFile(file) as archive:
        total, most = sum(entry.file_size for entry in archive.infolist()), FREE_BYTES + MOST_RATIO * size
        if total > most:
            raise damaged(f"it states {total:,} bytes of arrays; allowed for a file of {size:,} bytes: {most:,}")
        for entry in archive.infolist():
            if entry.compress_type not in _METHODS:
                raise ValueError(
                    f"the file's part {entry.filename[:80]!r} uses a compression that KernelPoint does not write; make the "
                    "file again with KernelPoint"
                )
            if entry.file_size > _EXPANSION * min(entry.compress_size, size) + _BLOCK:
                raise damaged(
                    f"its part {entry.filename[:80]!r} states {entry.file_size:,} bytes, more than its compressed data can hold"
                )
            with archive.open(entry) as member:
                arrays[entry.filename.removesuffix(".npy")] = _array(member, entry.file_size)
    about = json.loads(arrays.pop(_ABOUT).tobytes())
    if not isinstance(about, dict):
        raise damaged("its description (about.npy) is missing")
    return about, arrays


def _array(member: Any, size: int) -> np.ndarray:
    """Read the array in a member of an archive; its header must agree with the member's size."""
    import numpy as np

    version = np.lib.format.read_magic(member)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(
            f"the file has an array of NumPy format version {version}; allowed: 1.0 or 2.0; make the file again with "
            "KernelPoint"
        )
    read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    try:
        shape, fortran, dtype = read_header(member)
    except (SyntaxError, TokenError, ValueError, TypeError, LookupError, RecursionError):  # NumPy parses it as Python
        raise damaged("the header of an array cannot be read") from None
    expected = math.prod(shape) * dtype.itemsize
    if dtype.hasobject or fortran or expected != size - member.tell():
        raise damaged(f"an array of shape {shape} and type {dtype} does not fit its {size - member.tell():,} bytes")
    array = np.empty(shape, dtype)
    unread = array.reshape(-1).view(np.uint8).data if expected else memoryview(b"")
    while len(unread):
        got = member.readinto(unread[:_BLOCK])
        if not got:
            raise damaged("an array ends early")
        unread = unread[got:]
    member.read()  # up to its end, where zip's own checksum is compared
    return array

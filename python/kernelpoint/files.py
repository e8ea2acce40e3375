"""Opening of files that a user names: regular files only, so that no read blocks on a FIFO or reads a device without end.

No file that stays open gets a descriptor below 3: in a process that was started with a closed standard stream, messages
would be written into it.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import io
import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, TextIO
from zlib import crc32

STDERR = 2
BLOCK = 1 << 16
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFCHR: "a character device",
    stat.S_IFBLK: "a block device",
    stat.S_IFSOCK: "a socket",
}


def above_streams(descriptor: int) -> int:
    """Move an open file to a descriptor above 2 (0 to 2 are the standard streams) and close the old one. A descriptor above 2
    is returned unchanged.

    Raises:
        OSError: the process has too many open files.

    >>> above_streams(7)
    7
    """
    if descriptor > STDERR:
        return descriptor
    try:
        return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, STDERR + 1)
    finally:
        os.close(descriptor)


def open_regular(path: str | Path) -> BinaryIO:
    """Open a regular file for reading.

    Args:
        path: the file; symbolic links are followed.

    Raises:
        OSError: the file cannot be opened, or is a folder, FIFO, device or socket; `strerror` says which.

    >>> open_regular("/dev/null")
    Traceback (most recent call last):
    ...
    OSError: [Errno 22] is a character device; expected a regular file: '/dev/null'
    """
    return os.fdopen(_descriptor(path, os.O_RDONLY), "rb")


def open_to_append(path: str | Path) -> io.FileIO:
    """Open a regular file for reading and appending. A missing file is created.

    Raises:
        OSError: the file cannot be opened, or is no regular file.
    """
    return io.FileIO(_descriptor(path, os.O_RDWR | os.O_APPEND | os.O_CREAT), "r+")


def open_output(path: str | Path) -> TextIO:
    """Open a file for text output: a regular file, which is emptied, a device, or a FIFO (named pipe) that has a reader.

    Line ends are not converted, and bytes in names that are not UTF-8 are written unchanged.

    Raises:
        OSError: the output cannot be opened, or is a FIFO without a reader, on which a write would block.

    >>> import tempfile
    >>> os.mkfifo(place := tempfile.mkdtemp() + "/fifo")
    >>> open_output(place)
    Traceback (most recent call last):
    ...
    OSError: [Errno 6] is a FIFO that nobody reads: '...'
    """
    return open(_output(path), "w", encoding="utf-8", errors="surrogateescape", newline="")


def open_output_bytes(path: str | Path) -> BinaryIO:
    """Open a file for output of bytes: a regular file, which is emptied, a device, or a FIFO (named pipe) that has a reader."""
    return open(_output(path), "wb")


def write_output(path: str | Path, content: str | bytes) -> None:
    """Write text or bytes to a file. A regular file is replaced in one step and keeps its mode; after an error it is unchanged.
    Links, devices and FIFOs are written to.

    Raises:
        OSError: the output cannot be opened, written or replaced, or is a FIFO without a reader.
    """
    data = content if isinstance(content, bytes) else content.encode("utf-8", "surrogateescape")
    status = os.lstat(path) if os.path.lexists(path) else None
    is_file = status is None or stat.S_ISREG(status.st_mode)
    with replacing(path) if is_file else open_output_bytes(path) as file:
        if status is not None and is_file:
            os.fchmod(file.fileno(), stat.S_IMODE(status.st_mode))
        file.write(data)


def append_output(path: str | Path, text: str) -> None:
    """Append text to a regular file. A missing file is created.

    Raises:
        OSError: the file cannot be opened or written, or is no regular file.
    """
    with open_to_append(path) as raw, io.BufferedWriter(raw) as file:
        file.write(text.encode())


def _output(path: str | Path) -> int:
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = above_streams(os.open(path, flags, 0o666))
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        kind = _KINDS.get(stat.S_IFMT(os.stat(path).st_mode), "a file")
        raise OSError(error.errno, f"is {kind} that nobody reads", str(path)) from None
    os.set_blocking(descriptor, True)
    return descriptor


def require_regular(path: str | Path) -> None:
    """Raise an error if a path is not a regular file, without opening it.

    Raises:
        OSError: the path does not exist, or is a folder, FIFO, device or socket; `strerror` says which.
    """
    _check_regular(os.stat(path).st_mode, path)


def require_own(path: str | Path) -> None:
    """Raise an error unless a file belongs to this user alone: it is no symbolic link, has no second hard link, and has no
    other owner.

    The check is for files that a library opens for writing in a folder that other users can write to.

    Raises:
        OSError: the file does not exist, is no regular file, or does not belong to this user alone; `strerror` says which.
    """
    status = os.lstat(path)
    if stat.S_ISLNK(status.st_mode):
        raise OSError(errno.EINVAL, "is a link; expected a file of its own", str(path))
    _check_regular(status.st_mode, path)
    if status.st_nlink > 1:
        raise OSError(errno.EINVAL, "is another name of a file elsewhere (a hard link)", str(path))
    if status.st_uid != os.geteuid():
        raise OSError(errno.EPERM, f"belongs to another user (number {status.st_uid})", str(path))


def _descriptor(path: str | Path, flags: int) -> int:
    with contextlib.suppress(FileNotFoundError):
        require_regular(path)  # before: opening a device may act on it
    # O_NONBLOCK: a FIFO does not block the open
    descriptor = above_streams(os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, 0o666))
    try:
        _check_regular(os.fstat(descriptor).st_mode, path)
    except OSError:
        os.close(descriptor)
        raise
    os.set_blocking(descriptor, True)
    return descriptor


def _check_regular(mode: int, path: str | Path) -> None:
    kind = stat.S_IFMT(mode)
    if kind != stat.S_IFREG:
        raise OSError(22, f"is {_KINDS.get(kind, 'not a file')}; expected a regular file", str(path))


def read_regular(path: str | Path, most: int) -> bytes:
    """Read a whole regular file of at most `most` bytes.

    Raises:
        OSError: the file is larger; or see :func:`open_regular`.
    """
    with open_regular(path) as file:
        data = file.read(min(most, os.fstat(file.fileno()).st_size) + 1)  # read(n) asks for n bytes of memory at once
        while len(data) <= most and (more := file.read(min(most + 1 - len(data), BLOCK))):  # it grows
            data += more
    if len(data) > most:
        raise OSError(27, f"is larger than {most:,} bytes", str(path))
    return data


def read_to_hole(file: io.FileIO | BinaryIO) -> bytes:
    """Read a file up to the hole (range without stored data) at its end.

    A small file can have a stated size of gigabytes, after `truncate -s 8G` or after a power loss during a write.

    Raises:
        OSError: the file cannot be read, or data follow a hole.
    """
    if os.fstat(file.fileno()).st_size == 0:  # which has no place to look for a hole at
        return file.read() or b""
    hole = file.seek(0, os.SEEK_HOLE)
    try:
        file.seek(hole, os.SEEK_DATA)
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
    else:
        raise OSError(errno.EINVAL, f"it has a hole at byte {hole:,}, and data after it: damaged")
    file.seek(0)
    data = b""
    while len(data) < hole and (more := file.read(hole - len(data))):
        data += more
    return data


@contextlib.contextmanager
def replacing(path: str | Path) -> Iterator[BinaryIO]:
    """Context manager that opens a temporary file, which replaces `path` when the block ends.

    The temporary file is in the folder of `path`. If the block raises an error, it is removed and `path` stays unchanged. File
    and folder are forced to the disk, so that a power loss leaves the old file or the new one.

    Raises:
        OSError: the file cannot be written.

    Example:
        >>> import tempfile
        >>> place = Path(tempfile.mkdtemp()) / "made.txt"
        >>> with replacing(place) as file:
        ...     _ = file.write(b"whole")
        >>> place.read_bytes()
        b'whole'
    """
    target = Path(path)
    if not target.name:
        raise IsADirectoryError(errno.EISDIR, "is a folder; expected a file", str(target))
    if not target.is_symlink() and os.path.lexists(target):  # a link is replaced itself, not its target
        require_regular(target)
    machine = crc32(socket.gethostname().encode())  # on a shared file system, others have processes of the same number
    beside = target.with_name(f".{target.name}.{machine:08x}-{os.getpid()}.part")
    try:
        beside.unlink(missing_ok=True)
        # a new one: never a FIFO or a link that stands there
        with open(beside, "x+b", opener=lambda name, flags: above_streams(os.open(name, flags, 0o666))) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, target)
    except OSError as error:
        error.filename = str(target) if error.filename == str(beside) else error.filename
        raise
    finally:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)
    sync_folder(target)


def sync_folder(path: str | Path) -> None:
    """Force the names in a folder to the disk, so that a new file survives a power loss.

    Raises:
        OSError: the system refuses it.
    """
    folder = os.open(Path(path).absolute().parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)

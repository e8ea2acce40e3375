"""One line of a journal: a record as JSON whose last member is the checksum of what stands before it.

    {"type":"resume","results":3,"crc32":"07d06fe0"}

CRC-32 finds every change of up to 32 bits in a row; the line stays JSON for other tools.
"""

from __future__ import annotations

from zlib import crc32

from kernelpoint.errors import JournalError
from kernelpoint.journal.records import FORMAT_VERSION

BEGIN = b'{"type":"run","version":'  # every journal of every version
MAGIC = b"%s%d," % (BEGIN, FORMAT_VERSION)
_FRAME = b',"crc32":"________"}'
_HEX = frozenset(b"0123456789abcdef")


def seal(text: str) -> bytes:
    r"""A line of the file from a record's JSON.

    >>> seal('{"type":"resume","results":3}')
    b'{"type":"resume","results":3,"crc32":"07d06fe0"}\n'
    """
    body = text[:-1].encode()
    return b'%s,"crc32":"%08x"}\n' % (body, crc32(body))


def unseal(line: bytes) -> bytes | None:
    """The JSON of a line without its newline; None where the line is not what was written."""
    body = line[: -len(_FRAME)]
    return body + b"}" if line == seal_of(body) else None


def seal_of(body: bytes) -> bytes:
    """A line without its newline, from a record's JSON without its closing brace."""
    return b'%s,"crc32":"%08x"}' % (body, crc32(body))


def check_begin(data: bytes, name: str) -> None:
    """Refuse a file that does not begin as a journal of this version does, as far as it goes.

    Raises:
        JournalError: it is no journal, or one of another version.
    """
    if data[: len(MAGIC)] == MAGIC[: len(data)]:
        return
    if not data.startswith(BEGIN):
        raise JournalError(f"{name} is not a journal (it begins {data[:40]!r}); it is left alone: name another file")
    version = data[len(BEGIN) :].split(b",")[0][:20].decode(errors="replace")
    raise JournalError(
        f"{name}: expected a journal of format version {FORMAT_VERSION}, got version {version}; read it with the KernelPoint "
        "that wrote it, or begin anew with another `journal:` or `resume: never`"
    )


def split_lines(data: bytes, name: str) -> tuple[list[bytes], int]:
    """The JSON of every record, and the length of the file up to the end of the last one.

    The last line may be torn: a beginning of what was to be written, with zeros or a newline behind it as file systems leave
    them. It is left out.

    Raises:
        JournalError: any other line that is not what was written, with its number.
    """
    check_begin(data, name)
    lines = data.rstrip(b"\0\n").split(b"\n")
    found: list[bytes] = []
    end = 0
    for number, line in enumerate(lines, start=1):
        record = unseal(line)
        behind = data[end + len(line) : end + len(line) + 1]
        if number == len(lines) and (behind != b"\n" if record is not None else not _is_whole(line)):
            break
        if record is None:
            raise JournalError(
                f"{name}:{number}: the line does not have its checksum: damaged, or edited by hand; a copy that ends before "
                "it can be resumed"
            )
        found.append(record)
        end += len(line) + 1
    return found, end


def _is_whole(line: bytes) -> bool:
    """True if a line that fails its check was written to its end: it has the frame of a checksum, but for one byte."""
    return any(len(part) == len(_FRAME) and _differing(part) <= 1 for part in (line[-20:], line[-21:-1]))


def _differing(part: bytes) -> int:
    return sum(c not in _HEX if frame == ord("_") else c != frame for c, frame in zip(part, _FRAME, strict=True))

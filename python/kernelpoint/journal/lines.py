"""One line of a journal: a record as JSON whose last member is a checksum that begins with the one of the line before.

    {"type":"resume","results":3,"chain":"07d06fe0"}

CRC-32 finds every change of up to 32 bits in a row. Since each checksum begins with the one before, a line stands in one place
of one journal only: a line that is deleted, doubled, moved or of another journal is found at the line after the change. A line
that stands alone has a member `crc32`, which begins with nothing.
"""

from __future__ import annotations

from zlib import crc32

from kernelpoint.errors import JournalError
from kernelpoint.journal.records import FORMAT_VERSION

BEGIN = b'{"type":"run","version":'  # every journal of every version
MAGIC = b"%s%d," % (BEGIN, FORMAT_VERSION)
FIRST = 0  # the checksum of a journal's first line begins with it
_FRAMES = b',"chain":"________"}', b',"crc32":"________"}'
_LENGTH = len(_FRAMES[0])
_HEX = frozenset(b"0123456789abcdef")


def seal(text: str, before: int | None = None) -> bytes:
    r"""Make a line of the journal from the JSON of a record by adding a checksum.

    Args:
        text: JSON of the record.
        before: checksum of the line before, on which this line's checksum depends; None for a line without predecessor.

    >>> seal('{"type":"resume","results":3}', FIRST)
    b'{"type":"resume","results":3,"chain":"07d06fe0"}\n'
    """
    return _line_of(text[:-1].encode(), before) + b"\n"


def unseal(line: bytes, before: int | None = None) -> bytes | None:
    """JSON of a record from its line of the journal (without newline); None if the checksum shows that the line was changed.

    Args:
        line: bytes of the line.
        before: checksum of the line before; None for a line without predecessor.
    """
    body = line[:-_LENGTH]
    return body + b"}" if line == _line_of(body, before) else None


def checksum_of(line: bytes) -> int:
    r"""Checksum that a line of the journal ends with. The checksum of the next line depends on it.

    >>> checksum_of(b'{"type":"resume","results":3,"chain":"0000000f"}')
    15
    """
    return int(line[-10:-2], 16)


def _line_of(body: bytes, before: int | None) -> bytes:
    """Build a journal line from a record's JSON without its closing brace."""
    if before is None:
        return b'%s,"crc32":"%08x"}' % (body, crc32(body))
    return b'%s,"chain":"%08x"}' % (body, crc32(body, before))


def check_begin(data: bytes, name: str) -> None:
    """Raise an error if a file does not begin like a journal of this version. The file may end inside its first line.

    Raises:
        JournalError: the file is no journal, or a journal of another version.
    """
    if data[: len(MAGIC)] == MAGIC[: len(data)]:
        return
    if not data.startswith(BEGIN):
        what = "an archive, as plans, selections and packs are" if data.startswith(b"PK") else f"begins {data[:40]!r}"
        raise JournalError(f"{name} is not a journal ({what}), and is not overwritten; name a journal (.kpjournal)")
    version = data[len(BEGIN) :].split(b",")[0].split(b"}")[0][:20].decode(errors="replace")
    raise JournalError(
        f"{name}: this journal has format version {version}, but this KernelPoint reads {FORMAT_VERSION}; read it with the "
        "KernelPoint that wrote it, or start a new run with another `journal:` or `resume: never`"
    )


def split_lines(data: bytes, name: str) -> tuple[list[bytes], int]:
    """Split a journal into the JSON of its records.

    An incomplete last line is left out. It can end with zeros or a newline, which file systems leave after a power loss.

    Returns:
        JSON of each record, and the length in bytes of the file up to the end of the last complete record.

    Raises:
        JournalError: a line before the last was changed; the message has its number.
    """
    check_begin(data, name)
    lines = data.rstrip(b"\0\n").split(b"\n")
    whole: list[bytes] = []
    end, before = 0, FIRST
    for number, line in enumerate(lines, start=1):
        record = unseal(line, before)
        behind = data[end + len(line) : end + len(line) + 1]
        if number == len(lines) and (behind != b"\n" if record is not None else not _is_whole(line)):
            break
        if record is None:
            raise JournalError(
                f"{name}:{number}: the journal is damaged in this line: {_complaint(line)}; to go on, delete this line and "
                "all later ones, and start the run again"
            )
        whole.append(record)
        end += len(line) + 1
        before = checksum_of(line)
    return whole, end


def _complaint(line: bytes) -> str:
    """Message on a journal line that was changed."""
    if line[-_LENGTH:].startswith(_FRAMES[0][:10]):
        return "the line does not have its checksum after the line before: damaged or moved, or lines are missing before it"
    return "the line does not have its checksum: damaged, or edited by hand"


def _is_whole(line: bytes) -> bool:
    """True if a line with a wrong checksum is complete, so it was changed and not cut."""
    parts = line[-_LENGTH:], line[-_LENGTH - 1 : -1]
    return any(len(part) == _LENGTH and _differing(part, frame) <= 1 for part in parts for frame in _FRAMES)


def _differing(part: bytes, frame: bytes) -> int:
    return sum(c not in _HEX if form == ord("_") else c != form for c, form in zip(part, frame, strict=True))

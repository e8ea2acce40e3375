"""A journal's bytes from the JSON of its records, with right checksums."""

from collections.abc import Iterable
from zlib import crc32

from kernelpoint.journal.lines import FIRST, checksum_of


def journal_of(records: Iterable[bytes]) -> bytes:
    """The lines of a journal, each chained to the one before; the JSON may be damaged."""
    data, before = b"", FIRST
    for record in records:
        line = chained(record, before)
        data, before = data + line + b"\n", checksum_of(line)
    return data


def chained(record: bytes, before: int) -> bytes:
    """One line without its newline, after a line of that checksum."""
    return b'%s,"chain":"%08x"}' % (record[:-1], crc32(record[:-1], before))

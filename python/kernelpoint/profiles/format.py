"""The contract of a profile format: recognise a file by its beginning, and read it."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import lzma
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import BinaryIO, ClassVar, TextIO

from kernelpoint.errors import ProfileError
from kernelpoint.files import open_regular
from kernelpoint.program import Program

PEEK = 1 << 16

# Certainty of a format about the beginning of a file; of several formats the most certain one reads it.
NOT_THIS, WORDS, STRUCTURE, SIGNATURE = 0, 1, 2, 3


@dataclass(frozen=True)
class Beginning:
    """First bytes of a file, decompressed, by which formats recognise it."""

    raw: bytes

    @cached_property
    def text(self) -> str:
        """First bytes as text, without byte order mark and leading blanks."""
        return self.raw.decode(encoding_of(self.raw), errors="replace").lstrip("\ufeff \r\n\t")

    @cached_property
    def first_line(self) -> str:
        """First line that is not empty."""
        return self.text.partition("\n")[0]

    @cached_property
    def columns(self) -> set[str]:
        """Column names, if the first line is the header of a CSV."""
        return {name.strip(' "\r') for name in self.first_line.split(",")}


class ProfileFormat(ABC):
    """Base of profile formats. The registry (`profiles.read.FORMATS`) finds the subclasses; other packages register theirs in
    the entry point group `kernelpoint.profiles`.

    Class attributes:
        description: the format as a user calls it, for the list of those allowed.
        ranges: a file of this format that shows ranges of launches, as a user calls it; empty: none does.

    Args:
        with_ranges: read the range of each launch too.
    """

    description: ClassVar[str]
    ranges: ClassVar[str] = ""

    def __init__(self, with_ranges: bool = False) -> None:
        self.with_ranges = with_ranges

    @classmethod
    @abstractmethod
    def certainty(cls, beginning: Beginning) -> int:
        """Certainty that a file with this beginning has the format: SIGNATURE (first bytes), STRUCTURE (layout), WORDS
        (words in it) or NOT_THIS.
        """

    @abstractmethod
    def read(self, path: Path, device: int | None) -> Program:
        """Read the profile in a file of this format.

        Args:
            path: the file, perhaps compressed (`open_decompressed`).
            device: the GPU, where the file has launches of several.

        Raises:
            ProfileError: the file is damaged, or is no full profile; the message says where.
        """


class TextFormat(ProfileFormat):
    """Base of formats that are text, plain or compressed."""

    def read(self, path: Path, device: int | None) -> Program:
        """Open the file as text and call `read_text`."""
        with open_text(path) as file:
            return self.read_text(file, str(path), device)

    @abstractmethod
    def read_text(self, file: TextIO, source: str, device: int | None = None) -> Program:
        """Read the profile in an open file; messages call it `source`."""


def open_decompressed(path: Path) -> BinaryIO:
    """Open a file for bytes, decompressed if it is gzip or xz.

    >>> _ = Path("times.gz").write_bytes(gzip.compress(b"TICKS"))
    >>> with open_decompressed(Path("times.gz")) as file:
    ...     file.read()
    b'TICKS'
    """
    file = open_regular(path)
    magic = file.read(6)
    file.seek(0)
    if magic.startswith(b"\x1f\x8b"):
        return gzip.open(file, "rb")  # type: ignore[return-value]
    if magic.startswith(b"\xfd7zXZ"):
        return lzma.open(file, "rb")  # type: ignore[return-value]
    return file


@contextmanager
def open_text(path: Path) -> Iterator[TextIO]:
    """Open a file as text with line ends unchanged, decompressed if it is gzip or xz."""
    with open_decompressed(path) as raw:
        encoding = encoding_of(raw.read(2))
        raw.seek(0)
        with io.TextIOWrapper(raw, encoding=encoding, errors="replace", newline="") as text:
            yield text


def encoding_of(beginning: bytes) -> str:
    """Text encoding of a file: UTF-16 if it begins with its mark (Windows shells write it), else UTF-8.

    >>> encoding_of("Name".encode("utf-16")), encoding_of(b"Name")
    ('utf-16', 'utf-8')
    """
    return "utf-16" if beginning[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "utf-8"


@contextmanager
def told_of(file: str) -> Iterator[None]:
    """Context manager that turns errors of reading a file into ProfileError with the file's name.

    >>> with told_of("times.csv"):
    ...     int("a few")
    Traceback (most recent call last):
    ...
    kernelpoint.errors.ProfileError: times.csv contains an impossible value: invalid literal for int() with base 10: 'a few'
    """
    try:
        yield
    except (OSError, EOFError, lzma.LZMAError, zlib.error, csv.Error) as error:
        raise ProfileError(f"{file} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    except (TypeError, OverflowError, ValueError, RecursionError) as error:  # numbers that no clock or counter shows
        raise ProfileError(f"{file} contains an impossible value: {' '.join(str(error).split())[:200]}") from None


def beginning_of(path: Path) -> Beginning:
    """Read the first bytes of a file, decompressed."""
    with open_decompressed(path) as raw:
        return Beginning(raw.peek(PEEK) if isinstance(raw, io.BufferedReader) else raw.read(PEEK))

"""Interface of profile formats, and the function that reads a file of any format. The first bytes of a file tell its format."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import lzma
import re
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
from kernelpoint.registry import Registry
from kernelpoint.simulators import simulators

PEEK = 1 << 20  # bytes; a program may print much before the table of its profiler

# Certainty of a format about the beginning of a file; of several formats the most certain one reads it.
NOT_THIS, WORDS, STRUCTURE, SIGNATURE = 0, 1, 2, 3


@dataclass(frozen=True)
class Beginning:
    """First bytes of a file, decompressed, from which the format of the file is recognised."""

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
    def is_trace_list(self) -> bool:
        """True for a list of traces, post-processed or not, whatever the name of its file."""
        return re.match(r"nvbit\s|Memcpy[HD]to|\S*kernel-\d\S*\.trace", self.text) is not None

    @cached_property
    def columns(self) -> set[str]:
        """Column names, if the first line is the header of a CSV."""
        return {name.strip(' "\r') for name in self.first_line.split(",")}


class ProfileFormat(ABC):
    """Base class of profile formats. A profile has times or counters of every launch of a program. Other packages register
    formats in the entry point group `kernelpoint.profiles`.

    Class attributes:
        description: name of the format in messages, such as the list of allowed formats.
        recognised: a certainty and a regular expression: the certainty that a file has the format if its text, without leading
            blanks, begins with a match.
        ranges: name, in messages, of files of this format that contain ranges (phases, layers, modules); empty if none do.

    Args:
        with_ranges: True to read the range that contains each launch.
    """

    description: ClassVar[str]
    recognised: ClassVar[tuple[int, str]] = (NOT_THIS, "")
    ranges: ClassVar[str] = ""

    def __init__(self, with_ranges: bool = False) -> None:
        self.with_ranges = with_ranges

    @classmethod
    def certainty(cls, beginning: Beginning) -> int:
        """Certainty that a file with this beginning has the format: SIGNATURE (from the first bytes), STRUCTURE (from the
        layout), WORDS (from words in the text) or NOT_THIS. By default, `recognised` decides.
        """
        certainty, pattern = cls.recognised
        return certainty if re.match(pattern, beginning.text) else NOT_THIS

    @abstractmethod
    def read(self, path: Path, device: int | None) -> Program:
        """Read the profile (times or counters of every launch) in a file of this format.

        Args:
            path: the file, perhaps compressed (`open_decompressed`).
            device: number of the GPU whose launches are read; needed if the file has launches of several GPUs.

        Raises:
            ProfileError: the file is damaged, or some launches are missing; the message says where.
        """


class TextFormat(ProfileFormat):
    """Base class of profile formats that are text, plain or compressed."""

    def read(self, path: Path, device: int | None) -> Program:
        """Open the file as text, and read its profile with `read_text`."""
        with open_text(path) as file:
            return self.read_text(file, str(path), device)

    @abstractmethod
    def read_text(self, file: TextIO, source: str, device: int | None = None) -> Program:
        """Read the profile in an open file. `source` is the name of the file in messages; `device` is the number of the GPU to
        read.
        """


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
def errors_of_file(file: str) -> Iterator[None]:
    """Context manager that turns errors of reading into ProfileError. `file` is the name of the file in messages.

    >>> with errors_of_file("times.csv"):
    ...     int("a few")
    Traceback (most recent call last):
    ...
    kernelpoint.errors.ProfileError: times.csv contains an impossible value: invalid literal for int() with base 10: 'a few'
    """
    try:
        yield
    except (OSError, EOFError, lzma.LZMAError, zlib.error, csv.Error) as error:
        raise ProfileError(f"{file} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    except (TypeError, ArithmeticError, ValueError, RecursionError) as error:  # numbers that no clock or counter shows
        raise ProfileError(f"{file} contains an impossible value: {' '.join(str(error).split())[:200]}") from None


def beginning_of(path: Path) -> Beginning:
    """Read the first bytes of a file, decompressed."""
    with open_decompressed(path) as raw:
        return Beginning(raw.read(PEEK))


FORMATS: Registry[ProfileFormat] = Registry(
    "profile format", ProfileFormat, "kernelpoint.profiles.formats", "kernelpoint.profiles"
)
# Beginnings of files that are given in the place of a profile -> what to do.
_NSYS = "a report of Nsight Systems: export it with `nsys export --type sqlite FILE`"
_PACKED = "packed by another program than gzip or xz, or twice: unpack it"
FOREIGN = {
    b"version https://git-lfs": "this is a pointer of Git LFS, not the file: fetch it with `git lfs pull`",
    b"QDSTRM": _NSYS,
    b"\x7fQDSTRM": _NSYS,
    b"SKIPPED": "nsys found no launch in the report: record it with --trace=cuda",
    b"NVR\x00": "a report of Nsight Compute: export it with `ncu --import FILE --csv --page raw`",
    b"==PROF==": "a log of ncu without a table of launches: run ncu with --csv; was any kernel profiled?",
    b"PAR1": "a Parquet file: export the report as SQLite or CSV",
    b"<": "a page of the web, not the file: was a login asked for?",
    b"PK\x03\x04": "a zip archive, as KernelPoint's plans, selections and packs are: if it has a profile, unpack it",
    b"BZh": _PACKED,
    b"\x28\xb5\x2f\xfd": _PACKED,
    b"\x1f\x8b": _PACKED,
    b"\xfd7zXZ": _PACKED,
}


def read_profile(path: str | Path, device: int | None = None, with_ranges: bool = False) -> Program:
    """Read the profile of a program: times or counters of every kernel launch, from a profiler or from a full simulation.

    The format is recognised from the content of the file. Formats are those of profiles/formats, of the simulators, and of
    other packages (entry point group `kernelpoint.profiles`).

    Args:
        path: the file, plain or compressed with gzip or xz.
        device: number of the GPU whose launches are read; needed if the file has launches of several GPUs.
        with_ranges: True to read the range (phase, layer, module) that contains each launch, if the format has ranges.

    Raises:
        ProfileError: the file is missing, of no known format, or damaged; the message says where.

    >>> profile = read_profile("times.csv")
    >>> profile.size, profile.names[0], profile.duration[:2].tolist()
    (6, 'axpy_f32', [5000.0, 5100.0])
    """
    path = Path(path)
    with errors_of_file(str(path)):
        beginning = beginning_of(path)
        formats = [*(kind for simulator in simulators() for kind in simulator.profile_formats), *FORMATS.load_all()]
        chosen = max(formats, key=lambda kind: kind.certainty(beginning))
        foreign = [what for start, what in FOREIGN.items() if beginning.raw.startswith(start)]
        if beginning.is_trace_list:
            foreign = [
                "a list of traces, not times of launches; post-traces-processing makes kernelslist.g of a list of raw traces"
            ]
        if chosen.certainty(beginning) > (WORDS if foreign else NOT_THIS):
            return chosen(with_ranges).read(path, device)
    if foreign:
        raise ProfileError(f"{path}: {foreign[0]}")
    allowed = ", ".join(kind.description for kind in formats)
    raise ProfileError(f"{path}: no known profile (it begins {beginning.first_line[:60]!r}); allowed: {allowed}")

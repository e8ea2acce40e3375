"""The contract of a source of ranges, and the launches that it names."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import ClassVar

from kernelpoint.admission import admitted_rows, kinds
from kernelpoint.errors import ProfileError
from kernelpoint.profiles.format import NOT_THIS, Beginning
from kernelpoint.program import Program
from kernelpoint.progress import Log


class RangeSource(ABC):
    """Base of sources of ranges. The registry (`ranges.read.SOURCES`) finds the subclasses; other packages register theirs in
    the entry point group `kernelpoint.ranges`.

    Class attributes:
        description: the source as a user calls it, for the list of those allowed.
        word: the value of `ranges:` that chooses a source without a file; empty of those that read one.
    """

    description: ClassVar[str]
    word: ClassVar[str] = ""

    @classmethod
    def certainty(cls, beginning: Beginning) -> int:
        """Certainty that a file with this beginning is of this source, on the scale of profile formats."""
        return NOT_THIS

    @abstractmethod
    def paths(self, file: Path, launches: Program, log: Log) -> list[str]:
        """Path of each launch, parts separated by "/"; empty for a launch in no range.

        Args:
            file: the source's file; the empty path of a source without one.

        Raises:
            ProfileError: the file is damaged, or is of other launches; the message says where.
        """


def matched(profile: Program, launches: Program, log: Log) -> list[str]:
    """Range of each launch of a run, from those of a profile's launches.

    Raises:
        ProfileError: fewer than half of them have a counterpart.
    """
    if not launches.names.distinct:
        if profile.size != launches.size:
            raise ProfileError(
                f"{profile.source}: {profile.size:,} launches; the run has {launches.size:,}, and nothing to match them by"
            )
        return list(profile.ranges)
    rows = admitted_rows(profile, launches, kinds(), lambda line: log(f"kernelpoint: ranges: {line}"))
    return list(profile.take(rows).ranges) or [""] * launches.size

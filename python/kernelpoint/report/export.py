"""The contract of a file that another program reads of a run, and their registry: one file each in `exports`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path

from kernelpoint.journal import Run
from kernelpoint.registry import Registry
from kernelpoint.report import End


@dataclass(frozen=True)
class Options:
    """Options of `kernelpoint report --as`."""

    like: Path | None = None
    clock: float | None = None
    end: End = "estimate"


class Export(ABC):
    """Base of the forms of `kernelpoint report --as`. Other packages register theirs in the entry point group
    `kernelpoint.exports`.
    """

    @abstractmethod
    def write(self, run: Run, path: Path, options: Options) -> str:
        """Write the file for a finished run; returns a description of its content.

        Raises:
            ConfigError, ProfileError, SetupError: an option, an input or a package is missing, or refused.
            JournalError: the run has not ended.
        """


EXPORTS: Registry[Export] = Registry("--as", Export, "kernelpoint.report.exports", "kernelpoint.exports")

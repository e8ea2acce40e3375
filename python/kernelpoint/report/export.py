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
    """Options of `kernelpoint report --as`: see its help."""

    like: Path | None = None
    clock: float | None = None
    end: End = "estimate"


class Export(ABC):
    """One form of `--as`. Other packages name theirs in the entry point group `kernelpoint.exports`."""

    @abstractmethod
    def write(self, run: Run, path: Path, options: Options) -> str:
        """Write the file of a finished run; what it has, for a line on it.

        Raises:
            ConfigError, ProfileError, SetupError: an option, an input or a package is missing, or refused.
            JournalError: the run has not ended.
        """


EXPORTS: Registry[Export] = Registry("--as", Export, "kernelpoint.report.exports", "kernelpoint.exports")

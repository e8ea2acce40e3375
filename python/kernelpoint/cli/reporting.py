"""What `kernelpoint report` reads and writes."""

from __future__ import annotations

from pathlib import Path

from kernelpoint.errors import ConfigError
from kernelpoint.report.launches import write_launches
from kernelpoint.report.paper import write_paper
from kernelpoint.report.result import Result
from kernelpoint.report.tables import write_ranges


def only_journal() -> Path:
    """Path of the only journal in the working directory.

    Raises:
        ConfigError: there is none, or several.
    """
    journals = sorted(Path().glob("*.kpjournal"))
    if len(journals) != 1:
        have = ", ".join(map(str, journals[:5])) or "none"
        raise ConfigError(
            f"RUN: expected one journal (.kpjournal) in this folder, found {have}; name the one to report"
        )
    return journals[0]


def exports(result: Result, csv: Path | None, ranges: Path | None, figures: Path | None) -> list[str]:
    """Write the requested export files; returns a line for each."""
    made, run = [], result.run
    if csv is not None:
        made.append(f"{csv}: {write_launches(run, csv):,} launches")
    if ranges is not None:
        made.append(f"{ranges}: {write_ranges(run, ranges):,} ranges")
    if figures is not None:
        made.append(f"{figures}: {', '.join(path.name for path in write_paper(result, figures))}")
    return made

"""Profile in the journal of a full run: every launch with its counters."""

from __future__ import annotations

from pathlib import Path
from typing import TextIO

from kernelpoint.errors import JournalError, ProfileError
from kernelpoint.journal import Run
from kernelpoint.journal.reader import parse
from kernelpoint.profiles.format import SIGNATURE, TextFormat
from kernelpoint.program import Program, ProgramBuilder


class KernelPointJournal(TextFormat):
    """Format of KernelPoint's journals (records of a run): counters of a run that simulated every launch.

    Launches are in the order of processes, then of launch indices. Kernel names are not in the file.

    Raises:
        ProfileError: the journal is damaged, or some launches of its run were not simulated.
    """

    description = "journal"
    recognised = SIGNATURE, r'{"type":"run"'

    def read_text(self, file: TextIO, source: str, device: int | None = None) -> Program:
        try:
            records, _ = parse(file.read().encode(), source)
        except JournalError as error:
            raise ProfileError(str(error)) from None
        run = Run(Path(source), records)
        if not records or len(run.results) != sum(run.launches):
            count = f"{len(run.results)} of {sum(run.launches)}" if records else "no"
            raise ProfileError(f"{source}: {count} launches have results; a profile needs a full run (`policy: all`)")
        builder = ProgramBuilder(source)
        for unit, result in run.results.items():
            builder.add("", order=unit, counters=result.counters)
        return builder.finish(device)

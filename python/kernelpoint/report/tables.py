"""Every launch of a run as CSV."""

from __future__ import annotations

import csv
from pathlib import Path

from kernelpoint.files import open_output
from kernelpoint.journal import Run
from kernelpoint.report.launches import launches
from kernelpoint.spreadsheet import safe_cell

COLUMNS = ("process", "launch", "kernel", "how", "stratum", "cycles")


def write_csv(run: Run, path: Path) -> int:
    """Write one line for each launch; the cycles add up to the estimated total. Returns the number of launches.

    Columns: process, launch (index in program order), kernel, how (simulated, estimated, projected), stratum (-1: simulated for
    certain), cycles, and every other counter where the launch was simulated.

    Raises:
        JournalError: the run has not ended.
        OSError: the file cannot be written.
    """
    others = [name for name in run.counters if name != "cycles"]
    rows = 0
    with open_output(path) as file:
        table = csv.writer(file)
        table.writerow(map(safe_cell, [*COLUMNS, *others]))
        for it in launches(run):
            rows += 1
            known = (it.process, it.launch, it.kernel, it.how, it.stratum, it.cycles)
            table.writerow(map(safe_cell, [*known, *(it.counters.get(name) for name in others)]))
    return rows

"""Writing synthetic traces: MB/s per family against copying finished text, and the time of lists of 100,000 launches.

Run: python lab/benchmarks/synth.py [--launches N]
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from time import perf_counter

from rich.console import Console
from rich.table import Table

from kernelpoint.randomness import generator
from kernelpoint_lab.synth.compose import compose
from kernelpoint_lab.synth.families import FAMILIES
from kernelpoint_lab.synth.lists import write_list
from kernelpoint_lab.synth.memory import Memory
from kernelpoint_lab.synth.workloads import WORKLOADS
from kernelpoint_lab.synth.writer import write_trace


def families(folder: Path) -> Table:
    """Each family at its medium size; the alternative reads the finished text line by line and writes it again."""
    table = Table("family", "CTAs", "warp instructions", "MB", "MB/s", "line copy MB/s", "ratio", title="Families")
    for family in FAMILIES.values():
        launch = family.build(Memory(), generator(0, "synth"), family.defaults("medium"))
        path = folder / "kernel-1.traceg"
        start = perf_counter()
        written = write_trace(launch, path, 1)
        seconds = perf_counter() - start
        start = perf_counter()
        with path.open(encoding="ascii") as source, (folder / "copy").open("w", encoding="ascii") as target:
            for line in source:
                target.write(line)
        copying = perf_counter() - start
        megabytes = written.bytes / 1e6
        table.add_row(
            family.name, f"{launch.ctas:,}", f"{written.warp_instructions:,}", f"{megabytes:.1f}",
            f"{megabytes / seconds:.0f}", f"{megabytes / copying:.0f}", f"{copying / seconds:.2f}",
        )  # fmt: skip
    return table


def lists(folder: Path, launches: int) -> Table:
    """The four workloads; the ratio is to writing every launch as a file of its own at the same speed."""
    columns = ("workload", "launches", "traces", "MB", "seconds", "MB/s", "warp instructions", "repeats")
    table = Table(*columns, title="Lists")
    for name in WORKLOADS:
        target = folder / name
        target.mkdir()
        request = compose(name, launches=launches)
        start = perf_counter()
        totals = write_list(request.sequence, target, launches, request.description)
        seconds = perf_counter() - start
        megabytes = totals.bytes / 1e6
        table.add_row(
            name, f"{totals.launches:,}", f"{totals.files:,}", f"{megabytes:.1f}", f"{seconds:.1f}",
            f"{megabytes / seconds:.0f}", f"{totals.warp_instructions:,}", f"{totals.launches / totals.files:.0f}",
        )  # fmt: skip
        for path in target.iterdir():
            path.unlink()
    return table


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--launches", type=int, default=100_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        console = Console()
        console.print(families(Path(temporary)))
        console.print(lists(Path(temporary), arguments.launches))

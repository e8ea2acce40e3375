"""Speed and memory of the embedded host: `python lab/benchmarks/host.py`.

Speed: warp instructions a second on a loaded GPU, for three kinds of launch, with reading the same traces as the
alternative measured in the same run (what is left is simulation). Memory: peak of the process for traces of growing
size at the same residency; the ratio to the smallest shows that it does not follow the trace.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from kernelpoint._native import scan
from kernelpoint.cli.host import program
from kernelpoint_lab.synth.launch import make_launch
from kernelpoint_lab.synth.lists import write_list
from kernelpoint_lab.synth.machine import Warps

REPEATS = 3
GPUS = ("v100", "rtx")
MEASURE = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""
LENGTH, WARPS = 128, 8  # instructions of a warp, warps of a CTA


def arithmetic(w: Warps, position: int) -> None:
    """An FFMA of one of a few independent chains."""
    w.op("FFMA", f"x{position % 8}", f"x{position % 8}", "stack")


def streaming(w: Warps, position: int) -> None:
    """One coalesced load in four instructions."""
    if position % 4:
        return arithmetic(w, position)
    base = ((w.cta * WARPS + w.warp) * LENGTH + position) * 128
    w.load("LDG.E", f"y{position % 8}", "at", (1 << 32) + base + 4 * w.lane)


def scattered(w: Warps, position: int) -> None:
    """One load in eight instructions, every lane in its own sector."""
    if position % 8:
        return arithmetic(w, position)
    sectors = np.random.default_rng([int(w.cta[0, 0]), position]).integers(1 << 24, size=(w.count, 32))
    w.load("LDG.E", f"y{position % 8}", "at", 32 * sectors)


def write(folder: Path, kind: Callable[[Warps, int], None], ctas: int) -> tuple[Path, int]:
    """The list of one launch of so many CTAs of eight warps, and its warp instructions."""

    def program(w: Warps) -> None:
        for name in ("at", *(f"x{number}" for number in range(8))):
            w.op("MOV", name, "RZ")
        for position in range(LENGTH):
            kind(w, position)

    made = make_launch(kind.__name__, kind.__name__, program, (ctas,), (32 * WARPS,), [])
    totals = write_list([made], folder, 1, {"name": kind.__name__})
    return folder / "kernelslist.g", totals.warp_instructions


def processor_seconds(action) -> float:
    """The least processor time of a few runs, of this process and its children: other loads do not count."""
    times = []
    for _ in range(REPEATS):
        start = os.times()
        action()
        times.append(sum(os.times()[:4]) - sum(start[:4]))
    return min(times)


def command(trace_list: Path, config: str) -> list[str]:
    return [str(program()), "-trace", str(trace_list), "-config", config]


def measure_speed(folder: Path) -> Table:
    names = ("launch", "GPU", "M warp inst", "host s", "M warp inst/s", "reading alone s", "host / reading")
    table = Table(*names, title="Speed on a loaded GPU")
    for kind in (arithmetic, streaming, scattered):
        trace_list, count = write(folder, kind, ctas=1500)
        instructions, reading = count / 1e6, processor_seconds(lambda: scan(str(folder / "kernel-1.traceg")))
        for config in GPUS:
            run = partial(subprocess.run, command(trace_list, config), check=True, stdout=subprocess.DEVNULL)
            host = processor_seconds(run)
            row = (f"{instructions:.2f}", f"{host:.2f}", f"{instructions / host:.1f}", f"{reading:.2f}")
            table.add_row(kind.__name__, config, *row, f"{host / reading:.1f}")
    return table


def measure_memory(folder: Path) -> Table:
    table = Table("CTAs", "trace MiB", "trace ratio", "peak MiB", "peak ratio", title="Peak memory on v100")
    first: tuple[float, float] | None = None
    for ctas in (700, 1400, 2800, 5600):
        trace_list, _ = write(folder, streaming, ctas)
        process = [sys.executable, "-S", "-c", MEASURE, *command(trace_list, "v100")]
        peak = int(subprocess.run(process, check=True, capture_output=True, text=True).stdout) / 1024
        size = (folder / "kernel-1.traceg").stat().st_size / 2**20
        first = first or (size, peak)
        table.add_row(str(ctas), f"{size:.0f}", f"{size / first[0]:.1f}", f"{peak:.0f}", f"{peak / first[1]:.2f}")
    return table


def main() -> None:
    console = Console()
    with tempfile.TemporaryDirectory() as folder:
        console.print(measure_speed(Path(folder)))
        console.print(measure_memory(Path(folder)))


if __name__ == "__main__":
    main()

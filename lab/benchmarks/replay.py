"""Gain and cost of replay: `python lab/benchmarks/replay.py [--seeds 3] [--workloads NAME,...]`.

Totals: synthesised workloads of 3,000 launches on the embedded host, sampled with the shipped defaults, against the full run.
*non-sampling*: sum over the simulated launches against the same launches of the full run. *held*: runs whose stated interval
holds the full run's total. Walks: one walk back in lists of growing length that repeat the same traces.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from kernelpoint.cli.host import program
from kernelpoint.journal import Run, load_run
from kernelpoint.randomness import generator
from kernelpoint.traces.replay import Replay, StateInfo
from kernelpoint_lab.commands.synth import synth

BUDGETS = (0.05, 0.01, 0.005)
GPUS = ("v100", "rtx")
LAUNCHES = 3000
LENGTHS = (10**4, 10**5, 10**6)
V100 = StateInfo(lines=49152, residency=(80, 32, 64, 65536, 98304), copies_fill=True)


def host(trace_list: Path, gpu: str, *options: str) -> None:
    """One run of the embedded host."""
    command = [str(program()), "-trace", str(trace_list), "-config", gpu, *options]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stderr[-2000:]}")


def full_run(trace_list: Path, gpu: str) -> np.ndarray:
    """Cycles of every launch, kept beside the list."""
    table = trace_list.with_name(f"full-{gpu}.csv")
    if not table.exists():
        unfinished = table.with_suffix(".part")
        host(trace_list, gpu, "-results", str(unfinished))
        unfinished.rename(table)
    with table.open() as file:
        return np.array([float(row["cycles"]) for row in csv.DictReader(file)])


def sampled_run(trace_list: Path, gpu: str, budget: float, seed: int, fast_model: str) -> Run:
    """A run with the shipped defaults, with the fast model or without."""
    with tempfile.TemporaryDirectory() as folder:
        journal, config = Path(folder) / "run.kpjournal", Path(folder) / "kernelpoint.yaml"
        config.write_text(
            f"version: 1\npolicy: kernelpoint\nerror_budget: {{relative_error: {budget}}}\nseed: {seed}\njournal: {journal}\n"
            f"fast_model: {fast_model}\n"
        )
        host(trace_list, gpu, "-kernel_sampling", str(config))
        return load_run(journal)


def totals_row(trace_list: Path, gpu: str, budget: float, seeds: int, fast_model: str) -> tuple[str, ...]:
    """Errors of the estimate and of the simulated launches, over seeds."""
    full = full_run(trace_list, gpu)
    errors, rests, speedups, widths, held = [], [], [], [], 0
    for seed in range(seeds):
        run = sampled_run(trace_list, gpu, budget, seed, fast_model)
        end = run.ended()
        if end.estimate is None or end.half_width is None:
            sys.exit(f"{trace_list} {gpu} {budget} seed {seed}: no bound is stated")
        errors.append(end.estimate / full.sum() - 1)
        simulated = {unit: result.counters["cycles"] for unit, result in run.results.items()}
        rests.append(sum(simulated.values()) / full[list(simulated)].sum() - 1)
        speedups.append(end.cycle_speedup or 0.0)
        widths.append(end.half_width / end.estimate)
        held += abs(end.estimate - full.sum()) <= end.half_width
    return (
        f"{100 * budget:g} %",
        ", ".join(f"{100 * e:+.3f}" for e in errors),
        f"{100 * max(rests, key=abs):+.4f}",
        f"{100 * max(widths):.2f}",
        f"{held}/{seeds}",
        f"{statistics.harmonic_mean(speedups):.1f}x",
    )


def totals(folder: Path, workloads: list[str], seeds: int, fast_model: str) -> Table:
    """Every workload on both GPUs at every budget."""
    names = ("workload", "GPU", "budget", "errors %", "non-sampling %", "stated %", "held", "cycle speedup")
    table = Table(*names, title=f"Totals against the full run, {LAUNCHES:,} launches, {seeds} seeds")
    for workload in workloads:
        if not (folder / workload / "kernelslist.g").exists():
            synth(workload, folder / workload, launches=LAUNCHES)
        for gpu in GPUS:
            for budget in BUDGETS:
                table.add_row(
                    workload, gpu, *totals_row(folder / workload / "kernelslist.g", gpu, budget, seeds, fast_model)
                )
    return table


def walks(folder: Path, workload: str) -> Table:
    """Time of one walk back from the middle of longer and longer lists of the same traces, with footprints in memory."""
    names = ("launches", "opened s", "walk ms, median", "walk ms, most", "touches", "launches passed", "MiB kept")
    table = Table(*names, title=f"Walks over lists that repeat the traces of {workload}")
    lines = (folder / workload / "kernelslist.g").read_text().split()
    for length in LENGTHS:
        repeated = folder / workload / f"repeated-{length}.g"
        repeated.write_text("\n".join((lines * (length // len(lines) + 1))[:length]) + "\n")
        count = sum(line.startswith("kernel") for line in repeated.read_text().split())
        start = time.perf_counter()
        replay = Replay(str(repeated), V100)
        opened = time.perf_counter() - start
        replay.before(count - 1)  # reads the footprints
        times, found = [], replay.before(count - 1)
        for launch in generator(0, "walks").integers(count // 2, count, 20).tolist():
            start = time.perf_counter()
            found = replay.before(launch)
            times.append(1e3 * (time.perf_counter() - start))
        cells = (opened, statistics.median(times), max(times))
        table.add_row(
            f"{length:,}", *(f"{x:.2f}" for x in cells), f"{len(found.touches):,}", f"{found.launches:,}",
            f"{replay.memory / 2**20:.2f}",
        )  # fmt: skip
        repeated.unlink()
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--workloads", default="transformer-decode,cnn-inference,iterative-solver")
    parser.add_argument("--folder", type=Path, help="where traces and full runs are kept (default: a temporary one)")
    parser.add_argument("--fast-model", default="auto", help="auto (the default of a run) or off")
    given = parser.parse_args()
    console, workloads = Console(width=160), given.workloads.split(",")
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        console.print(totals(folder, workloads, given.seeds, given.fast_model))
        console.print(walks(folder, workloads[0]))


if __name__ == "__main__":
    main()

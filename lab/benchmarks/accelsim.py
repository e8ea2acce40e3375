"""Sampled runs in Accel-Sim beside a full run of the same list: processor time, cycles and errors, as one record.

    python lab/benchmarks/accelsim.py ACCEL-SIM.OUT LIST... --config FILE --config FILE --latency 5000 -o RECORD.json

The sampled runs are made while the full run goes on, spread over the whole of it, so all times have one machine and one load.
Each has an empty cache: its time includes reading the list and planning. Times are processor seconds, user and system, of the
simulator and of all that it starts. A list that the record has already is not run again. `docs/generated.py` makes the tables
of the documents from `docs/evidence/accelsim.json`, which is such a record. `--full NAME=CYCLES` names the total of a full run
that was made before: then only the sampled runs are made, and the record has no time of the full run.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

from kernelpoint.journal import ValidationRecord, load_run

BUDGETS = [0.05, *10 * [0.01], 0.005]
SEEDS = [1, *range(1, 11), 1]
TOTAL = re.compile(r"gpu_tot_sim_cycle = (\d+)")
LAUNCH = re.compile(rb"kernel_launch_uid = (\d+)")


def run(command: list[str], folder: Path, cache: Path) -> Callable[[], float]:
    """Start a simulator in a folder; the function that waits for it returns its processor seconds."""
    with (folder / "out.txt").open("wb") as out:
        environment = {**os.environ, "KERNELPOINT_CACHE": str(cache)}
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=out, stderr=subprocess.STDOUT)

    def wait() -> float:
        _, status, used = os.wait4(process.pid, 0)
        if status:
            raise SystemExit(f"{' '.join(command)}: exit {os.waitstatus_to_exitcode(status)}; see {folder}/out.txt")
        return used.ru_utime + used.ru_stime

    return wait


def launches_done(output: Path) -> int:
    """Number of launches that a simulator has ended, read from the last lines of its output."""
    with output.open("rb") as file:
        file.seek(max(0, output.stat().st_size - (1 << 20)))
        return max((int(number) for number in LAUNCH.findall(file.read())), default=0)


def sampled(command: list[str], folder: Path, budget: float, seed: int) -> dict[str, Any]:
    """The record of one sampled run."""
    (folder / "kernelpoint.yaml").write_text(
        f"version: 1\npolicy: kernelpoint\nerror_budget: {{relative_error: {budget}}}\nseed: {seed}\n"
    )
    seconds = run([*command, "-kernel_sampling", "kernelpoint.yaml"], folder, folder / "cache")()
    journal = load_run(folder / "run.kpjournal")
    summary = journal.ended()
    active = summary.counters["active_cycles"]
    return {
        "budget": budget,
        "seed": seed,
        "seconds": round(seconds, 2),
        "simulated": summary.simulated,
        "validation": sum(1 for _ in journal.of(ValidationRecord)),
        "passes": summary.passes,
        "cycles": summary.estimate,
        "half_width": summary.half_width,
        "active_cycles": active.estimate,
        "active_half_width": active.half_width,
        "cycle_speedup": summary.cycle_speedup,
    }


def measure(
    program: Path, trace_list: Path, configs: list[Path], latency: int, folder: Path, full_total: int | None
) -> dict[str, Any]:
    """The record of one list: its full run, and the sampled runs that were made meanwhile."""
    options = [word for file in configs for word in ("-config", file.name)]
    command = [str(program), "-trace", str(trace_list), *options]
    for name in ("full", *map(str, range(len(BUDGETS)))):
        shutil.copytree(configs[0].parent, folder / name)
    launches = sum(line.startswith("kernel") for line in trace_list.read_text().splitlines())
    loads = [os.getloadavg()[0]]
    full = run(command, folder / "full", folder / "full") if full_total is None else None
    runs = []
    for number, (budget, seed) in enumerate(zip(BUDGETS, SEEDS, strict=True)):
        while full is not None and launches_done(folder / "full" / "out.txt") < launches * number / len(BUDGETS):
            time.sleep(1.0)
        runs.append(sampled(command, folder / f"{number}", budget, seed))
        loads.append(os.getloadavg()[0])
    seconds = full() if full is not None else None
    loads.append(os.getloadavg()[0])
    output = folder / "full" / "out.txt"
    total = full_total or int(TOTAL.findall(output.read_text(errors="replace"))[-1])
    return {
        "list": trace_list.stem,
        "launches": launches,
        "latency": latency,
        "full_cycles": total,
        "full_seconds": round(seconds, 2) if seconds is not None else None,
        "load": [round(min(loads), 1), round(max(loads), 1)],
        "date": date.today().isoformat(),
        "runs": runs,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path)
    parser.add_argument("lists", type=Path, nargs="+")
    parser.add_argument(
        "--config", type=Path, action="append", required=True, help="files in one folder, which is copied"
    )
    parser.add_argument(
        "--latency", type=int, required=True, help="constant cycles of each launch in that configuration"
    )
    parser.add_argument("--full", action="append", default=[], metavar="NAME=CYCLES")
    parser.add_argument("-o", "--output", type=Path, required=True)
    given = parser.parse_args()
    totals = {name: int(cycles) for name, cycles in (text.split("=") for text in given.full)}
    record = json.loads(given.output.read_text()) if given.output.exists() else []
    for trace_list in given.lists:
        if any(row["list"] == trace_list.stem for row in record):
            continue
        with tempfile.TemporaryDirectory() as folder:
            program, configs = given.program.resolve(), [file.resolve() for file in given.config]
            total = totals.get(trace_list.stem)
            record.append(measure(program, trace_list.resolve(), configs, given.latency, Path(folder), total))
        given.output.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()

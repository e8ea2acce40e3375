"""Sampled runs in Accel-Sim or MacSim beside a full run of the same list: processor time, cycles and errors, as one record.

    python lab/benchmarks/simulators.py accelsim ACCEL-SIM.OUT LIST... --config gpgpusim.config --config trace.config \
        --latency 5000 -o RECORD.json
    python lab/benchmarks/simulators.py macsim MACSIM kernel_config.txt... --config params.in -o RECORD.json

The sampled runs are made while the full run goes on, spread over the whole of it, so all times have one machine and one load.
Planning of a list is measured once: the first sampled run is made with an empty cache and again with the filled one, and the
difference is added to the time of every run. Times are processor seconds, user and system, of the simulator and of all that it
starts. A configuration is named by the folder of its files. A list that the record has already for
this configuration is not run again. `docs/generated.py` makes the tables of documents from `docs/evidence/accelsim.json` and
`docs/evidence/macsim.json`, which are such records.

A list is named by its file or, in MacSim's layout, by its folder; `NAME=LIST` gives another name.
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
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from simulator_output import of_macsim

from kernelpoint.journal import load_run


class Simulator(NamedTuple):
    """Command line of a simulator, and patterns to read its output.

    Attributes:
        words: function of a list and of configuration files in the run's folder; returns the arguments of the program.
        sampling: option before the name of KernelPoint's configuration file.
        launch: pattern of the launch number in the output of a run, which matches once for each launch that begins or ends.
        total: pattern of the cycles of a full run in the file `total_file`.
    """

    words: Callable[[Path, Sequence[str]], list[str]]
    sampling: str
    launch: re.Pattern[bytes]
    total: re.Pattern[str]
    total_file: str


SIMULATORS = {
    "accelsim": Simulator(
        lambda trace_list, configs: ["-trace", str(trace_list), *(w for file in configs for w in ("-config", file))],
        "-kernel_sampling ",
        re.compile(rb"kernel_launch_uid = (\d+)"),
        re.compile(r"gpu_tot_sim_cycle = (\d+)"),
        "out.txt",
    ),
    "macsim": Simulator(
        lambda trace_list, configs: ["--debug_print_trace=0", "--debug_trace_read=0"],
        "--kernel_sampling=",
        re.compile(rb"current_index:(\d+)"),
        re.compile(r"^CYC_COUNT_TOT\s+(\d+)", re.MULTILINE),
        "general.stat.out",
    ),
}


def start(command: list[str], folder: Path, cache: Path) -> Callable[[], float]:
    """Start a simulator in a folder; returns a function that waits for its end and returns its processor seconds."""
    with (folder / "out.txt").open("wb") as out:
        environment = {**os.environ, "KERNELPOINT_CACHE": str(cache)}
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=out, stderr=subprocess.STDOUT)

    def wait() -> float:
        _, status, used = os.wait4(process.pid, 0)
        if status:
            raise SystemExit(f"{' '.join(command)}: exit {os.waitstatus_to_exitcode(status)}; see {folder}/out.txt")
        return used.ru_utime + used.ru_stime

    return wait


def last_launch(output: Path, simulator: Simulator) -> int:
    """Number of the last launch that a simulator names in its output."""
    with output.open("rb") as file:
        file.seek(max(0, output.stat().st_size - (1 << 20)))
        return max((int(number) for number in simulator.launch.findall(file.read())), default=0)


def sampled(command: list[str], option: str, folder: Path, cache: Path, budget: float, seed: int) -> dict[str, Any]:
    """Make one sampled run with a simulator, and return its results as a record."""
    (folder / "kernelpoint.yaml").write_text(
        f"version: 1\npolicy: kernelpoint\nerror_budget: {{relative_error: {budget}}}\nseed: {seed}\n"
    )
    seconds = start([*command, *f"{option}kernelpoint.yaml".split()], folder, cache)()
    journal = load_run(folder / "run.kpjournal")
    summary = journal.ended()
    record = {
        "budget": budget,
        "seed": seed,
        "seconds": round(seconds, 2),
        "simulated": summary.simulated,
        "validation": len(journal.validations),
        "passes": summary.passes,
        "met": summary.met,
        "cycles": summary.estimate,
        "half_width": summary.half_width,
        "cycle_speedup": summary.cycle_speedup,
    }
    if active := summary.counters.get("active_cycles"):
        record |= {"active_cycles": active.estimate, "active_half_width": active.half_width}
    return record


def measure(
    simulator: Simulator, program: Path, name: str, trace_list: Path, configs: list[Path], given: argparse.Namespace
) -> dict[str, Any]:
    """Make the full run of a list and, at the same time, sampled runs of it; return their results as a record."""
    command = [str(program), *simulator.words(trace_list, [file.name for file in configs])]
    runs = [(budget, seed) for budget, count in given.runs for seed in range(1, count + 1)]
    with tempfile.TemporaryDirectory() as scratch:
        cache = Path(scratch) / "cache"
        folders = [Path(scratch) / part for part in ("full", *map(str, range(len(runs))), "unplanned")]
        for folder in folders:
            shutil.copytree(configs[0].parent, folder)
            (folder / "trace_file_list").write_text(f"1\n{trace_list}\n")
        lines = trace_list.read_text().splitlines()
        launches = sum(line.startswith(("kernel", "./Kernel")) for line in lines)
        loads, records = [os.getloadavg()[0]], []
        full = start(command, folders[0], cache)
        unplanned = sampled(command, simulator.sampling, folders[-1], cache, *runs[0])
        for number, (budget, seed) in enumerate(runs):
            while last_launch(folders[0] / "out.txt", simulator) < (launches - 1) * number / len(runs):
                time.sleep(1.0)
            records.append(sampled(command, simulator.sampling, folders[number + 1], cache, budget, seed))
            loads.append(os.getloadavg()[0])
        planning = max(0.0, unplanned["seconds"] - records[0]["seconds"])
        for record in records:
            record["seconds"] = round(record["seconds"] + planning, 2)
        seconds = full()
        loads.append(os.getloadavg()[0])
        if given.simulator == "macsim":
            for folder, record in zip(folders[1:-1], records, strict=True):
                kinds = [row.verdict for row in of_macsim(folders[0], folder)]
                record["totals"] = [kinds.count("exact"), kinds.count("yes"), len(kinds)]
        output = (folders[0] / simulator.total_file).read_text(errors="replace")
        return {
            "list": name,
            "configuration": configs[0].parent.name,
            "launches": launches,
            "latency": given.latency,
            "full_cycles": int(simulator.total.findall(output)[-1]),
            "full_seconds": round(seconds, 2),
            "planning_seconds": round(planning, 2),
            "load": [round(min(loads), 1), round(max(loads), 1)],
            "date": date.today().isoformat(),
            "runs": records,
        }


def runs_of(text: str) -> tuple[float, int]:
    """Parse `BUDGET:SEEDS`, such as 0.01:10, into the budget and the number of seeds."""
    budget, _, seeds = text.partition(":")
    return float(budget), int(seeds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("simulator", choices=SIMULATORS)
    parser.add_argument("program", type=Path)
    parser.add_argument("lists", nargs="+", metavar="[NAME=]LIST")
    parser.add_argument("--config", type=Path, action="append", required=True, help="files in one folder, which is copied")
    parser.add_argument("--latency", type=int, default=0, help="constant cycles of each launch in that configuration")
    parser.add_argument("--runs", type=runs_of, nargs="+", metavar="BUDGET:SEEDS", default=[(0.05, 1), (0.01, 10), (0.005, 1)])
    parser.add_argument("-o", "--output", type=Path, required=True)
    given = parser.parse_args()
    record = json.loads(given.output.read_text()) if given.output.exists() else []
    for text in given.lists:
        name, _, path = text.rpartition("=")
        trace_list = Path(path).resolve()
        name = name or (trace_list.parent.name if given.simulator == "macsim" else trace_list.stem)
        configs = [file.resolve() for file in given.config]
        if any((row["list"], row["configuration"]) == (name, configs[0].parent.name) for row in record):
            continue
        record.append(measure(SIMULATORS[given.simulator], given.program.resolve(), name, trace_list, configs, given))
        given.output.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()

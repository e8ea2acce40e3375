"""Every statistic of a simulator's own output, of a full run and of a sampled run of the same list, as a table.

    python lab/benchmarks/simulator_output.py accelsim TREE FULL/out.txt SAMPLED/out.txt
    python lab/benchmarks/simulator_output.py power FULL/accelwattch_power_report.log FULL/out.txt SAMPLED/REPORT
    python lab/benchmarks/simulator_output.py macsim FULL SAMPLED          # folders with *.stat.out

Accel-Sim's outputs are read by upstream's own util/job_launching/get_stats.py of TREE, with each of its shipped regex files.
`full`, `sampled`: amounts; `+-`: half-width that the sampled run states; `inside`: whether the full run's amount lies within
it, `exact` where the half-width is 0 and both are equal, `nan` where the sampled run states none.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# Names that the shipped regexes read -> the counter whose half-width stands in the same output
COUNTERS = {
    "gpu_tot_sim_insn": "instructions",
    "gpu_tot_sim_cycle": "cycles",
    "gpu_tot_ipc": "ipc",
    "L2_cache_stats_breakdown[GLOBAL_ACC_R][HIT]": "l2_global_read_hits",
    "L2_cache_stats_breakdown[GLOBAL_ACC_R][TOTAL_ACCESS]": "l2_global_reads",
    "L2_cache_stats_breakdown[GLOBAL_ACC_W][HIT]": "l2_global_write_hits",
    "L2_cache_stats_breakdown[GLOBAL_ACC_W][TOTAL_ACCESS]": "l2_global_writes",
    "Total_core_cache_stats_breakdown[GLOBAL_ACC_R][TOTAL_ACCESS]": "l1_global_reads",
    "Total_core_cache_stats_breakdown[GLOBAL_ACC_R][HIT]": "l1_global_read_hits",
    "Total_core_cache_stats_breakdown[GLOBAL_ACC_W][HIT]": "l1_global_write_hits",
    "Total_core_cache_stats_breakdown[GLOBAL_ACC_W][TOTAL_ACCESS]": "l1_global_writes",
    "Total_core_cache_stats_breakdown[GLOBAL_ACC_R][MSHR_HIT]": "l1_global_reads_merged",
    "gpgpu_n_tot_w_icount": "warp_instructions",
    "total dram reads": "dram_reads",
    "total dram writes": "dram_writes",
    "gpgpu_n_shmem_bkconflict": "shared_bank_conflicts",
    "gpgpu_n_l1cache_bkconflict": "l1_bank_conflicts",
}
INTERVAL = 500  # cycles between samples of power: -gpgpu_runtime_stat of the tested configurations
RULE = "-" * 100  # between tables of get_stats.py
LETTERS = re.compile(r"^([A-Za-z_][A-Za-z_0-9]*)\s+([0-9.eE+-]+)\s+(\S+)\s*$")


@dataclass(frozen=True)
class Row:
    """One statistic of a simulator's output: its value in the full run, in the sampled run, and the stated half-width."""

    name: str
    full: float
    sampled: float
    half_width: float

    @property
    def verdict(self) -> str:
        if math.isnan(self.sampled):
            return "nan"
        if math.isnan(self.half_width):
            return "-"
        if self.half_width == 0.0 and self.full == self.sampled:
            return "exact"
        slack = 1e-4 * abs(self.full) + 0.5 * (self.full == int(self.full))  # digits that the simulator prints
        return "yes" if abs(self.full - self.sampled) <= self.half_width + slack else "NO"


def amount(text: str) -> float:
    """Parse a printed number; nan if the text is no number."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def values(path: Path) -> dict[str, float]:
    """Last value of each line `name = value` in a simulator's output, by name."""
    last: dict[str, float] = {}
    for line in path.read_text(errors="replace").splitlines():
        name, separator, value = line.partition(" = ")
        if separator:
            last[name.strip()] = amount(value)
    return last


def scraped(tree: Path, out: Path, regexes: Path) -> dict[str, float]:
    """Values that Accel-Sim's script get_stats.py extracts from an output, by regular expression."""
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work) / "runs" / "app" / "NO_ARGS" / "GPU-SASS"
        folder.mkdir(parents=True)
        (folder / "app-NO_ARGS.job.o1").symlink_to(out.resolve())
        log = Path(work) / "log"
        log.write_text("26-01-01-00-00-00 1 app NO_ARGS GPU-SASS job\n")
        options = ["-l", str(log), "-r", str(Path(work) / "runs"), "-s", str(regexes)]
        environment = {**os.environ, "GPGPUSIM_ROOT": str(tree / "gpu-simulator" / "gpgpu-sim")}
        done = subprocess.run(
            [sys.executable, "-B", "get_stats.py", *options],
            cwd=tree / "util" / "job_launching",
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
    statistics = {}
    for table in done.stdout.split(RULE)[1:]:
        lines = [line for line in table.splitlines() if line.strip(",")]
        rows = [line for line in lines if line.startswith("app/")]
        if rows and not lines[0].startswith(("Accel-Sim-build", "GPGPU-Sim-build")):
            statistics[lines[0].rstrip(",")] = amount(rows[-1].rsplit(",", 1)[1])
    return statistics


def name_of(regex: str) -> str:
    """Name of the statistic that a regular expression of get_stats.py matches.

    >>> name_of("gpu_tot_ipc\\\\s*=\\\\s*(.*)")
    'gpu_tot_ipc'
    """
    name = re.split(r"\\s[*+]=|\\s[*+]\\s|\\s\*=|\\s\+=", regex.removeprefix("\\s+"))[0]
    return name.replace("\\[", "[").replace("\\]", "]")


def of_accelsim(tree: Path, full: Path, sampled: Path) -> Iterator[Row]:
    """Compare every statistic that get_stats.py extracts between the full run and the sampled run of Accel-Sim."""
    stated = values(sampled)
    for regexes in sorted((tree / "util" / "job_launching" / "stats").glob("*.yml")):
        truth, estimates = scraped(tree, full, regexes), scraped(tree, sampled, regexes)
        for regex, value in truth.items():
            name = name_of(regex)
            half = stated.get(f"kernelpoint_{COUNTERS.get(name, '?')}_half_width", math.nan)
            yield Row(name, value, estimates.get(regex, math.nan), half)


def of_power(full: Path, out: Path, sampled: Path) -> Iterator[Row]:
    """Compare the average powers in AccelWattch's reports, weighted by the power samples of each launch."""
    samples, end = [], 0
    for line in out.read_text().splitlines():
        if line.startswith("gpu_sim_cycle = "):
            begin, end = end, end + int(line.split("=")[1])
            samples.append(end // INTERVAL - begin // INTERVAL)
    watts: dict[str, list[float]] = {}
    for line in full.read_text().splitlines():
        name, separator, value = line.partition(" = ")
        if separator and name.startswith("gpu_avg_"):
            watts.setdefault(name.rstrip(","), []).append(amount(value))
    stated = {name.rstrip(","): value for name, value in values(sampled).items()}
    half = stated.get("kernelpoint_average_power_half_width", math.nan)
    tail = values(full)["gpu_tot_avg_power"]
    yield Row("gpu_tot_avg_power", tail, stated["gpu_tot_avg_power"], half)
    for name, each in watts.items():
        half_width = stated.get(f"kernelpoint_avg_{name.removeprefix('gpu_avg_')}_half_width")
        if half_width is not None and len(each) == len(samples):
            mean = sum(w * n for w, n in zip(each, samples, strict=True) if n) / sum(samples)
            yield Row(name, mean, stated[name], half_width)


def statistics_of(folder: Path) -> dict[tuple[str, str], float]:
    """Statistics in the `*.stat.out` files of MacSim, by file and name."""
    statistics = {}
    for path in sorted(folder.glob("*.stat.out")):
        for line in path.read_text(errors="replace").splitlines():
            if parts := LETTERS.match(line):
                statistics[path.name, parts[1]] = amount(parts[2])
    return statistics


def of_macsim(full: Path, sampled: Path) -> Iterator[Row]:
    """Compare every statistic of MacSim, except those that the sampled run marks as counts over simulated launches only."""
    truth, sample = statistics_of(full), statistics_of(sampled)
    for (file, name), value in truth.items():
        if name == "EXE_TIME" or file.startswith("kernelpoint") or (file, name + "_SIMULATED") in sample:
            continue
        widths = (sample.get((file, name + end), math.nan) for end in ("_HALF_WIDTH", "_SAMPLING_HALF_WIDTH"))
        total = sample.get((file, name), math.nan)
        yield Row(f"{file.split('.')[0]} {name}", value, total, min(widths, key=math.isnan))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=("accelsim", "power", "macsim"))
    parser.add_argument("paths", nargs="+", type=Path)
    asked = parser.parse_args()
    make = {"accelsim": of_accelsim, "power": of_power, "macsim": of_macsim}[asked.kind]
    rows = list(make(*asked.paths))
    print("| Statistic | Full | Sampled | +- | Inside |\n|---|---|---|---|---|")
    for row in rows:
        numbers = " | ".join(f"{x:,.6g}" if abs(x) < 1e4 else f"{x:,.0f}" for x in (row.full, row.sampled, row.half_width))
        print(f"| `{row.name}` | {numbers} | {row.verdict} |")
    counts = {kind: sum(row.verdict == kind for row in rows) for kind in ("yes", "exact", "NO", "nan", "-")}
    print("\n" + ", ".join(f"{kind}: {count}" for kind, count in counts.items()))


if __name__ == "__main__":
    main()

"""Full runs against sampled runs in the embedded host: one table per trace list and simulated GPU.

    python lab/benchmarks/sampling.py LIST... [--gpu v100] [--policies random,gcl,kernelpoint] [--budgets 0.05,0.01]
        [--seeds 3] [--json FILE] [--work DIR]

Each line is the mean over the seeds, with the worst error. CPU seconds are user + system of the whole simulator process;
"beyond lat." is the error on cycles less launches times launch latency; "non-sampl." is how much longer the simulated
launches took than the same ones in the full run, because of what was skipped. Plans are made beforehand (`plan s`, once).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from kernelpoint.cli.host import program
from kernelpoint.config import parse_config
from kernelpoint.journal import load_run
from kernelpoint.policies.registry import load_policy
from kernelpoint.session.host_info import HostInfo
from kernelpoint.session.planning import plan_for
from kernelpoint.workload import population_of

HEADINGS = (
    f"{'policy':<12}{'budget':>7}{'simulated':>11}{'passes':>7}{'cycle x':>9}{'CPU x':>8}{'wall x':>8}{'mean |err|':>12}"
    f"{'max |err|':>11}{'beyond lat.':>12}{'non-sampl.':>11}{'bound':>9}{'held':>7}{'1/stream':>9}{'plan s':>8}{'MiB':>6}"
)


@dataclass
class Measured:
    """One run of the simulator."""

    summary: dict
    wall: float
    cpu: float
    mib: float
    plan: float
    cycles: dict[int, float]  # of each simulated launch


def simulate(traces: Path, gpu: str, policy: str, budget: float, seed: int, work: Path) -> Measured:
    journal = work / f"{policy}-{budget}-{seed}.kpjournal"
    content = {
        "version": 1,
        "policy": policy,
        "error_budget": {"relative_error": budget},
        "journal": str(journal),
        "resume": "never",
        "seed": seed,
    }
    config = work / "kernelpoint.yaml"
    config.write_text(json.dumps(content))
    started = time.monotonic()
    settings = parse_config(content)
    population = population_of(HostInfo(simulator="benchmark", list_paths=(str(traces),)), seed)
    plan_for(settings, load_policy(policy), population, lambda line: None)
    planned = time.monotonic()
    command = [str(program()), "-trace", str(traces), "-config", gpu, "-kernel_sampling", str(config)]
    with (work / "errors").open("w+") as errors:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors, cwd=work)
        usage, peak = wait_and_watch(process)
        if process.returncode:
            errors.seek(0)
            sys.exit(f"{' '.join(command)} ended with {process.returncode}:\n{errors.read()[-2000:]}")
    wall = time.monotonic() - planned
    run = load_run(journal)
    cycles = {unit: r.counters["cycles"] for unit, r in run.results.items()}
    summary = run.content()
    journal.unlink()
    return Measured(summary, wall, usage.ru_utime + usage.ru_stime, peak, planned - started, cycles)


def wait_and_watch(process: subprocess.Popen) -> tuple[resource.struct_rusage, float]:
    """Resources of a process that is run to its end, and its peak memory in MiB.

    The peak is read from the running process: the figure that the system keeps for a child begins at its parent's size.
    """
    peak = 0.0
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return usage, peak
        with contextlib.suppress(OSError):
            found = re.search(r"VmHWM:\s*(\d+) kB", Path(f"/proc/{process.pid}/status").read_text())
            peak = max(peak, int(found.group(1)) / 1024 if found else 0.0)
        time.sleep(0.02)


def launch_latency(gpu: str) -> float:
    path = Path(gpu) if gpu.endswith(".yaml") else program().parents[1] / "host_configs" / f"{gpu}.yaml"
    found = re.search(r"^launch_latency\s*:\s*([\d.]+)", path.read_text(), re.MULTILINE)
    return float(found.group(1)) if found else 0.0


def line(policy: str, budget: float, runs: list[Measured], full: Measured, latency: float) -> str:
    truth = full.summary["counters"]["cycles"]["simulated"]
    beyond = truth - full.summary["launches"] * latency
    differences = [run.summary["estimate"] - truth for run in runs]
    errors = [abs(d) / truth for d in differences]
    widths = [run.summary["relative_half_width"] for run in runs]
    stated = all(width is not None for width in widths)
    held = (
        [abs(d) <= run.summary["half_width"] * 1.000001 for d, run in zip(differences, runs, strict=True)]
        if stated
        else []
    )

    def mean(values: list[float]) -> float:
        return sum(values) / len(values)

    speed = [truth * run.summary["cycle_speedup"] / run.summary["estimate"] for run in runs]
    simulated = f"{mean([run.summary['simulated'] for run in runs]):,.0f}"
    bound = f"{100 * mean([w or 0 for w in widths]):.2f} %" if stated else "none"
    share = f"{sum(held)}/{len(held)}" if stated else "-"
    state = [sum(run.cycles.values()) / sum(full.cycles[i] for i in run.cycles) - 1 for run in runs]
    one_per_stream = runs[0].summary["one_per_stream_speedup"]
    one_per_stream_text = "-" if one_per_stream is None else f"{one_per_stream:.1f}"
    return (
        f"{policy:<12}{100 * budget:>5.1f} %{simulated:>11}{mean([run.summary['passes'] for run in runs]):>7.1f}"
        f"{mean(speed):>9.2f}{full.cpu / mean([run.cpu for run in runs]):>8.2f}{full.wall / mean([r.wall for r in runs]):>8.2f}"
        f"{100 * mean(errors):>10.3f} %{100 * max(errors):>9.3f} %{100 * mean([abs(d) / beyond for d in differences]):>10.3f} %"
        f"{100 * mean(state):>+9.3f} %{bound:>9}{share:>7}{one_per_stream_text:>7}{max(run.plan for run in runs):>8.1f}"
        f"{max(run.mib for run in runs):>6.0f}"
    )


def measure(traces: Path, gpu: str, options: argparse.Namespace, work: Path) -> list[dict]:
    full = simulate(traces, gpu, "all", 0.01, 0, work)
    bare = full.summary["counters"]["cycles"]["simulated"]
    print(
        f"\n{traces} on {gpu}: {full.summary['launches']:,} launches, {bare:,.0f} cycles in full, "
        f"{full.cpu:.1f} s CPU, {full.wall:.1f} s wall, {full.mib:.0f} MiB\n{HEADINGS}"
    )
    rows = [{"policy": "all", "traces": str(traces), "gpu": gpu, **asdict(full)}]
    latency = launch_latency(gpu)
    for policy in options.policies.split(","):
        for budget in map(float, options.budgets.split(",")):
            runs = [simulate(traces, gpu, policy, budget, seed, work) for seed in range(options.seeds)]
            print(line(policy, budget, runs, full, latency), flush=True)
            rows += [
                {"policy": policy, "budget": budget, "traces": str(traces), "gpu": gpu, **asdict(run)} for run in runs
            ]
            if load_policy(policy).bounds[0] == "none":
                break  # the budget changes nothing for a policy that states no bound
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", nargs="+", type=Path)
    parser.add_argument("--gpu", default="v100")
    parser.add_argument("--policies", default="random,gcl,kernelpoint")
    parser.add_argument("--budgets", default="0.05,0.01,0.005")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows: list[dict] = []
    with tempfile.TemporaryDirectory() as folder:
        for traces in options.traces:
            for gpu in options.gpu.split(","):
                rows += measure(traces.resolve(), gpu, options, Path(folder))
    if options.json:
        options.json.write_text(json.dumps(rows))


if __name__ == "__main__":
    main()

"""Measures methods of the literature beside each other: speedup and error on the same lists, under several simulated GPUs.

    python lab/benchmarks/papers.py FOLDER [NAME=LIST ...] [--gpus v100 rtx2060.yaml rtx] [--budget 0.05] [--seeds 3] [--small]

Nine synthesised lists are made in FOLDER, unless they are there: the five workloads, and one list of each kernel family that
the builtin encoder was not trained on. Further lists are given. The truth is a full run under each GPU. A GPU is a
configuration of the embedded host, or a folder of recorded runs of a real simulator: GPU/NAME/full.kpjournal is the journal of
a run of list NAME with `policy: all`; other journals beside it are sampled runs of that list, shown as methods of their own.
Lists without a recorded full run are left out. `allegro` and `stem` plan from the times of the truth, as in their papers;
`kernelpoint` uses the fast model, under the embedded host that of another GPU. Printed are means over seeds, of each list and
of all lists, the latter with a 95 % interval over seeds, and where the error of `gcl` comes from. Finished rows are kept in
FOLDER: a stopped program goes on.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from checkpoint import HELD_OUT, THREADS
from scipy.stats import t as student
from training_data import launches

from kernelpoint.config import parse_config
from kernelpoint.estimate import Estimate
from kernelpoint.evaluation.evaluate import Inputs, Row
from kernelpoint.evaluation.run import ResultsFile, cells, compare
from kernelpoint.evaluation.summary import overall, per_workload
from kernelpoint.evaluation.workload import Request, Workload, load_workload
from kernelpoint.fast_model.configuration import configuration_of_host
from kernelpoint.journal import SummaryRecord, load_run
from kernelpoint.policies.methods.gcl import Gcl
from kernelpoint.randomness import generator
from kernelpoint_lab.commands.synth import synth
from kernelpoint_lab.synth.families import FAMILIES
from kernelpoint_lab.synth.launch import Launch
from kernelpoint_lab.synth.lists import LIST, write_list
from kernelpoint_lab.synth.workloads import WORKLOADS

FULL = "full.kpjournal"  # of a list, in a folder of recorded runs
POLICIES = ("random", "pka", "sieve", "stem", "allegro", "gcl", "kernelpoint")
SHAPES = 40  # of a list of a family
SMALL = {  # sizes of workloads whose full run takes Accel-Sim a minute or two
    "transformer-decode": ["layers=2", "heads=1", "vocabulary=64"],
    "cnn-inference": ["size=8", "channels=4,8,16"],
    "iterative-solver": ["rows=256,512,1024"],
    "training-step": ["hidden=16", "vocabulary=64", "tokens=16,32,48"],
}


def family_list(name: str, folder: Path, size: int, threads: int) -> None:
    """Write `size` launches of a family in SHAPES sizes, drawn at random with shares that fall as 1 / rank."""
    folder.mkdir(parents=True)
    distinct, random = list(launches(FAMILIES[name], SHAPES, 0, threads)), generator(0, f"list of {name}")
    shares = 1.0 / (1.0 + random.permutation(SHAPES))
    drawn: Iterator[Launch] = (distinct[k] for k in random.choice(SHAPES, size, p=shares / shares.sum()))
    write_list(drawn, folder, size, {"name": name, "seed": 0})


def synthesised(folder: Path, small: bool) -> dict[str, str]:
    """The nine lists, by name: workloads of 3,000 launches, training-step and the families of 1,000; a tenth if small."""
    size, threads = (100, THREADS // 4) if small else (1000, THREADS)
    for name in WORKLOADS:
        if not (folder / name / LIST).exists():
            sizes = SMALL.get(name) if small else None
            synth(name, folder / name, launches=size if name == "training-step" else 3 * size, sizes=sizes)
    for name in HELD_OUT:
        if not (folder / name / LIST).exists():
            family_list(name, folder / name, size, threads)
    return {name: str(folder / name / LIST) for name in (*WORKLOADS, *HELD_OUT)}


def errors_of_gcl(workload: Workload) -> str:
    """A row: clusters, CoV inside them weighted by cycles, error where the mean of its equals stands for each representative,
    and error where the first of its equals stands for each launch.
    """
    config = parse_config({"version": 1, "policy": "gcl", "seed": 0})
    program, _, _ = Inputs(workload, print).program(Gcl, config)
    design, content = Gcl(config).design(program), program.stream_ids
    cycles, strata, chosen = workload.results, np.asarray(design.strata), np.asarray(design.chosen)
    means = np.bincount(content, cycles) / np.bincount(content)
    inside = [cycles[strata == h] for h in range(len(chosen))]
    cov = np.average([c.std() / c.mean() for c in inside], weights=[c.sum() for c in inside])
    mixed = float((design.sizes[strata[chosen]] * means[content[chosen]]).sum())
    cold = float(cycles[np.unique(content, return_index=True)[1]][content].sum())
    first, second = (100 * (total / workload.total - 1) for total in (mixed, cold))
    return f"| {workload.name} | {len(chosen)} | {cov:.2f} | {first:+.2f} % | {second:+.2f} % |"


def active(summary: SummaryRecord) -> Estimate:
    """The cycles of a run beyond the constant launch latency, where the simulator states it; else all cycles."""
    return summary.counters.get("active_cycles", summary.counters["cycles"])


def request_of(name: str, traces: str, gpu: str) -> Request | None:
    """A list and its full run under a GPU; None where a folder of recorded runs has none."""
    if not Path(gpu).is_dir():
        latency = float(configuration_of_host(gpu).values["launch_latency"])
        return Request(name, traces=traces, host=gpu, latency=latency)
    full = Path(gpu) / name / FULL
    if not full.exists():
        print(f"{name}: {full} is not there, so the list is left out")
        return None
    summary = load_run(full).summary
    latency = (float(summary.estimate) - active(summary).estimate) / summary.launches
    return Request(name, truth=str(full), traces=traces, latency=latency)


def sampled_runs(request: Request) -> Iterator[Row]:
    """The recorded sampled runs of a list; right are those whose bounds on cycles and on cycles beyond latency both hold."""
    full = load_run(str(request.truth)).summary
    for path in sorted(Path(str(request.truth)).parent.glob("*.kpjournal")):
        if path.name == FULL:
            continue
        run = load_run(path).summary
        beyond = active(run)
        off, off_beyond = run.estimate - full.estimate, beyond.estimate - active(full).estimate
        yield Row(
            request.name, f"{run.policy} in the simulator, {100 * run.relative_error:g} %",
            run.relative_error, run.confidence, run.seed, full.launches,
            simulated=run.simulated,
            total=full.estimate,
            simulated_total=run.estimate / run.cycle_speedup,
            error=off / full.estimate,
            error_beyond_latency=off_beyond / active(full).estimate,
            bound=run.bound,
            half_width=run.relative_half_width,
            held=abs(off) <= run.half_width + 0.5 and abs(off_beyond) <= beyond.half_width + 0.5,
        )  # fmt: skip


def measured(
    lists: dict[str, str], gpu: str, policies: Sequence[str], budget: float, seeds: int, results: ResultsFile
) -> tuple[list[Row], list[str]]:
    """Results of all lists under a GPU, and rows of a table on the errors of `gcl`."""
    rows: list[Row] = []
    errors = []
    for request in filter(None, (request_of(name, traces, gpu) for name, traces in lists.items())):
        workload = load_workload(request, communication=True, log=print)
        rows += compare(workload, list(cells(policies, [budget], seeds)), results, print)
        rows += sampled_runs(request) if request.truth else ()
        errors.append(errors_of_gcl(workload))
    return rows, errors


def mean_error(rows: list[Row]) -> str:
    """The mean over lists of |error|, with its 95 % interval over seeds where they differ (Welch and Satterthwaite)."""
    lists = [[100 * abs(row.error) for row in rows if row.workload == name] for name in {row.workload for row in rows}]
    mean = np.mean([np.mean(of_list) for of_list in lists])
    variances = np.array([(np.var(e, ddof=1) / len(e), len(e) - 1) for e in lists if len(e) > 1 and np.ptp(e) > 0])
    if not len(variances):
        return f"{mean:.2f} %"
    of_sum = variances[:, 0].sum()
    degrees = of_sum**2 / (variances[:, 0] ** 2 / variances[:, 1]).sum()
    return f"{mean:.2f} +- {student.ppf(0.975, degrees) * math.sqrt(of_sum) / len(lists):.2f} %"


def tables(rows: list[Row], errors: list[str], gpu: str) -> Iterator[str]:
    """The tables of a GPU in Markdown."""
    lines = per_workload(rows)
    of = {(line.workload, line.policy): line for line in lines}
    policies = list(dict.fromkeys(line.policy for line in lines))
    yield f"\n| List, {gpu} | " + " | ".join(policies) + " |\n|" + "---|" * (len(policies) + 1)
    for name, line in {line.workload: line for line in lines}.items():
        shown = (of.get((name, policy)) for policy in policies)
        pairs = " | ".join(f"{one.harmonic:,.1f}x, {100 * one.error_mean:.2f} %" if one else "-" for one in shown)
        yield f"| {name} ({line.launches:,}) | {pairs} |"
    yield (
        "\n| Policy | Speedup, harmonic | Geometric | Arithmetic | Mean error | Largest | Beyond latency | Right |\n|"
        + "---|" * 8
    )
    for line in overall(lines):
        speedups = " | ".join(f"{mean:,.1f}x" for mean in line.speedups)
        error = mean_error([row for row in rows if row.policy == line.policy])
        amounts = " | ".join(f"{100 * value:.2f} %" for value in (line.error_max, line.beyond_latency))
        right = "-" if line.bound == "none" else f"{100 * line.held:.1f} %"
        yield f"| {line.policy}{' *' * line.from_truth} | {speedups} | {error} | {amounts} | {right} |"
    yield "\n| List | Clusters of gcl | CoV inside | Error of clusters | Error of first launches |\n|" + "---|" * 5
    yield from errors


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("lists", nargs="*", metavar="NAME=LIST", help="trace lists, or folders of traces")
    default = ["v100", str(Path(__file__).parent / "gpus" / "rtx2060.yaml"), "rtx"]
    parser.add_argument("--gpus", nargs="+", default=default, help="of the embedded host, or folders of recorded runs")
    parser.add_argument("--policies", nargs="+", default=POLICIES)
    parser.add_argument("--budget", type=float, default=0.05)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--small", action="store_true", help="synthesised lists whose full runs take Accel-Sim minutes")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    lists = synthesised(options.folder, options.small) | dict(one.split("=", 1) for one in options.lists)
    results = ResultsFile(options.folder / "rows.jsonl")
    for gpu in options.gpus:
        rows, errors = measured(lists, gpu, options.policies, options.budget, options.seeds, results)
        for line in tables(rows, errors, Path(gpu).stem):
            print(line, flush=True)


if __name__ == "__main__":
    main()

"""Measures methods of the literature beside each other: speedup and error on the same lists, under several simulated GPUs.

    python lab/benchmarks/papers.py FOLDER [NAME=LIST ...] [--gpus v100 rtx2060.yaml rtx] [--budget 0.05] [--seeds 3]

Nine synthesised lists are made in FOLDER, unless they are there: the five workloads, and one list of each kernel family that
the builtin encoder was not trained on. Further lists are given. The truth is a full run of the embedded host under each GPU.
`allegro` and `stem` plan from the times of the truth, as in their papers; `kernelpoint` uses the fast model of another GPU.
Printed are means over seeds, of each list and of all lists, and where the error of `gcl` comes from. Finished rows are kept
in FOLDER: a stopped program goes on.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from checkpoint import HELD_OUT, THREADS
from training_data import launches

from kernelpoint.config import parse_config
from kernelpoint.evaluation.evaluate import Inputs
from kernelpoint.evaluation.run import ResultsFile, cells, compare
from kernelpoint.evaluation.summary import Line, overall, per_workload
from kernelpoint.evaluation.workload import Request, Workload, load_workload
from kernelpoint.fast_model.configuration import configuration_of_host
from kernelpoint.policies.methods.gcl import Gcl
from kernelpoint.randomness import generator
from kernelpoint_lab.commands.synth import synth
from kernelpoint_lab.synth.families import FAMILIES
from kernelpoint_lab.synth.launch import Launch
from kernelpoint_lab.synth.lists import LIST, write_list
from kernelpoint_lab.synth.workloads import WORKLOADS

POLICIES = ("pka", "sieve", "stem", "allegro", "gcl", "kernelpoint")
LAUNCHES, SHAPES = 1000, 40  # of a list of a family


def family_list(name: str, folder: Path) -> None:
    """Write launches of a family in SHAPES sizes, drawn at random with shares that fall as 1 / rank."""
    folder.mkdir(parents=True)
    distinct, random = list(launches(FAMILIES[name], SHAPES, 0, THREADS)), generator(0, f"list of {name}")
    shares = 1.0 / (1.0 + random.permutation(SHAPES))
    drawn: Iterator[Launch] = (distinct[k] for k in random.choice(SHAPES, LAUNCHES, p=shares / shares.sum()))
    write_list(drawn, folder, LAUNCHES, {"name": name, "seed": 0})


def synthesised(folder: Path) -> dict[str, str]:
    """The nine lists, by name."""
    for name in WORKLOADS:
        if not (folder / name / LIST).exists():
            synth(name, folder / name, launches=LAUNCHES if name == "training-step" else 3 * LAUNCHES)
    for name in HELD_OUT:
        if not (folder / name / LIST).exists():
            family_list(name, folder / name)
    return {name: str(folder / name / LIST) for name in (*WORKLOADS, *HELD_OUT)}


def errors_of_gcl(workload: Workload) -> str:
    """A row: clusters, CoV inside them weighted by cycles, error where the mean of its equals stands for each representative,
    and error where the first of its equals stands for each launch.
    """
    config = parse_config({"version": 1, "policy": "gcl", "seed": 0})
    population, _, _ = Inputs(workload, print).population(Gcl, config)
    design, content = Gcl(config).design(population), population.scan_for("gcl").stream_ids
    cycles, strata, chosen = workload.results, np.asarray(design.strata), np.asarray(design.chosen)
    means = np.bincount(content, cycles) / np.bincount(content)
    inside = [cycles[strata == h] for h in range(len(chosen))]
    cov = np.average([c.std() / c.mean() for c in inside], weights=[c.sum() for c in inside])
    mixed = float((design.sizes[strata[chosen]] * means[content[chosen]]).sum())
    cold = float(cycles[np.unique(content, return_index=True)[1]][content].sum())
    first, second = (100 * (total / workload.total - 1) for total in (mixed, cold))
    return f"| {workload.name} | {len(chosen)} | {cov:.2f} | {first:+.2f} % | {second:+.2f} % |"


def measured(
    lists: dict[str, str], gpu: str, budget: float, seeds: int, results: ResultsFile
) -> tuple[list[Line], list[str]]:
    """Lines of all lists under a GPU, and rows on the errors of `gcl`."""
    latency = float(configuration_of_host(gpu).values["launch_latency"])
    rows, errors = [], []
    for name, traces in lists.items():
        request = Request(name, traces=traces, host=gpu, latency=latency)
        workload = load_workload(request, communication=True, log=print)
        rows += compare(workload, list(cells(POLICIES, [budget], seeds)), results, print)
        errors.append(errors_of_gcl(workload))
    return per_workload(rows), errors


def tables(lines: list[Line], errors: list[str], gpu: str) -> Iterator[str]:
    """The tables of a GPU in Markdown."""
    of = {(line.workload, line.policy): line for line in lines}
    yield f"\n| List, {gpu} | " + " | ".join(POLICIES) + " |\n|" + "---|" * (len(POLICIES) + 1)
    for name, line in {line.workload: line for line in lines}.items():
        shown = (of[name, policy] for policy in POLICIES)
        pairs = " | ".join(f"{one.harmonic:,.1f}x, {100 * one.error_mean:.2f} %" for one in shown)
        yield f"| {name} ({line.launches:,}) | {pairs} |"
    yield (
        "\n| Policy | Speedup, harmonic | Geometric | Arithmetic | Mean error | Largest | Beyond latency | Right |\n|"
        + "---|" * 8
    )
    for line in overall(lines):
        speedups = " | ".join(f"{mean:,.1f}x" for mean in line.speedups)
        amounts = " | ".join(f"{100 * value:.2f} %" for value in (line.error_mean, line.error_max, line.beyond_latency))
        right = "-" if line.bound == "none" else f"{100 * line.held:.1f} %"
        yield f"| {line.policy}{' *' * line.from_truth} | {speedups} | {amounts} | {right} |"
    yield "\n| List | Clusters of gcl | CoV inside | Error of clusters | Error of first launches |\n|" + "---|" * 5
    yield from errors


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("lists", nargs="*", metavar="NAME=LIST", help="trace lists, or folders of traces")
    default = ["v100", str(Path(__file__).parent / "gpus" / "rtx2060.yaml"), "rtx"]
    parser.add_argument("--gpus", nargs="+", default=default, help="names, or files, of the embedded host")
    parser.add_argument("--budget", type=float, default=0.05)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    lists = synthesised(options.folder) | dict(one.split("=", 1) for one in options.lists)
    results = ResultsFile(options.folder / "rows.jsonl")
    for gpu in options.gpus:
        for line in tables(*measured(lists, gpu, options.budget, options.seeds, results), Path(gpu).stem):
            print(line, flush=True)


if __name__ == "__main__":
    main()

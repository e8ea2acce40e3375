"""Do our policies behave as published? Prints the tables; needs the shared data.

    python lab/benchmarks/policies.py [--traces FOLDER] [--seeds N] [--only sweep|bias]

1. sweep: STEM's epsilon of 3, 5, 10 and 25 % on real profiles, in three forms, with Allegro, and random samples as large as
   theirs, beside the published figures (CASIO, STEM+ROOT figure 11: 76.5x / 0.18 %, 106.8x / 0.41 %, 172.3x / 0.80 %,
   228.5x / 2.00 %). Speedups follow how often a workload repeats itself, so between suites only the direction compares.
2. bias: first launches that represent, on simpletorch in Accel-Sim, against middle launches and random draws.

Every policy on every profile and workload is what `kernelpoint compare` prints; its tables stand in evaluation/README.md.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import NormalDist

import numpy as np
from rich.console import Console
from rich.table import Table

from kernelpoint.estimation import Design, Engine, ErrorBudget
from kernelpoint.evaluation.evaluate import Cell, Inputs, Row, evaluate
from kernelpoint.evaluation.summary import means
from kernelpoint.evaluation.workload import Workload, load_workload, parse_request
from kernelpoint.pages.numbers import factor, percent
from kernelpoint.policies.methods.allegro import split
from kernelpoint.policies.methods.stem import clusters_of, joint_sizes, sample_size
from kernelpoint.policies.time_clusters import Leaf, clustered_design
from kernelpoint.traces import scan_launches
from kernelpoint.workload import Population

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("KERNELPOINT_SHARED_DATA", ROOT.parent / "shared" / "data"))
PUBLISHED = {0.03: "76.5x 0.18 %", 0.05: "106.8x 0.41 %", 0.10: "172.3x 0.80 %", 0.25: "228.5x 2.00 %"}
console = Console(width=200, highlight=False)


def profiles() -> list[Workload]:
    files = sorted((DATA / "profiles").glob("*.csv.gz"))
    return [load_workload(parse_request(str(f)), str(f), False, console.print) for f in files]


def sampled(workload: Workload, design: Design) -> tuple[float, float]:
    """Signed error and cycle speedup of one pass over a design."""
    engine = Engine(design, ErrorBudget(0.05, counter=workload.counter, bound="none"), "mean")
    units = engine.wanted()
    engine.record_many(units, (workload.counter,), workload.results[units][:, None])
    estimate = engine.look().estimates[workload.counter].estimate
    return estimate / workload.total - 1.0, workload.total / workload.results[units].sum()


Sizes = Callable[[list[Leaf], float], np.ndarray]


def columns(leaves: list[Leaf]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    N, mean, deviation = (np.array([getattr(leaf, name) for leaf in leaves]) for name in ("N", "mean", "deviation"))
    return N, mean, deviation


FORMS: dict[str, Sizes] = {
    "stem joint (eq. 6 over all)": lambda leaves, z: joint_sizes(*columns(leaves), z),
    "stem per split (as its artifact)": lambda leaves, z: np.array([leaf.m for leaf in leaves]),
    "stem per cluster (eq. 3)": lambda leaves, z: np.array(
        [sample_size(*row, z) for row in zip(*columns(leaves), strict=True)]
    ),
}


def sweep(seeds: int) -> None:
    """The epsilon sweep on real profiles."""
    table = Table(
        title="Epsilon sweep on the shared profiles (harmonic mean of speedups / mean |error|)", title_justify="left"
    )
    for heading in ("method", *(f"eps {100 * eps:g} %" for eps in PUBLISHED)):
        table.add_column(heading)
    table.add_row("published: STEM on CASIO", *PUBLISHED.values())
    workloads = profiles()
    for name, sizes in FORMS.items():
        _add_rows(table, name, workloads, seeds, partial(_stem, sizes))
    _add_rows(table, "allegro", workloads, seeds, _allegro)
    console.print(table)
    speedup, error = _means(_judged(workloads, seeds, _random({w.name: 1000.0 for w in workloads})))
    console.print(
        f"random, 0.1 % of the launches: {factor(speedup)} {percent(error)} (published, Huggingface: 1005x 2.40 %)"
    )


Plan = Callable[[Workload, Population], Design]
Judged = dict[str, tuple[float, float]]  # of each workload: harmonic mean of speedups, mean |error|


def _add_rows(table: Table, name: str, workloads: list[Workload], seeds: int, method: Callable[[float], Plan]) -> None:
    """A row of the method, and one of random samples that cost as much."""
    own = [_judged(workloads, seeds, method(eps)) for eps in PUBLISHED]
    random = [_judged(workloads, seeds, _random({w: speed for w, (speed, _) in judged.items()})) for judged in own]
    for title, row in ((name, own), ("  random at its speedup", random)):
        table.add_row(title, *(f"{factor(speed)} {percent(error)}" for speed, error in map(_means, row)))


def _judged(workloads: list[Workload], seeds: int, design: Plan) -> Judged:
    judged = {}
    for workload in workloads:
        made = design(workload, Population((workload.size,), 0))
        results = [sampled(workload, _redrawn(made, Population((workload.size,), seed).u)) for seed in range(seeds)]
        error = float(np.mean([abs(error) for error, _ in results]))
        judged[workload.name] = means([speed for _, speed in results])[0], error
    return judged


def _means(judged: Judged) -> tuple[float, float]:
    speedups, errors = zip(*judged.values(), strict=True)
    return means(speedups)[0], float(np.mean(errors))


def _redrawn(design: Design, u: np.ndarray) -> Design:
    return Design(design.strata, design.first_sizes, u, design.x, design.cost, design.clusters)


def _z(eps: float) -> float:
    return NormalDist().inv_cdf(0.975) / eps


def _stem(sizes: Sizes, eps: float) -> Plan:
    def design(workload: Workload, population: Population) -> Design:
        leaves = clusters_of(workload.results, workload.known.name_ids.astype(np.int64), _z(eps))
        return clustered_design(population, leaves, sizes(leaves, _z(eps)), workload.results)

    return design


def _allegro(eps: float) -> Plan:
    def design(workload: Workload, population: Population) -> Design:
        kernel = workload.known.name_ids
        leaves = [
            leaf for k in np.unique(kernel) for leaf in split(workload.results, np.flatnonzero(kernel == k), _z(eps))
        ]
        return clustered_design(population, leaves, np.array([leaf.m for leaf in leaves]), workload.results)

    return design


def _random(speedups: dict[str, float]) -> Plan:
    def design(workload: Workload, population: Population) -> Design:
        size = max(2, round(workload.size / speedups[workload.name]))
        return Design(np.zeros(workload.size, np.int32), np.array([size]), population.u)

    return design


def bias(traces: str, seeds: int) -> None:
    """First launches against middle launches and random draws."""
    truth = DATA / "ground_truth" / "simpletorch_accelsim_qv100.csv.gz"
    text = f"truth={truth},name=simpletorch,traces={traces},latency=5000"
    workload = load_workload(parse_request(text), str(truth), False, console.print)
    inputs = Inputs(workload, console.print)
    table = Table(title="Who represents, on simpletorch in Accel-Sim (901 launches)", title_justify="left")
    for heading in ("rule", "budget", "simulated", "cycle speedup", "signed error", "beyond launch latency"):
        table.add_column(heading, justify="left" if heading == "rule" else "right")

    def add(name: str, row: Row) -> None:
        numbers = (f"{row.simulated}", factor(row.cycle_speedup), percent(row.error), percent(row.error_beyond_latency))
        table.add_row(name, percent(row.relative_error), *numbers)

    for policy in ("gcl", "sieve", "pka"):
        for budget in (0.05, 0.01):
            row = evaluate(inputs, Cell(policy, budget, 0))
            rule = "first of the most frequent" if policy == "sieve" else "first launch of each cluster"
            if row.reason:
                table.add_row(f"{policy}: {row.reason}")
            else:
                add(f"{policy}: {rule}", row)
    stream = scan_launches(workload.paths).stream_ids
    for name, pick in (("first", 0.0), ("middle", 0.5), ("last", 1.0)):
        units = [np.flatnonzero(stream == s) for s in np.unique(stream)]
        chosen = np.array([u[round(pick * (len(u) - 1))] for u in units])
        design = Design(
            stream, np.ones(len(units), np.int64), Population((workload.size,), 0).u, chosen=np.sort(chosen)
        )
        error, speedup = sampled(workload, design)
        beyond = error * workload.total / (workload.total - workload.size * workload.latency)
        table.add_row(
            f"{name} launch of each stream", "-", f"{len(units)}", factor(speedup), percent(error), percent(beyond)
        )
    for policy in ("stem", "kernelpoint"):
        rows = [evaluate(inputs, Cell(policy, 0.01, seed)) for seed in range(seeds)]
        if rows[0].reason:
            table.add_row(f"{policy}: {rows[0].reason}")
            continue
        table.add_row(
            f"{policy}: random draws, mean of {seeds} seeds"
            + (" (planned from the truth)" if rows[0].from_truth else ""),
            percent(0.01),
            f"{np.mean([row.simulated for row in rows]):.0f}",
            factor(means([row.cycle_speedup for row in rows])[0]),
            f"{percent(float(np.mean([row.error for row in rows])))} (mean |error| "
            f"{percent(float(np.mean([abs(row.error) for row in rows])))})",
            percent(float(np.mean([row.error_beyond_latency for row in rows]))),
        )
    console.print(table)


def unpacked(folder: str) -> str:
    """The shared traces of simpletorch in a folder of their own."""
    import io
    import tarfile

    import zstandard

    with (DATA / "accelsim_traces" / "simpletorch.tar.zst").open("rb") as file:
        reader = zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(file)
        with tarfile.open(fileobj=io.BufferedReader(reader), mode="r|") as archive:
            archive.extractall(folder, filter="data")
    return str(next(Path(folder).rglob("kernel-1.traceg")).parent)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--traces", help="folder of the traces of simpletorch; unpacked from the shared data by default"
    )
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--only", choices=["sweep", "bias"])
    arguments = parser.parse_args()
    if not DATA.is_dir():
        raise SystemExit(f"no shared data at {DATA}; name it with KERNELPOINT_SHARED_DATA")
    if arguments.only in (None, "sweep"):
        sweep(arguments.seeds)
    if arguments.only in (None, "bias"):
        with tempfile.TemporaryDirectory() as folder:
            bias(arguments.traces or unpacked(folder), arguments.seeds)


if __name__ == "__main__":
    main()

"""`kernelpoint cluster`: the clusters that a policy makes of a list."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer
from rich.table import Table

from kernelpoint.cli.console import Console
from kernelpoint.config import Config, parse_config
from kernelpoint.estimation import Design
from kernelpoint.files import write_output
from kernelpoint.policies.processes import design_of
from kernelpoint.policies.registry import load_policy
from kernelpoint.workload import Available, Need, Population, check_available, complete, with_profile

if TYPE_CHECKING:
    from kernelpoint.estimation import Design
    from kernelpoint.traces import ScanTable


def cluster(
    traces: Annotated[Path, typer.Argument(help="A kernelslist.g, or a folder of kernel-N.traceg files.")],
    policy: Annotated[str, typer.Option(help="The policy whose clusters are shown.")] = "kernelpoint",
    profile: Annotated[Path | None, typer.Option(help="Times or counters of every launch.")] = None,
    checkpoint: Annotated[str, typer.Option(help="builtin, or a file made by `kernelpoint train`.")] = "builtin",
    max_nodes: Annotated[int, typer.Option(min=100, help="Bound on the nodes of a launch's graph.")] = 20000,
    seed: Annotated[int, typer.Option(min=0, help="As in the configuration.")] = 0,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write launch index and cluster as CSV.")
    ] = None,
    rows: Annotated[int, typer.Option(min=1, help="Clusters shown.")] = 20,
) -> None:
    """Cluster the launches of a list as a policy does and show the clusters.

    Example: kernelpoint cluster traces/kernelslist.g --policy gcl -o clusters.csv
    """
    encoder = {"checkpoint": checkpoint, "max_nodes": max_nodes}
    named = str(profile) if profile else None
    config = parse_config(
        {"version": 1, "policy": policy, "seed": seed, "encoder": encoder, "profile": named}, "options"
    )
    population = _read(traces, config)
    design = design_of(load_policy(config.policy)(config), population)
    assert isinstance(design, Design)  # nothing is predicted here
    clusters = np.zeros(len(design.first_sizes), np.int64) if design.clusters is None else np.asarray(design.clusters)
    scan = population.scan_for(policy)
    readable = np.where(scan.stream_ids >= 0, np.asarray(design.strata), -1)
    labels = np.append(clusters, -1)[readable]
    if output is not None:
        lines = [f"{launch},{label}" for launch, label in enumerate(labels.tolist())]
        write_output(output, "\n".join(["launch_index,cluster", *lines]) + "\n")
    _show(scan, labels, design, clusters, rows)


def _read(traces: Path, config: Config) -> Population:
    """The launches with all that the policy asks for, and their traces."""
    from kernelpoint.traces import TraceCache, launch_paths

    console = Console(stderr=True)
    paths = tuple(launch_paths(str(traces)))
    population = with_profile(Population((len(paths),), config.seed, paths=paths), config, console.print)
    available = Available.of(population, config)
    needs = load_policy(config.policy).inputs(available)
    check_available(config.policy.name, needs, available, "--profile")
    cache = TraceCache(log=console.print)
    population = complete(population, needs | {Need.TRACES}, config.encoder, console.print, cache)
    cache.close()
    for launch, reason in list(population.scan_for(config.policy.name).errors.items())[:3]:
        console.print(f"launch {launch} is in no cluster (-1): {reason}")
    return population


def _show(scan: ScanTable, labels: np.ndarray, design: Design, clusters: np.ndarray, rows: int) -> None:
    console = Console()
    table = Table(box=None, padding=(0, 1, 0, 0))
    for heading in ("cluster", "launches", "streams", "strata", "draws", "instr.", "CoV"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("kernel of its first launch", overflow="ellipsis", no_wrap=True)
    sizes = np.bincount(labels[labels >= 0], minlength=int(clusters.max(initial=-1)) + 1)
    strata = np.bincount(clusters, minlength=len(sizes))
    draws = np.bincount(clusters, weights=np.minimum(design.first_sizes, design.sizes), minlength=len(sizes))
    for label in np.argsort(-sizes, kind="stable")[:rows]:
        members = np.flatnonzero(labels == label)
        work = scan.instructions[members]
        name = scan.kernel_names[scan.kernel_ids[members[0]]] if len(members) else ""
        table.add_row(
            str(label), f"{len(members):,}", str(len(np.unique(scan.stream_ids[members]))), str(strata[label]),
            f"{draws[label]:,.0f}", f"{work.mean():,.0f}", f"{work.std() / max(work.mean(), 1):.3f}",
            name if len(name) <= 60 else name[:57] + "...",
        )  # fmt: skip
    console.print(table)
    more = f" (the largest {rows} shown)" if len(sizes) > rows else ""
    alone = int((labels < 0).sum())
    beside = f"; {alone:,} launches in none, simulated for certain" if alone else ""
    console.print("sampled: in the first pass; instr., CoV: mean and coefficient of variation of warp instructions")
    console.print(f"{len(scan):,} launches, {len(scan.streams):,} streams, {len(sizes):,} clusters{more}{beside}")

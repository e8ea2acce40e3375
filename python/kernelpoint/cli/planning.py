"""The work of `kernelpoint plan`: make a plan, save it, or show its clusters."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import typer

from kernelpoint.api import Plan
from kernelpoint.cli.console import log, say, show
from kernelpoint.config import Config
from kernelpoint.errors import BudgetError
from kernelpoint.estimation import Engine
from kernelpoint.pages.numbers import percent
from kernelpoint.pages.tables import Column, Row, Table, write_table
from kernelpoint.planning.forecast import sentences
from kernelpoint.planning.making import keep_plan
from kernelpoint.policies.registry import load_policy
from kernelpoint.session.setup import budget_of
from kernelpoint.workload.host_info import HostInfo

SHOWN = 20  # clusters; the CSV file has the cluster of every launch


def made_plan(
    traces: Path, settings: Config, gpu: Sequence[str], option: str, workers: int | None, cluster: str | None
) -> Plan:
    """Make the sampling plan of a trace list: in this process, or on the workers that the user asked for.

    Args:
        traces: the list.
        settings: configuration of the run.
        gpu: files that describe the simulated GPU.
        option: name of the option by which the user gives a profile, for messages.
        workers: number of worker processes.
        cluster: configuration of a batch system, or address of a Dask scheduler.
    """
    with contextlib.ExitStack() as stack:
        pool = None
        if workers is not None or cluster is not None:
            from kernelpoint.coordinator.dask_pool import open_pool  # needs the extra `cluster`

            pool = open_pool(workers, cluster, 0, lambda line: log(f"kernelpoint: {line}"))
            stack.callback(pool.close)
        return Plan.from_config(traces, settings, gpu, log, option, pool, say)


def save(made: Plan, output: Path | None, settings: Config, named_gpu: bool) -> None:
    """Write a plan to the cache, and to the file `output` if it is given. Print the sizes of the plan, and the forecast of its
    runs.
    """
    if not named_gpu and (made.forecast or "fast_model" in made.origin):
        name = made.origin.get("fast_model", {}).get("configuration", "the shipped GPU nearest to the traces")
        log(
            f"kernelpoint plan: warning: no --gpu was given, so the predictions are those of {name}, a guess; a run on "
            "another simulated GPU plans again. Name it with --gpu, as the simulator takes it"
        )
    if output is not None:
        made.save(output)
    keep_plan(made, log)
    budget = budget_of(settings, load_policy(settings.policy), HostInfo(simulator="plan"))
    drawn = len(Engine(made.design, budget).drawn())
    clusters = "" if made.design.clusters is None else f"{int(made.cluster_of_unit().max()) + 1:,} clusters, "
    say(
        f"{output or 'plan'}: {len(made.design.labels):,} launches, {len(made.stream_hashes):,} instruction sequences, "
        f"{clusters}{made.design.label_count:,} strata; the first pass simulates {drawn:,} launches"
    )
    share, wanted = len(made.unreadable) / len(made.design.labels), settings.error_budget.relative_error
    if share > wanted:
        say(
            f"the error budget of {percent(wanted)} cannot be met: {len(made.unreadable):,} of {len(made.design.labels):,} "
            f"launches ({percent(share)}) cannot be read"
        )
        raise typer.Exit(BudgetError.exit_code)
    further = settings.error_budget.further
    for line in sentences(made.forecast, len(made.design.labels), time.process_time(), further):
        say(line)


def show_clusters(made: Plan, output: Path | None) -> None:
    """Print the largest clusters (groups of similar launches) of a plan. Write index and cluster of every launch as CSV, with
    -1 for an unreadable trace.
    """
    streams, work = made.program.stream_ids, made.count_of_unit("instructions")
    labels = np.where(streams >= 0, made.cluster_of_unit(), -1)
    if output is not None:
        write_table(output, ("launch_index", "cluster"), enumerate(labels.tolist()))
    sizes = np.bincount(labels[labels >= 0])
    rows = []
    for label in np.argsort(-sizes, kind="stable")[:SHOWN].tolist():
        members = np.flatnonzero(labels == label)
        work_of_members = np.array([0.0]) if work is None else work[members]
        name, different = made.name_of_unit(int(members[0])), len(np.unique(streams[members]))
        cov = work_of_members.std() / max(work_of_members.mean(), 1.0)
        rows.append(Row((f"{name}"[:60], label, len(members), different, work_of_members.mean(), cov)))
    columns = (
        Column("kernel of its first launch", str),
        Column("cluster", str),
        Column("launches"),
        Column("sequences"),
        Column("mean instructions"),
        Column("CoV", percent),
    )
    shown = f"the largest {SHOWN} of {len(sizes):,} clusters" if len(sizes) > SHOWN else ""
    show(Table(columns, rows, caption=shown))
    unclustered = int((labels < 0).sum())
    beside = f"; {unclustered:,} launches in none (-1), simulated for certain" if unclustered else ""
    for launch, reason in list(made.unreadable.items())[:3]:
        say(f"launch {launch} is in no cluster: {reason}")
    say(f"{len(labels):,} launches, {len(made.stream_hashes):,} instruction sequences, {len(sizes):,} clusters{beside}")

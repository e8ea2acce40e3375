"""What the pictures of a run need, as plain arrays, gathered from its journal and plan."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelpoint.journal import LookRecord, ResultRecord, Run
from kernelpoint.report.names import readable
from kernelpoint.session.plan import Plan
from kernelpoint.session.ratios import RATIOS


@dataclass(frozen=True)
class LookView:
    """One look: how many launches were simulated until then, the estimate and its half-width."""

    simulated: int
    estimate: float
    half_width: float | None


@dataclass(frozen=True)
class RunView:
    """Arrays over launches [N], clusters [C] and streams [S].

    rank_of_cluster orders the clusters by their share of the estimated cycles, 0 for the largest. truth is the full run's
    total where it is known.
    """

    launches: int
    clusters: int
    simulated: np.ndarray
    cluster_of_launch: np.ndarray
    rank_of_cluster: np.ndarray
    share: np.ndarray
    cluster_names: list[str]
    cluster_launches: np.ndarray
    cluster_simulated: np.ndarray
    looks: list[LookView]
    estimate: float | None
    budget: float
    truth: float | None
    stream_map: np.ndarray | None
    stream_cluster: np.ndarray
    stream_launches: np.ndarray
    stream_names: list[str]


def view_run(run: Run, plan: Plan, truth: float | None = None) -> RunView:
    """Gather the arrays of a finished run.

    Args:
        run: the journal.
        plan: the plan that the run used.
        truth: total of the budget's counter in a full run, where there was one.
    """
    count = len(plan.design.strata)
    simulated, values = _results(run, count)
    cluster = plan.cluster_of_unit()
    clusters = int(cluster.max()) + 1 if count else 0
    launches = np.bincount(cluster, minlength=clusters)
    share = _shares(run, values, cluster, clusters)
    rank = np.empty(clusters, dtype=np.int64)
    rank[np.argsort(-share, kind="stable")] = np.arange(clusters)
    names = [readable(name) for name in plan.stream_names]
    first = np.full(clusters, -1)
    first[cluster[::-1]] = np.arange(count)[::-1]
    streams = plan.stream_ids if plan.stream_ids is not None and names else None
    return RunView(
        launches=count,
        clusters=clusters,
        simulated=simulated,
        cluster_of_launch=cluster,
        rank_of_cluster=rank,
        share=share,
        cluster_names=[
            f"cluster {c}" if streams is None or streams[u] < 0 else names[streams[u]] for c, u in enumerate(first)
        ],
        cluster_launches=launches,
        cluster_simulated=np.bincount(cluster[simulated], minlength=clusters),
        looks=_looks(run),
        estimate=run.ended().estimate,
        budget=run.ended().relative_error,
        truth=truth,
        stream_map=plan.stream_map,
        stream_cluster=_of_streams(plan, cluster),
        stream_launches=np.empty(0, dtype=np.int64) if streams is None else np.bincount(streams[streams >= 0]),
        stream_names=names,
    )


def _results(run: Run, count: int) -> tuple[np.ndarray, np.ndarray]:
    simulated, values = np.zeros(count, dtype=bool), np.zeros(count)
    counter = _shown_counter(run)
    for unit, record in run.results.items():
        simulated[unit] = True
        values[unit] = record.counters[counter]
    return simulated, values


def _shares(run: Run, values: np.ndarray, cluster: np.ndarray, clusters: int) -> np.ndarray:
    """Share of each cluster in the total: as the run estimated it; take-all units, which are in none, add their results."""
    totals = np.bincount(cluster, weights=values, minlength=clusters)
    parts = run.ended().clusters
    for part in parts if len(parts) <= clusters else ():  # fewer: the plan is gone, and one cluster stands for all
        totals[part.number] = part.estimates[_shown_counter(run)].estimate or 0.0
    return totals / max(float(totals.sum()), 1e-300)


def _shown_counter(run: Run) -> str:
    """The budget's counter; cycles where that is a ratio, of which launches have no share."""
    counter = run.ended().counter
    return "cycles" if counter in RATIOS else counter


def _looks(run: Run) -> list[LookView]:
    looks, seen = [], 0
    counter = run.ended().counter
    for record in run.records:
        if isinstance(record, ResultRecord):
            seen += 1
        elif isinstance(record, LookRecord) and (estimate := {**record.ratios, **record.estimates}.get(counter)):
            looks.append(LookView(seen, estimate.estimate or 0.0, estimate.half_width))
    return looks


def _of_streams(plan: Plan, cluster: np.ndarray) -> np.ndarray:
    if plan.stream_ids is None:
        return np.empty(0, dtype=np.int64)
    found = np.zeros(len(plan.stream_names), dtype=np.int64)
    readable = np.flatnonzero(plan.stream_ids >= 0)[::-1]
    found[plan.stream_ids[readable]] = cluster[readable]
    return found

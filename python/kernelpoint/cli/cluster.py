"""`kernelpoint cluster`: cluster the launches of a list and show what the clusters hold."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from kernelpoint.errors import ConfigError, TraceError

if TYPE_CHECKING:
    from kernelpoint.clustering.estimator import ClusterEstimator
    from kernelpoint.traces import ScanTable

METHODS = ("threshold", "online", "silhouette")


def cluster(
    traces: Annotated[Path, typer.Argument(help="A kernelslist.g, or a folder of kernel-N.traceg files.")],
    method: Annotated[str, typer.Option(help=f"One of {', '.join(METHODS)}.")] = "threshold",
    threshold: Annotated[float, typer.Option(help="Largest distance of a launch from its cluster's centre.")] = 0.25,
    merge: Annotated[float, typer.Option(help="Merge clusters no further apart than this; threshold only.")] = 0.0,
    max_clusters: Annotated[int, typer.Option(help="Largest K tried; silhouette only.")] = 20,
    work: Annotated[bool, typer.Option(help="Cluster by the amount of work too.")] = True,
    context: Annotated[bool, typer.Option(help="Cluster by the launches before and after too.")] = False,
    checkpoint: Annotated[str, typer.Option(help="builtin, or a file made by `kernelpoint train`.")] = "builtin",
    max_nodes: Annotated[int, typer.Option(min=100, help="Bound on the nodes of a launch's graph.")] = 20000,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Of K-Means.")] = 0,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write launch index and cluster as CSV.")
    ] = None,
    rows: Annotated[int, typer.Option(min=1, help="Clusters shown.")] = 20,
) -> None:
    """Cluster the launches of a list and show what the clusters hold."""
    from kernelpoint.clustering import run_features

    scan, embeddings = _read(traces, checkpoint, max_nodes)
    known = np.flatnonzero(scan.stream_ids >= 0)
    if not len(known):
        raise TraceError(
            f"{traces}: none of its {len(scan):,} launches can be read; the first: {next(iter(scan.errors.values()))}"
        )
    counts = np.stack([scan.instructions, scan.ctas, scan.warps, scan.bytes], 1)[known]
    features = run_features(embeddings[scan.stream_ids[known]], counts if work else None, (-1, 1) if context else ())
    found = _estimator(method, threshold, merge, max_clusters, seed)
    labels = np.full(len(scan), -1)
    labels[known] = (found.partial_fit(features) if method == "online" else found.fit(features)).labels_
    if output is not None:
        lines = [f"{launch},{label}" for launch, label in enumerate(labels.tolist())]
        output.write_text("\n".join(["launch_index,cluster", *lines]) + "\n")
    _show(scan, labels, found, rows)


def _read(traces: Path, checkpoint: str, max_nodes: int) -> tuple[ScanTable, np.ndarray]:
    from kernelpoint.encoder import embed_streams
    from kernelpoint.traces import TraceCache, launch_paths, scan_launches

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    cache = TraceCache(log=console.print)
    with Progress(*columns, console=console) as bar:
        reading, embedding = bar.add_task("reading traces"), bar.add_task("embedding streams")
        scan = scan_launches(
            launch_paths(str(traces)), cache, lambda done, total: bar.update(reading, completed=done, total=total)
        )
        found = embed_streams(
            scan, cache, checkpoint, max_nodes, lambda done, total: bar.update(embedding, completed=done, total=total)
        )
    cache.close()
    for launch, reason in list(scan.errors.items())[:3]:
        console.print(f"launch {launch} is in no cluster (-1): {reason}")
    return scan, found


def _estimator(method: str, threshold: float, merge: float, max_clusters: int, seed: int) -> ClusterEstimator:
    from kernelpoint.clustering import SilhouetteKMeans, ThresholdClusters

    if method not in METHODS:
        raise ConfigError(f"--method: {method!r} given, allowed are {', '.join(METHODS)}")
    if method == "silhouette":
        return SilhouetteKMeans(max_clusters=max_clusters, random_state=seed)
    return ThresholdClusters(threshold, merge)


def _show(scan: ScanTable, labels: np.ndarray, found: ClusterEstimator, rows: int) -> None:
    console = Console()
    table = Table("cluster", "launches", "streams", "instructions", "CoV", "kernel of its first launch", box=None)
    sizes = np.bincount(labels[labels >= 0])
    for label in np.argsort(-sizes, kind="stable")[:rows]:
        members = np.flatnonzero(labels == label)
        work = scan.instructions[members]
        name = scan.kernel_names[scan.kernel_ids[members[0]]]
        table.add_row(
            str(label), f"{len(members):,}", str(len(np.unique(scan.stream_ids[members]))), f"{work.mean():,.0f}",
            f"{work.std() / max(work.mean(), 1):.3f}", name if len(name) <= 60 else name[:57] + "...",
        )  # fmt: skip
    console.print(table)
    more = f" (the largest {rows} shown)" if len(sizes) > rows else ""
    console.print(f"{len(scan):,} launches, {len(scan.streams):,} streams, {len(sizes):,} clusters{more}")
    silhouettes = getattr(found, "silhouettes_", {})
    if silhouettes:
        console.print("silhouette by K: " + "  ".join(f"{k}: {value:.3f}" for k, value in silhouettes.items()))
        if sizes.max() > 0.9 * sizes.sum():
            console.print(
                f"note: {sizes.max() / sizes.sum():.0%} of the launches are in one cluster; the silhouette favours few, "
                "far-apart clusters. Compare with --method threshold."
            )

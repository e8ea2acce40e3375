"""A sample that was drawn before tracing: ``sampled_kernels_info.txt`` of MacSim's tracer (Allegro, MLArchSys 2024)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from kernelpoint.errors import TraceError
from kernelpoint.files import read_regular

SAMPLE_LIST = "sampled_kernels_info.txt"
MOST_BYTES = 1 << 28


@dataclass(frozen=True)
class DrawnCluster:
    """`size` launches of the original run, of which those with the numbers `draws` were drawn, with replacement."""

    size: int
    draws: tuple[int, ...]


@dataclass(frozen=True)
class TracerSample:
    """Launches of a run that were traced, and for how many each stands.

    The tracer draws n_h of the N_h launches of a cluster with replacement, so one launch may be drawn repeatedly; it is
    traced once. A launch's weight is the sum of N_h / n_h over its draws.

    Example:
        >>> sample = TracerSample((DrawnCluster(10, (3, 3, 7, 8)), DrawnCluster(1, (0,))))
        >>> sample.launches, sample.weights
        (11, {0: 1.0, 3: 5.0, 7: 2.5, 8: 2.5})
        >>> [draws.tolist() for draws in sample.values_of_draws({0: 100.0, 3: 2.0, 7: 4.0, 8: 4.0})]
        [[2.0, 2.0, 4.0, 4.0], [100.0]]
    """

    clusters: tuple[DrawnCluster, ...]

    @property
    def launches(self) -> int:
        """Launches of the original run."""
        return sum(cluster.size for cluster in self.clusters)

    @cached_property
    def weights(self) -> dict[int, float]:
        """The tracer's number of a launch -> how many launches of the original run it stands for."""
        weights: dict[int, float] = {}
        for cluster in self.clusters:
            for number in cluster.draws:
                weights[number] = weights.get(number, 0.0) + cluster.size / len(cluster.draws)
        return dict(sorted(weights.items()))

    def values_of_draws(self, values: Mapping[int, float]) -> list[np.ndarray]:
        """Values of the draws of each cluster, float64 [n_h], from those of the launches (estimation.with_replacement_total).

        Raises:
            TraceError: a launch that was drawn has no value.
        """
        missing = [number for number in self.weights if number not in values]
        if missing:
            raise TraceError(f"launch {missing[0]} was drawn by the tracer and has no value ({len(missing)} have none)")
        return [np.array([values[number] for number in cluster.draws], dtype=float) for cluster in self.clusters]


def read_tracer_sample(path: str | os.PathLike[str]) -> TracerSample | None:
    """Read the sample beside a trace list, or a file of it; None where there is none.

    The file has two lines of text, then one for each cluster: its size, the number of draws, and the numbers of the
    launches drawn.

    Args:
        path: a ``sampled_kernels_info.txt``, a ``kernel_config.txt``, or their folder.

    Raises:
        TraceError: the file cannot be read, or is malformed; names the line.

    >>> import pathlib
    >>> _ = pathlib.Path("sampled_kernels_info.txt").write_text("a\\nb\\n10 4 3 3 7 8\\n1 1 0\\n")
    >>> read_tracer_sample("sampled_kernels_info.txt").launches
    11
    """
    file = Path(path)
    if file.name != SAMPLE_LIST:
        file = (file if file.is_dir() else file.parent) / SAMPLE_LIST
    if not file.exists():
        return None
    try:
        lines = read_regular(file, MOST_BYTES).decode(errors="replace").splitlines()
    except OSError as error:
        raise TraceError(f"{file}: cannot be read: {error.strerror}") from None
    clusters = [_cluster(file, number, line) for number, line in enumerate(lines[2:], 3) if line.strip()]
    if not clusters:
        raise TraceError(f"{file}: expected at least one cluster after two lines of text, found none")
    return TracerSample(tuple(clusters))


def _cluster(file: Path, number: int, line: str) -> DrawnCluster:
    words = line.split()
    values = [int(word) for word in words if word.isascii() and word.isdigit()]
    if len(values) != len(words) or len(values) < 3 or len(values) != 2 + values[1] or values[0] < 1:
        raise TraceError(
            f"{file}:{number}: expected '<cluster size> <sample size> <launch> ...' with as many launches as the sample "
            f"size says, found {line[:80]!r}"
        )
    return DrawnCluster(values[0], tuple(values[2:]))

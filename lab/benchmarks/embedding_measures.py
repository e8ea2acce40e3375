"""Measures of embedding.py, each but "cells" defined before the encoders compared were trained.

    nn name     share of streams whose nearest other stream is of the same kernel name; ties count in part
    nn shape    the same for the same name, grid and block
    kin         the same among streams of other kernels only: whether the nearest is of the same family
    purity      share of launches in the commonest class (name, grid, block; synthesised: name) of their cluster
    CoV         sum of N_h sigma_h over the total of cycles: what the size of a sample depends on
    cells       sum of N_h sigma_h / mu_h over N, every cluster split by the amount of work, as the policy `kernelpoint` does
    3nn         mean of |log2 cycles of a stream - mean over its three nearest other streams|, leave one out

Clusters are K-Means with as many clusters as classes; what is said of them is the mean over five seeds of K-Means.
Streams alone in their class are not asked for in nn and kin.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.cluster import KMeans

SEEDS = range(5)
TIE = 1e-7  # squared distances closer than this are equal: rounding


@dataclass(frozen=True)
class Launches:
    """Launches compared with each other: one row each.

    Attributes:
        streams: stream number.
        names, shapes, families: classes.
        work: counts, see `clustering.features.WORK_COLUMNS`.
        amounts: rounded log2 of the instructions of one SM.
        cycles: configuration -> cycles in a full run.
    """

    streams: np.ndarray
    names: np.ndarray
    shapes: np.ndarray
    families: np.ndarray
    work: np.ndarray
    amounts: np.ndarray
    cycles: dict[str, np.ndarray]

    @property
    def first(self) -> np.ndarray:
        """First row of every stream, by stream number."""
        return np.unique(self.streams, return_index=True)[1]


def squared_distances(rows: np.ndarray) -> np.ndarray:
    """Squared distances between all pairs of rows."""
    lengths = np.square(rows).sum(1)
    return np.maximum(lengths[:, None] + lengths[None] - 2 * rows @ rows.T, 0)


def nearest_alike(distances: np.ndarray, classes: np.ndarray, apart: np.ndarray | None = None) -> float:
    """Share of rows whose nearest row is of the same class; rows of the same `apart` (by default itself) do not count."""
    apart = np.arange(len(classes)) if apart is None else apart
    hits = []
    for row, own in enumerate(classes):
        others = np.flatnonzero(apart != apart[row])
        if (classes[others] == own).any():
            nearest = others[distances[row, others] <= distances[row, others].min() + TIE]
            hits.append((classes[nearest] == own).mean())
    return float(np.mean(hits)) if hits else float("nan")


def neighbour_error(distances: np.ndarray, values: np.ndarray, count: int = 3) -> float:
    """Mean absolute error of the mean of the nearest other rows; rows at an equal distance all count."""
    apart = distances.copy()
    np.fill_diagonal(apart, np.inf)
    reach = np.partition(apart, count - 1, axis=1)[:, count - 1]
    errors = [abs(values[row <= far + TIE].mean() - own) for row, far, own in zip(apart, reach, values, strict=True)]
    return float(np.mean(errors))


def k_means(rows: np.ndarray, count: int) -> list[np.ndarray]:
    """K-Means labels of all rows, one for each seed; equal rows are one point with a weight."""
    points, inverse, weights = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
    result = []
    for seed in SEEDS:
        found = KMeans(min(count, len(points)), n_init=1, random_state=seed).fit(points, sample_weight=weights)
        result.append(found.labels_[inverse.ravel()])
    return result


def purity(labels: np.ndarray, classes: np.ndarray) -> float:
    """Share of rows in the commonest class of their cluster."""
    return sum(np.bincount(classes[labels == h]).max() for h in np.unique(labels)) / len(labels)


def spread(labels: np.ndarray, cycles: np.ndarray, even: bool = False) -> float:
    """Sum over clusters of N_h sigma_h over the total; `even`: of N_h sigma_h / mu_h over N."""
    groups = [cycles[labels == h] for h in np.unique(labels)]
    if even:
        return sum(len(group) * group.std() / group.mean() for group in groups) / len(cycles)
    return sum(len(group) * group.std() for group in groups) / cycles.sum()


def measure(rows: np.ndarray, launches: Launches) -> dict[str, float]:
    """Every measure of some features."""
    first, count = launches.first, len(np.unique(launches.shapes))
    distances = squared_distances(rows[first])
    labels = k_means(rows, count)
    names, shapes, families = (c[first] for c in (launches.names, launches.shapes, launches.families))
    result = {
        "nn name": nearest_alike(distances, names),
        "nn shape": nearest_alike(distances, shapes),
        "kin": nearest_alike(distances, families, names),
        "purity": float(np.mean([purity(one, launches.shapes) for one in labels])),
    }
    cells = [np.unique(one * 100 + launches.amounts, return_inverse=True)[1] for one in labels]
    number = np.unique(launches.streams, return_inverse=True)[1].ravel()
    for config, cycles in launches.cycles.items():
        mean = np.bincount(number, cycles) / np.bincount(number)
        result[f"CoV {config}"] = float(np.mean([spread(one, cycles) for one in labels]))
        result[f"cells {config}"] = float(np.mean([spread(one, cycles, even=True) for one in cells]))
        result[f"3nn {config}"] = neighbour_error(distances, np.log2(mean))
    return result

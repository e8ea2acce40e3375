"""Normalisation of rows, their distances to centres, and clustering by distance: a row too far from all clusters opens one."""

from __future__ import annotations

import numpy as np


def unit_rows(values: np.ndarray) -> np.ndarray:
    """Divide each row of a matrix by its Euclidean length; rows of zeros stay.

    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    """
    lengths = np.linalg.norm(values, axis=1, keepdims=True)
    return values / np.where(lengths > 0, lengths, 1)


def nearest(rows: np.ndarray, centers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Index of the nearest centre of each row, and the Euclidean distance to it.

    Numerics: distances are computed from differences, not from the expanded square, so that a row equal to a centre has
    distance 0. Rows are processed in blocks to limit memory.

    Args:
        rows: float64 [n, features].
        centers: float64 [K, features].

    >>> nearest(np.array([[0.0], [9.0]]), np.array([[1.0], [7.0]]))
    (array([0, 1]), array([1., 2.]))
    """
    labels, distances = np.empty(len(rows), np.int64), np.empty(len(rows))
    block = max(1, 2_000_000 // max(1, centers.size))
    for start in range(0, len(rows), block):
        part = rows[start : start + block, None, :] - centers[None]
        squared = np.einsum("nkd,nkd->nk", part, part)
        labels[start : start + block] = squared.argmin(1)
        distances[start : start + block] = np.sqrt(squared.min(1))
    return labels, distances


def threshold_clusters(rows: np.ndarray, threshold: float) -> np.ndarray:
    """Cluster rows by distance to centres (leader clustering; Hartigan, Clustering Algorithms, 1975, chapter 3).

    1. Each row, in order, joins the cluster of the nearest centre if the distance is at most `threshold`; otherwise it becomes
        the centre of a new cluster.
    2. Each centre moves to the mean of its rows; then each row goes to the nearest centre.

    Unlike K-Means, it needs no number of clusters, and it limits the differences within a cluster.

    Args:
        rows: float64 [n, features].
        threshold: largest distance in step 1, above 0.

    Returns:
        int64 [n], cluster of each row, numbered in the order of first occurrence.

    >>> threshold_clusters(np.array([[0.0], [0.1], [1.0], [0.15]]), 0.2).tolist()
    [0, 0, 1, 0]
    """
    points, first, inverse, counts = np.unique(rows, axis=0, return_index=True, return_inverse=True, return_counts=True)
    order = first.argsort()  # as the rows come
    points, weights = points[order], counts[order].astype(np.float64)
    leader = _leaders(points, threshold)
    centers = np.zeros((int(leader.max(initial=-1)) + 1, points.shape[1]))
    np.add.at(centers, leader, points * weights[:, None])
    centers /= np.bincount(leader, weights)[:, None]
    used, opened = np.unique(nearest(points, centers)[0], return_index=True)
    return nearest(points, centers[used[opened.argsort()]])[0][order.argsort()][inverse.ravel()]


def _leaders(rows: np.ndarray, threshold: float) -> np.ndarray:
    """int64 [n]: the cluster that each row joins or opens, in the order of the rows."""
    centers, count, labels = np.empty((16, rows.shape[1])), 0, np.empty(len(rows), np.int64)
    for i, row in enumerate(rows):
        label, distance = nearest(row[None], centers[:count]) if count else (np.array([0]), np.array([np.inf]))
        if distance[0] > threshold:
            if count == len(centers):
                centers = np.concatenate([centers, np.empty_like(centers)])
            centers[count] = row
            label, count = np.array([count]), count + 1
        labels[i] = label[0]
    return labels

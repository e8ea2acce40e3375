"""Normalisation of the rows to cluster, and their distances to centres."""

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

"""The features by which launches are clustered, embedding and amount of work, and their distances."""

from __future__ import annotations

import numpy as np

from kernelpoint.errors import ConfigError

WORK_COLUMNS = ("instructions", "ctas", "warps", "bytes")
WORK_SCALE = 0.1


def unit_rows(values: np.ndarray) -> np.ndarray:
    """Each row divided by its Euclidean length; rows of zeros stay."""
    lengths = np.linalg.norm(values, axis=1, keepdims=True)
    return values / np.where(lengths > 0, lengths, 1)


def run_features(
    embedding: np.ndarray,
    work: np.ndarray | None = None,
    work_scale: float = WORK_SCALE,
) -> np.ndarray:
    """One row of clustering features per launch of a run.

    Mean pooling forgets how much work a launch does, so the embedding is joined by log2 of the work. Distances mean the
    same in every run, whatever launches it has: a row is the embedding scaled to length 1 (the loss looks at cosines), then
    `work_scale` times log2(1 + work). With the default scale, twice of all four counts is 0.2 apart, as far as two
    embeddings with a cosine of 0.98.

    Model: the scale is 0.1 because 0.25 and 0.5 drown the embedding: nearest neighbours get worse
    (lab/benchmarks/embedding.py). On one real trace of tiny launches, cycles were most alike without work.

    Nothing here depends on absolute addresses or on any result.

    Args:
        embedding: [num_launches, width], as `embed_streams` gives it, one row per launch.
        work: [num_launches, any number of columns], counts such as `WORK_COLUMNS`; None leaves work out.
        work_scale: of log2 of the work.

    Returns:
        float64 [num_launches, number of features].

    Raises:
        ConfigError: lengths differ, or work is negative.

    >>> run_features(np.array([[3.0, 4.0]]), np.array([[7]]), work_scale=0.5).tolist()
    [[0.6, 0.8, 1.5]]
    """
    unit = unit_rows(np.asarray(embedding, np.float64))
    parts = [unit]
    if work is not None:
        amount = np.asarray(work, np.float64)
        if len(amount) != len(unit) or (amount < 0).any():
            raise ConfigError(f"work: {amount.shape} counts, none negative, are needed for {len(unit)} launches")
        parts.append(work_scale * np.log2(1 + amount))
    return np.concatenate(parts, axis=1)


def nearest(rows: np.ndarray, centers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Nearest centre and Euclidean distance to it, for each row.

    Numerics: differences, not the expanded square, so a row equal to a centre is at distance 0; in blocks, so memory stays
    small.

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

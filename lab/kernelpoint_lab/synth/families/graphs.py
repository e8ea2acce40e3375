"""Seeded irregular structure: power-law graphs and sparse symmetric matrices, both in compressed rows."""

from __future__ import annotations

import numpy as np


def power_law_graph(rng: np.random.Generator, vertices: int, degree: int) -> tuple[np.ndarray, np.ndarray]:
    """An undirected graph of mean degree about `degree` whose degrees follow a power law (exponent 2.5).

    Edges join vertices drawn in proportion to weights w_i = (i + 8) ** (-1 / (2.5 - 1)) under a random order (Chung and
    Lu 2002; the offset bounds the largest degree); a ring through all vertices keeps it connected.

    Returns:
        starts, int64 [vertices + 1], and columns, int64 [entries], sorted within each row, without doubles or loops.

    >>> starts, columns = power_law_graph(np.random.default_rng(0), 100, 4)
    >>> len(starts), bool((np.diff(starts) >= 2).all())
    (101, True)
    """
    weights = (np.arange(vertices) + 8.0) ** (-1 / 1.5)
    order = rng.permutation(vertices)
    ends = order[rng.choice(vertices, size=(2, max(1, vertices * (degree - 2) // 2)), p=weights / weights.sum())]
    ring = rng.permutation(vertices)
    pairs = np.concatenate([ends, np.stack([ring, np.roll(ring, 1)])], axis=1)
    return _compress(vertices, pairs)


def sparse_matrix(rng: np.random.Generator, rows: int, degree: int) -> tuple[np.ndarray, np.ndarray]:
    """The pattern of a symmetric matrix like a mesh's with some long links: mean `degree` entries a row, diagonal in.

    Three quarters of the links go to rows nearby (within 32), the others anywhere. Returns as `power_law_graph`.
    """
    links = max(1, rows * (degree - 1) // 2)
    near = rng.random(links) < 0.75
    first = rng.integers(0, rows, links)
    other = np.where(near, (first + rng.integers(1, 33, links)) % rows, rng.integers(0, rows, links))
    diagonal = np.tile(np.arange(rows), (2, 1))
    return _compress(rows, np.stack([first, other]), diagonal)


def _compress(count: int, pairs: np.ndarray, diagonal: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Compressed rows of the symmetric closure of `pairs` (int [2, E]) without doubles or loops, plus a diagonal."""
    pairs = pairs[:, pairs[0] != pairs[1]]
    both = np.concatenate([pairs, pairs[::-1]] + ([diagonal] if diagonal is not None else []), axis=1)
    keys = np.sort(both[0].astype(np.int64) * count + both[1])
    keys = keys[np.diff(keys, prepend=-1) > 0]
    starts = np.searchsorted(keys, np.arange(count + 1, dtype=np.int64) * count)
    return starts.astype(np.int64), keys % count

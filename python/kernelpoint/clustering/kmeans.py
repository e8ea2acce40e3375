"""K-Means with K by best silhouette: the clustering of GCL-Sampler."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from kernelpoint.clustering.threshold import nearest
from kernelpoint.randomness import generator

BLOCK = 1 << 21  # distances held at once
MOST_POINTS = 2048  # distinct rows that K is chosen on, at most
TIE = 0.01  # how much below the best silhouette that of a smaller K may be and still win
STARTS = 10  # random ones, for each K


def silhouette_kmeans(rows: np.ndarray, weights: np.ndarray, max_clusters: int, seed: int) -> np.ndarray:
    """Cluster rows by K-Means; K is the smallest whose mean silhouette is within TIE of the best (GCL-Sampler, arXiv
    2603.00551).

    Model: each K from 2 to `max_clusters` is tried; the paper states no range. Equal rows are one weighted point. Because the
    time of a silhouette grows with the square of the number of points, K is chosen on at most MOST_POINTS random points; all
    points are then clustered with it.

    Caution: the silhouette favours few clusters that are far apart. On a real trace it may choose K = 2, with nearly all
    launches in one cluster; compare with `threshold_clusters`.

    Args:
        rows: float64 [n, features], n at least 2.
        weights: float64 [n], above 0: number of equal rows that each row stands for.
        max_clusters: largest K tried, at least 2.
        seed: seed of the random choices.

    Returns:
        int64 [n], cluster of each row, numbered in the order of first occurrence; one cluster if all rows are equal.

    >>> rows = np.array([[0.0], [0.1], [5.0], [5.1], [9.0], [9.1]])
    >>> silhouette_kmeans(rows, np.ones(6), 4, seed=0).tolist()
    [0, 0, 1, 1, 2, 2]
    """
    points, first, inverse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    centers = _centers(points, np.bincount(inverse.ravel(), weights), max_clusters, seed)
    in_order = nearest(points[first.argsort()], centers)[0]
    return nearest(rows, centers[list(dict.fromkeys(in_order.tolist()))])[0]  # numbered by their first row


def _centers(points: np.ndarray, weights: np.ndarray, max_clusters: int, seed: int) -> np.ndarray:
    """Cluster centres for the number of clusters K with the best silhouette."""
    some, share = points, weights
    if len(points) > MOST_POINTS:
        drawn = generator(seed, "silhouette").permutation(len(points))[:MOST_POINTS]
        some, share = points[drawn], weights[drawn]
    most = min(max_clusters, len(some) - bool((share <= 1).all()))
    fits = {k: _kmeans(some, share, k, seed) for k in range(2, most + 1)}
    values = weighted_silhouettes(some, share, [labels for _, labels in fits.values()])
    k = min((k for k, value in zip(fits, values, strict=True) if value >= max(values) - TIE), default=1)
    if k == 1:
        return np.average(points, 0, weights)[None]
    return (fits[k] if some is points else _kmeans(points, weights, k, seed))[0]


def _kmeans(points: np.ndarray, weights: np.ndarray, k: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    random_state = int(generator(seed, "kmeans", k).integers(2**31))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = KMeans(k, n_init=STARTS, random_state=random_state).fit(points, sample_weight=weights)
    return fitted.cluster_centers_, fitted.labels_


def weighted_silhouettes(points: np.ndarray, weights: np.ndarray, labellings: Sequence[np.ndarray]) -> list[float]:
    r"""Mean silhouette (Rousseeuw, 1987) of each of several clusterings of the same points.

    .. math:: s_i = \frac{b_i - a_i}{\max(a_i, b_i)}

    is the silhouette of row i: :math:`a_i` is the mean distance to the other rows of its cluster, :math:`b_i` the least mean
    distance to the rows of another cluster. It is 0 for a row that is alone in its cluster.

    Numerics: distances are computed once for all clusterings, in blocks of points, from products of the points after
    subtraction of the first point. The embeddings of policies are multiples of 2^-24 of at most 1, so their products are exact
    in double precision.

    Args:
        points: float64 [n, features].
        weights: float64 [n], number of equal rows that each point stands for.
        labellings: int [n] each, cluster of each point.

    >>> weighted_silhouettes(np.array([[0.0], [1.0]]), np.array([2, 1]), [np.array([0, 1])])
    [0.6666666666666666]
    """
    if not labellings:
        return []
    counts = [int(labels.max()) + 1 for labels in labellings]
    starts = np.cumsum([0, *counts])
    members = np.zeros((len(points), starts[-1]))
    for labels, start in zip(labellings, starts, strict=False):
        members[np.arange(len(points)), start + labels] = weights
    near = points - points[0]
    squares = np.square(near).sum(1)
    total = np.empty_like(members)
    block = max(1, BLOCK // len(points))
    for low in range(0, len(points), block):
        part = slice(low, low + block)
        squared = squares[part, None] + squares[None] - 2 * near[part] @ near.T
        total[part] = np.sqrt(np.maximum(squared, 0, out=squared), out=squared) @ members
    return [
        _mean_silhouette(total[:, start : start + count], weights, labels, members[:, start : start + count].sum(0))
        for start, count, labels in zip(starts, counts, labellings, strict=False)
    ]


def _mean_silhouette(total: np.ndarray, weights: np.ndarray, labels: np.ndarray, sizes: np.ndarray) -> float:
    """Mean silhouette, from the sum of distances of every point to each cluster [n, K] and the clusters' sizes."""
    own_cluster = np.arange(len(total)), labels
    alone = sizes[labels] <= 1
    within = total[own_cluster] / np.where(alone, 1, sizes[labels] - 1)
    between = total / np.where(sizes > 0, sizes, 1)
    between[:, sizes == 0] = np.inf
    between[own_cluster] = np.inf
    outside = between.min(1)
    larger = np.maximum(within, outside)
    scores = np.where(alone | (larger == 0), 0.0, (outside - within) / np.where(larger == 0, 1, larger))
    return float((scores * weights).sum() / weights.sum())

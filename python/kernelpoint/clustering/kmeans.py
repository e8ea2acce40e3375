"""K-Means with K by best silhouette: the clustering of GCL-Sampler."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from kernelpoint.clustering.estimator import ClusterEstimator, nearest
from kernelpoint.randomness import generator

BLOCK = 1 << 21  # distances held at once


class SilhouetteKMeans(ClusterEstimator):
    """K-Means whose K has the best mean silhouette; on near ties the smaller K (GCL-Sampler, arXiv 2603.00551).

    Model: the paper does not say which K it tries: all from 2 to `max_clusters`. Equal rows are one point with a
    weight; K-Means and silhouette are the same as on all rows. The silhouette takes time as the square of the
    number of points: where there are more than `most_points`, K is chosen on that many, drawn at random, and the clusters are
    those of all points for that K.

    Caution: the silhouette likes few, far-apart clusters. On a real trace it may choose K = 2 and put all but a handful of
    launches into one cluster; see `silhouettes_`, and compare with `ThresholdClusters`.

    Args:
        max_clusters: largest K tried. (default: 20)
        tie: how much below the best silhouette a smaller K may be and still win. (default: 0.01)
        n_init: random starts for each K. (default: 10)
        random_state: seed.
        most_points: distinct rows that K is chosen on, at most. (default: 2048)

    Attributes:
        cluster_centers_: float64 [K, num_features].
        labels_: int64 [num_rows].
        silhouettes_: K -> mean silhouette, for every K tried.

    >>> rows = np.array([[0.0], [0.1], [5.0], [5.1], [9.0], [9.1]])
    >>> SilhouetteKMeans(max_clusters=4).fit_predict(rows).tolist()
    [0, 0, 1, 1, 2, 2]
    """

    silhouettes_: dict[int, float]

    def __init__(
        self,
        max_clusters: int = 20,
        tie: float = 0.01,
        n_init: int = 10,
        random_state: int = 0,
        most_points: int = 2048,
    ) -> None:
        self.max_clusters = max_clusters
        self.tie = tie
        self.n_init = n_init
        self.random_state = random_state
        self.most_points = most_points

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> SilhouetteKMeans:
        """Tries every K. Rows that are all equal are one cluster; a row of weight w counts as w equal rows, 0 as none."""
        if not isinstance(self.max_clusters, (int, np.integer)) or self.max_clusters < 2:
            self._refuse("max_clusters", "an integer of at least 2")
        if not self.tie >= 0:
            self._refuse("tie", "a number of at least 0")
        if not isinstance(self.most_points, (int, np.integer)) or self.most_points < 3:
            self._refuse("most_points", "an integer of at least 3")
        rows = self._rows(X, at_least=2)
        points, first, weights = weighted_points(rows, sample_weight)
        self.n_features_in_ = rows.shape[1]
        centers = self._centers(points, weights)
        in_order = nearest(points[first.argsort()], centers)[0]
        self.cluster_centers_ = centers[list(dict.fromkeys(in_order.tolist()))]  # numbered by their first row
        self.labels_ = self.predict(rows)
        return self

    def _centers(self, points: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Centres for the best K."""
        some, share = points, weights
        if len(points) > self.most_points:
            drawn = generator(int(self.random_state or 0), "silhouette").permutation(len(points))[: self.most_points]
            some, share = points[drawn], weights[drawn]
        most = min(self.max_clusters, len(some) - bool((share <= 1).all()))
        fits = {k: self._kmeans(some, share, k) for k in range(2, most + 1)}
        values = weighted_silhouettes(some, share, [labels for _, labels in fits.values()])
        self.silhouettes_ = dict(zip(fits, values, strict=True))
        best = max(values, default=0.0)
        k = min((k for k, value in self.silhouettes_.items() if value >= best - self.tie), default=1)
        if k == 1:
            return np.average(points, 0, weights)[None]
        return (fits[k] if some is points else self._kmeans(points, weights, k))[0]

    def _kmeans(self, points: np.ndarray, weights: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        from sklearn.cluster import KMeans
        from sklearn.exceptions import ConvergenceWarning

        seed = int(generator(int(self.random_state or 0), "kmeans", k).integers(2**31))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            found = KMeans(k, n_init=self.n_init, random_state=seed).fit(points, sample_weight=weights)
        return found.cluster_centers_, found.labels_


def weighted_points(rows: np.ndarray, weights: Any = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Distinct rows of a weight above 0, the first row of each, and the sums of their weights (by default 1 a row).

    >>> weighted_points(np.array([[1.0], [0.0], [1.0]]))
    (array([[0.],
           [1.]]), array([1, 0]), array([1., 2.]))
    """
    given = np.ones(len(rows)) if weights is None else np.asarray(weights, np.float64)
    if given.shape != (len(rows),) or not (given >= 0).all() or not given.any():
        raise ValueError(f"sample_weight: one number of at least 0 for each of {len(rows)} rows needed, one above 0")
    used = np.flatnonzero(given > 0)
    points, first, inverse = np.unique(rows[used], axis=0, return_index=True, return_inverse=True)
    return points, used[first], np.bincount(inverse.ravel(), given[used])


def weighted_silhouettes(points: np.ndarray, weights: np.ndarray, labellings: Sequence[np.ndarray]) -> list[float]:
    r"""Mean silhouette (Rousseeuw, 1987) of each labelling of points that stand for `weights` equal rows each.

    .. math:: s_i = \frac{b_i - a_i}{\max(a_i, b_i)}

    with :math:`a_i` the mean distance to the other rows of i's cluster and :math:`b_i` the least mean distance to the rows
    of another cluster; 0 for a row that is alone in its cluster.

    Numerics: distances are computed once for all labellings, a block of points at a time, from products of the points less
    the first of them. The policies' embeddings are multiples of 2^-24 of at most 1: their products are exact in double.

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
    """From the sums of distances of every point to the rows of every cluster, [n, K], and the clusters' rows."""
    own = np.arange(len(total)), labels
    alone = sizes[labels] <= 1
    within = total[own] / np.where(alone, 1, sizes[labels] - 1)
    between = total / np.where(sizes > 0, sizes, 1)
    between[:, sizes == 0] = np.inf
    between[own] = np.inf
    outside = between.min(1)
    larger = np.maximum(within, outside)
    scores = np.where(alone | (larger == 0), 0.0, (outside - within) / np.where(larger == 0, 1, larger))
    return float((scores * weights).sum() / weights.sum())

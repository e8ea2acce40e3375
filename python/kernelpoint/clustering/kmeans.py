"""K-Means with K by best silhouette: the clustering of GCL-Sampler."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from kernelpoint.clustering.estimator import ClusterEstimator
from kernelpoint.randomness import generator


class SilhouetteKMeans(ClusterEstimator):
    """K-Means whose K has the best mean silhouette; on near ties the smaller K (GCL-Sampler, arXiv 2603.00551).

    Model: the paper does not say which K it tries: all from 2 to `max_clusters`. Equal rows are one point with a weight,
    which leaves both K-Means and the silhouette what they are on all rows.

    Caution: the silhouette likes few, far-apart clusters. On a real trace it may choose K = 2 and put all but a handful of
    launches into one cluster; see `silhouettes_`, and compare with `ThresholdClusters`.

    Args:
        max_clusters: largest K tried. (default: 20)
        tie: how much below the best silhouette a smaller K may be and still win. (default: 0.01)
        n_init: random starts for each K. (default: 10)
        random_state: seed.

    Attributes:
        cluster_centers_: float64 [K, num_features].
        labels_: int64 [num_rows].
        silhouettes_: K -> mean silhouette, for every K tried.

    >>> rows = np.array([[0.0], [0.1], [5.0], [5.1], [9.0], [9.1]])
    >>> SilhouetteKMeans(max_clusters=4).fit_predict(rows).tolist()
    [0, 0, 1, 1, 2, 2]
    """

    silhouettes_: dict[int, float]

    def __init__(self, max_clusters: int = 20, tie: float = 0.01, n_init: int = 10, random_state: int = 0) -> None:
        self.max_clusters = max_clusters
        self.tie = tie
        self.n_init = n_init
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> SilhouetteKMeans:
        """Tries every K. Rows that are all equal are one cluster."""
        if not isinstance(self.max_clusters, (int, np.integer)) or self.max_clusters < 2:
            self._refuse("max_clusters", "an integer of at least 2")
        if not self.tie >= 0:
            self._refuse("tie", "a number of at least 0")
        rows = self._rows(X, at_least=2)
        points, inverse, weights = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
        self.n_features_in_, self.silhouettes_ = rows.shape[1], {}
        fits = {1: points.mean(0, keepdims=True)}
        for k in range(2, min(self.max_clusters, len(points) - (len(points) == len(rows))) + 1):
            fits[k], labels = self._kmeans(points, weights, k)
            self.silhouettes_[k] = weighted_silhouette(points, weights, labels)
        best = max(self.silhouettes_.values(), default=0.0)
        k = min((k for k, value in self.silhouettes_.items() if value >= best - self.tie), default=1)
        self.cluster_centers_ = fits[k]
        labels = self.predict(points)[inverse.ravel()]
        order = np.unique(labels, return_index=True)[1].argsort()  # clusters are numbered by their first row
        self.cluster_centers_ = self.cluster_centers_[np.unique(labels)[order]]
        self.labels_ = self.predict(rows)
        return self

    def _kmeans(self, points: np.ndarray, weights: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        from sklearn.cluster import KMeans
        from sklearn.exceptions import ConvergenceWarning

        seed = int(generator(int(self.random_state or 0), "kmeans", k).integers(2**31))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            found = KMeans(k, n_init=self.n_init, random_state=seed).fit(points, sample_weight=weights)
        return found.cluster_centers_, found.labels_


def weighted_silhouette(points: np.ndarray, weights: np.ndarray, labels: np.ndarray) -> float:
    r"""Mean silhouette (Rousseeuw, 1987) of points that each stand for `weights` equal rows.

    .. math:: s_i = \frac{b_i - a_i}{\max(a_i, b_i)}

    with :math:`a_i` the mean distance to the other rows of i's cluster and :math:`b_i` the least mean distance to the rows
    of another cluster; 0 for a row that is alone in its cluster.

    >>> weighted_silhouette(np.array([[0.0], [1.0]]), np.array([2, 1]), np.array([0, 1]))
    0.6666666666666666
    """
    count = int(labels.max()) + 1
    members = np.zeros((len(points), count))
    members[np.arange(len(points)), labels] = weights
    sizes = members.sum(0)
    total = np.zeros((len(points), count))
    block = max(1, 4_000_000 // max(1, points.size))
    for start in range(0, len(points), block):
        difference = points[start : start + block, None, :] - points[None]
        total[start : start + block] = np.sqrt(np.einsum("ijd,ijd->ij", difference, difference)) @ members
    own = np.arange(len(points)), labels
    alone = sizes[labels] <= 1
    within = total[own] / np.where(alone, 1, sizes[labels] - 1)
    between = total / np.where(sizes > 0, sizes, 1)
    between[:, sizes == 0] = np.inf
    between[own] = np.inf
    outside = between.min(1)
    larger = np.maximum(within, outside)
    scores = np.where(alone | (larger == 0), 0.0, (outside - within) / np.where(larger == 0, 1, larger))
    return float((scores * weights).sum() / weights.sum())

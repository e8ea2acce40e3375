"""Clusters by distance: a launch too far from every known cluster opens a new one."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelpoint.clustering.estimator import ClusterEstimator, nearest


class ThresholdClusters(ClusterEstimator):
    """Leader clustering (Hartigan, Clustering Algorithms, 1975, chapter 3) with merging.

    A row joins the nearest cluster if its centre is no further than `threshold`, and otherwise opens a new one with itself
    as centre. Unlike K-Means it needs no K, bounds how unlike two launches of a cluster can be, and works online.

    - Online, `partial_fit` takes rows as they come. Centres never move, so a row's label is final the moment it is given:
      strata are frozen before any launch in them is drawn.
    - As a plan, `fit` reads all rows, moves each centre to the mean of its rows, merges clusters whose centres are no
      further apart than `merge`, nearest pair first, and gives every row to the nearest centre that is left.

    Args:
        threshold: largest distance of a row from the centre it joins, above 0. (default: 0.25)
        merge: largest distance of two centres that become one; 0 merges none. (default: 0)

    Attributes:
        cluster_centers_: float64 [num_clusters, num_features], in the order in which clusters were opened.
        labels_: int64 [num_rows]; after `partial_fit`, the labels of that call's rows.

    >>> rows = np.array([[0.0], [0.1], [1.0], [0.15]])
    >>> ThresholdClusters(threshold=0.2).fit_predict(rows).tolist()
    [0, 0, 1, 0]
    """

    def __init__(self, threshold: float = 0.25, merge: float = 0.0) -> None:
        self.threshold = threshold
        self.merge = merge

    def _check(self) -> None:
        if not self.threshold > 0:
            self._refuse("threshold", "a number above 0")
        if not self.merge >= 0:
            self._refuse("merge", "a number of at least 0")

    def fit(self, X: Any, y: Any = None) -> ThresholdClusters:
        """Clusters all rows at once, forgetting earlier ones."""
        self._check()
        rows = self._rows(X)
        points, first, inverse, weights = np.unique(
            rows, axis=0, return_index=True, return_inverse=True, return_counts=True
        )
        order = first.argsort()  # as the rows come
        points, weights = points[order], weights[order].astype(np.float64)
        self.n_features_in_ = rows.shape[1]
        self.cluster_centers_ = np.empty((0, rows.shape[1]))
        labels = self._lead(points)
        sizes = np.bincount(labels, weights)
        centers = np.zeros_like(self.cluster_centers_)
        np.add.at(centers, labels, points * weights[:, None])
        self.cluster_centers_ = self._merged(centers / sizes[:, None], sizes)
        point_labels = self.predict(points)
        used, opened = np.unique(point_labels, return_index=True)
        self.cluster_centers_ = self.cluster_centers_[used[opened.argsort()]]
        self.labels_ = self.predict(points)[order.argsort()][inverse.ravel()]
        return self

    def partial_fit(self, X: Any, y: Any = None) -> ThresholdClusters:
        """Labels further rows; known clusters stay as they are."""
        self._check()
        rows = self._known_rows(X) if self.__sklearn_is_fitted__() else self._rows(X)
        if not self.__sklearn_is_fitted__():
            self.n_features_in_ = rows.shape[1]
            self.cluster_centers_ = np.empty((0, rows.shape[1]))
        self.labels_ = self._lead(rows)
        return self

    def _lead(self, rows: np.ndarray) -> np.ndarray:
        centers = list(self.cluster_centers_)
        table = np.empty((max(16, 2 * len(centers)), rows.shape[1]))
        table[: len(centers)] = self.cluster_centers_
        count, labels = len(centers), np.empty(len(rows), np.int64)
        for i, row in enumerate(rows):
            label, distance = nearest(row[None], table[:count]) if count else (np.array([0]), np.array([np.inf]))
            if distance[0] > self.threshold:
                if count == len(table):
                    table = np.concatenate([table, np.empty_like(table)])
                table[count] = row
                label, count = np.array([count]), count + 1
            labels[i] = label[0]
        self.cluster_centers_ = table[:count].copy()
        return labels

    def _merged(self, centers: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Numerics: each cluster keeps its nearest later one, so a merge costs one row of distances, not all pairs."""
        if self.merge == 0:
            return centers
        near = [nearest_later(centers, i) for i in range(len(centers))]
        alive = np.ones(len(centers), bool)
        while True:
            keep = min(np.flatnonzero(alive).tolist(), key=lambda i: near[i][1])
            gone, distance = near[keep]
            if distance > self.merge:
                return centers[alive]
            share = sizes[gone] / (sizes[keep] + sizes[gone])
            centers[keep] += share * (centers[gone] - centers[keep])
            sizes[keep] += sizes[gone]
            alive[gone], centers[gone], near[gone] = False, np.inf, (gone, np.inf)
            for i in np.flatnonzero(alive).tolist():
                if i == keep or near[i][0] in (keep, gone):
                    near[i] = nearest_later(centers, i)
                elif i < keep:
                    distance = float(np.linalg.norm(centers[keep] - centers[i]))
                    if distance < near[i][1]:
                        near[i] = (keep, distance)


def nearest_later(centers: np.ndarray, row: int) -> tuple[int, float]:
    """The nearest of the rows after `row` and its distance; (row, inf) for the last.

    >>> nearest_later(np.array([[0.0], [9.0], [2.0]]), 0)
    (2, 2.0)
    """
    if row == len(centers) - 1:
        return row, np.inf
    with np.errstate(invalid="ignore"):
        squared = ((centers[row + 1 :] - centers[row]) ** 2).sum(1)
    best = int(squared.argmin())
    return row + 1 + best, float(np.sqrt(squared[best]))

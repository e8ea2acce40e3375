"""The part of scikit-learn's estimator contract that needs no scikit-learn: parameters, checks of input, prediction."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from kernelpoint.errors import ConfigError


class ClusterEstimator:
    """Base of our clusterers (scikit-learn developer guide, "APIs of scikit-learn objects").

    The constructor stores its arguments unchanged; `fit` checks them, learns values whose names end in `_`, forgets earlier
    fits and returns self. Subclasses set `cluster_centers_` [num_clusters, num_features] and `labels_` [num_rows].
    """

    cluster_centers_: np.ndarray
    labels_: np.ndarray
    n_features_in_: int

    @classmethod
    def _parameter_names(cls) -> list[str]:
        return [name for name in inspect.signature(cls).parameters]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Constructor arguments by name."""
        return {name: getattr(self, name) for name in self._parameter_names()}

    def set_params(self, **parameters: Any) -> ClusterEstimator:
        """Sets constructor arguments; an unknown name is refused."""
        for name, value in parameters.items():
            if name not in self._parameter_names():
                allowed = ", ".join(self._parameter_names())
                raise ValueError(f"{type(self).__name__}: no parameter {name!r}; there are {allowed}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in self.get_params().items())})"

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags, TransformerTags  # noqa: F401

        return Tags(estimator_type="clusterer", target_tags=TargetTags(required=False), input_tags=InputTags())

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "cluster_centers_")

    def _refuse(self, parameter: str, allowed: str) -> None:
        value = getattr(self, parameter)
        raise ConfigError(f"{parameter} of {type(self).__name__}: {value!r} given, {allowed} is allowed")

    def _rows(self, X: Any, at_least: int = 1) -> np.ndarray:
        """X as float64 [num_rows, num_features], finite and not empty."""
        rows = np.asarray(X, dtype=np.float64)
        name = type(self).__name__
        if rows.ndim != 2:
            raise ValueError(f"{name}: expected 2D array, got {rows.ndim}D array instead; reshape your data")
        if rows.shape[1] == 0:
            raise ValueError(f"{name}: 0 feature(s) (shape={rows.shape}) while a minimum of 1 is required.")
        if len(rows) < at_least:
            raise ValueError(f"{name}: {len(rows)} sample(s) (shape={rows.shape}) given, at least {at_least} needed")
        if not np.isfinite(rows).all():
            raise ValueError(f"{name}: input contains NaN or infinity (inf)")
        return rows

    def _known_rows(self, X: Any) -> np.ndarray:
        if not self.__sklearn_is_fitted__():
            raise _not_fitted(f"{type(self).__name__}: call fit before predict")
        rows = self._rows(X)
        if rows.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {rows.shape[1]} features, but {type(self).__name__} is expecting {self.n_features_in_} features"
            )
        return rows

    def fit(self, X: Any, y: Any = None) -> ClusterEstimator:
        """Learns clusters from the rows of X, forgetting earlier ones; returns self."""
        raise NotImplementedError

    def partial_fit(self, X: Any, y: Any = None) -> ClusterEstimator:
        """Learns from further rows; only for clusterers that work online."""
        raise NotImplementedError

    def fit_predict(self, X: Any, y: Any = None) -> np.ndarray:
        """Labels of X after fitting to it."""
        return self.fit(X).labels_

    def predict(self, X: Any) -> np.ndarray:
        """Number of the nearest centre of each row, int64 [num_rows]; the lower number where two are equally near."""
        return nearest(self._known_rows(X), self.cluster_centers_)[0]


def _not_fitted(message: str) -> Exception:
    import sys

    if "sklearn" in sys.modules:  # only then can a caller mean its class
        from sklearn.exceptions import NotFittedError

        return NotFittedError(message)
    return ConfigError(message)


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

"""Number, mean and sum of squared deviations of every stratum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Moments:
    """Number n_h, mean, and sum of squared deviations of the values in each of H strata h.

    Attributes:
        n: int64 [H], number of values.
        mean: float64 [H]; 0 in a stratum without values.
        m2: float64 [H], sum over the values y of (y - mean)^2.

    >>> moments = Moments.of(np.array([0, 0, 0, 1]), np.array([1.0, 3.0, 5.0, 7.0]), 2)
    >>> moments.mean.tolist(), moments.variance.tolist()
    ([3.0, 7.0], [4.0, 0.0])
    """

    n: Ints
    mean: Floats
    m2: Floats

    @classmethod
    def of(cls, strata: NDArray[np.integer], values: Floats, count: int) -> Moments:
        """Compute number, mean and squared deviations of values in each stratum.

        Numerics: two passes over the values, because the difference of large sums would lose a small spread around a large
        mean.

        Args:
            strata: int [n], stratum of each value, from 0 to count - 1.
            values: float64 [n].
            count: number of strata H.
        """
        n = np.bincount(strata, minlength=count).astype(np.int64)
        mean = np.bincount(strata, weights=values, minlength=count) / np.maximum(n, 1)
        deviation = values - mean[strata]
        m2 = np.bincount(strata, weights=deviation * deviation, minlength=count)
        return cls(n, mean, m2.astype(float))

    @classmethod
    def of_neighbours(cls, strata: NDArray[np.integer], values: Floats, count: int) -> Moments:
        """Compute moments of values in the order of the run, with squared deviations from successive differences in each
        stratum h: m2_h = sum_j (y_(j+1) - y_j)^2 / 2 (Wolter 2007, section 8.2).

        Slow drift along the run hardly changes successive differences. A sample that is spread evenly over the run follows such
        drift, so its variance must not contain it. m2_h is at least a quarter of the plain sum of squared deviations, because
        samples whose size is no power of two are spread less evenly. Arguments as in `of`.

        >>> float(Moments.of_neighbours(np.zeros(4, int), np.array([1.0, 2.0, 3.0, 4.0]), 1).variance[0])
        0.5
        """
        plain = cls.of(strata, values, count)
        order = np.argsort(strata, kind="stable")
        h, v = np.asarray(strata)[order], values[order]
        same = h[1:] == h[:-1]
        m2 = np.bincount(h[1:][same], weights=0.5 * (v[1:] - v[:-1])[same] ** 2, minlength=count)
        return cls(plain.n, plain.mean, np.maximum(m2, 0.25 * plain.m2))

    @property
    def variance(self) -> Floats:
        """Variance of the values in each stratum, m2 / (n - 1), float64 [H]; 0 where there are fewer than two values."""
        return self.m2 / np.maximum(self.n - 1, 1)

"""Number, mean and sum of squared deviations of every stratum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Moments:
    """Number of values, mean, and sum of squared deviations in each of H strata.

    Symbols: n_h draws, mean ybar_h, m2_h = sum over draws of (y_i - ybar_h)^2. Strata without draws have mean 0.

    >>> moments = Moments.of(np.array([0, 0, 0, 1]), np.array([1.0, 3.0, 5.0, 7.0]), 2)
    >>> moments.mean.tolist(), moments.variance.tolist()
    ([3.0, 7.0], [4.0, 0.0])
    """

    n: Ints
    mean: Floats
    m2: Floats

    @classmethod
    def of(cls, strata: NDArray[np.integer], values: Floats, count: int) -> Moments:
        """Compute the moments of values (float64 [n]) in strata (integers [n], 0 ... count - 1).

        Numerics: two passes, so that a small spread on a large mean is not lost to cancellation.
        """
        n = np.bincount(strata, minlength=count).astype(np.int64)
        mean = np.bincount(strata, weights=values, minlength=count) / np.maximum(n, 1)
        deviation = values - mean[strata]
        m2 = np.bincount(strata, weights=deviation * deviation, minlength=count)
        return cls(n, mean, m2.astype(float))

    @classmethod
    def of_neighbours(cls, strata: NDArray[np.integer], values: Floats, count: int) -> Moments:
        """Compute the moments of ordered values, with m2 from differences of neighbours: m2_h = sum (y_(j+1) - y_j)^2 / 2.

        m2_h / (n_h - 1) is the variance of draws that are spread over the run (successive differences; Wolter 2007, section
        8.2): it is raised little by what changes slowly along the run, which such a sample follows. It is at least a quarter
        of the plain one: samples whose size is no power of two are a little denser in some parts of the run than in others.

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
        """Variance s_h^2 = m2_h / (n_h - 1), float64 [H]; 0 in a stratum with fewer than two draws."""
        return self.m2 / np.maximum(self.n - 1, 1)

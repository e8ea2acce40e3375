"""K-Means with two clusters on one dimension, exactly: the split of Allegro and STEM."""

from __future__ import annotations

import numpy as np


def two_means(values: np.ndarray) -> int:
    """Position of the cut of sorted values in two with the least sum of squares within; 0 where all are equal.

    On one dimension the best two clusters are a cut between neighbours, so all n - 1 cuts are tried: with prefix sums S,
    the best maximises S_k^2 / k + (S_n - S_k)^2 / (n - k). Equal values stay together. Of equal cuts the first is taken.

    >>> two_means(np.array([1.0, 1.1, 5.0, 5.2, 5.3]))
    2
    """
    n = len(values)
    centred = values - values.mean()  # Numerics: cancellation in the squares of large sums
    left = np.cumsum(centred)[:-1]
    k = np.arange(1, n)
    between = left * left * (1.0 / k + 1.0 / (n - k))
    between[np.diff(values) <= 0] = -1.0
    if not len(between) or between.max() < 0:
        return 0
    return int(between.argmax()) + 1

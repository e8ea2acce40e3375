"""Refinement of the traces' labels by a profile: levels and expected costs from times that another GPU took."""

from __future__ import annotations

import numpy as np

from kernelpoint.errors import PolicyError
from kernelpoint.profiles import Profile

TIME_STEP = 0.1  # Model: times within a tenth of each other are alike on any GPU


def steps(times: np.ndarray) -> np.ndarray:
    """int64 [N]: equal for times (float64 [N], above 0) that are within about a tenth of each other.

    >>> steps(np.array([100.0, 101.0, 300.0])).tolist()
    [48, 48, 60]
    """
    return np.round(np.log(times) / np.log1p(TIME_STEP)).astype(np.int64)


def refined(
    levels: list[np.ndarray], expected: np.ndarray, known: np.ndarray, profile: Profile
) -> tuple[list[np.ndarray], np.ndarray]:
    """Levels (int64 [N] each, coarse to fine) and expected costs (float64 [N]) of launches of which a profile knows times.

    The amount of work gives way to the time elsewhere, in steps of a tenth: launches of one cluster that took about as
    long there. A launch without a time keeps its amount of work, and is expected to take what its kind of work takes per
    unit of expected cost. The bound does not rest on it: strata are only made of it, and a time that is wrong makes a
    stratum that spreads, which its draws show.

    Args:
        levels: cluster, amount of work, stream, context; from the traces, as are `expected` and `known`.
        profile: rows in unit order; nan where it has no time.

    Raises:
        PolicyError: a time is negative.

    >>> rows = [np.zeros(4, int)] * 4
    >>> from types import SimpleNamespace
    >>> profile = SimpleNamespace(has_times=True, time=np.array([100.0, 101.0, 300.0, np.nan]), source="elsewhere")
    >>> found, cost = refined(rows, np.array([1.0, 1.0, 3.0, 2.0]), np.ones(4, bool), profile)
    >>> found[1].tolist(), cost.tolist()
    ([1, 1, 2, 0], [100.0, 101.0, 300.0, 200.0])
    """
    times = profile.time
    if bool((times < 0).any()):
        raise PolicyError(f"{profile.source}: a launch takes {np.nanmin(times)}, allowed: times from 0")
    told = known & np.isfinite(times) & (times > 0)
    if not told.any():
        return levels, expected
    scale = float(np.median(times[told] / expected[told]))
    cost = np.where(told, np.where(told, times, 1.0), scale * expected)
    step = steps(cost)
    cluster, amount, stream, context = levels
    least = int(amount.min()) - 1
    label = np.where(told, step, -1 - int(np.abs(step).max()) - (amount - least))
    return [cluster, np.unique(label, return_inverse=True)[1].astype(np.int64), stream, context], cost

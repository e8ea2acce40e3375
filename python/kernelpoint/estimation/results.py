"""The results of simulated units, by unit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from kernelpoint.errors import HostError, shown
from kernelpoint.estimation.moments import Floats, Ints


class Results:
    """Table of results: the counters of the simulated launches in a population of N launches.

    Attributes:
        rows: int32 [N], row of each launch in the table; -1: the launch has no result.
        counters: names of the columns, in the order of the first result.
        count: number of launches with a result.

    >>> results = Results(3)
    >>> results.add(np.array([2]), ("cycles", "instructions"), np.array([[10.0, 4.0]]))
    >>> results.add(np.array([0]), ("instructions", "cycles"), np.array([[8.0, 20.0]]))
    >>> results.of(results.units).tolist()
    [[20.0, 8.0], [10.0, 4.0]]
    """

    def __init__(self, units: int) -> None:
        self.rows = np.full(units, -1, dtype=np.int32)
        self.counters: tuple[str, ...] = ()
        self.count = 0
        self._table: Floats = np.zeros((64, 0))
        self._units: Ints = np.zeros(64, np.int64)  # of each row
        self._sorted: Ints = np.zeros(0, np.int64)

    def add(self, units: Iterable[int], counters: Sequence[str], values: ArrayLike) -> None:
        """Store the results of several launches; if one is refused, none is stored.

        Args:
            units: indices of the n launches.
            counters: names of the columns of `values`.
            values: float64 [n, counters].

        Raises:
            HostError: a launch is unknown or has a result already, the counters are not those of earlier results, or a value is
                not finite.
        """
        units = np.asarray(units if isinstance(units, np.ndarray) else list(units), dtype=np.int64)
        counters, values = tuple(counters), np.asarray(values, dtype=float)
        if values.size == len(units) * len(counters):
            values = values.reshape(len(units), len(counters))
        if len(units) and not 0 <= units.min() <= units.max() < len(self.rows):
            outside = units[(units < 0) | (units >= len(self.rows))][0]
            raise HostError(f"got a result of launch {outside}, which is not in the plan; allowed: 0 to {len(self.rows) - 1}")
        names = self.counters or counters
        if not counters or len(set(counters)) != len(counters):
            raise HostError(
                f"a result of launches has the counters {shown(counters)}; give at least one counter, and each name once"
            )
        if counters != names and sorted(counters) != sorted(names):
            raise HostError(
                f"launch {units[0]}: its result has the counters {shown(counters)}, earlier results {shown(names)}; give "
                "the same counters for every launch"
            )
        if values.shape != (len(units), len(names)):
            raise HostError(
                f"results of {len(units)} launches: got an array of shape {values.shape}; expected "
                f"{(len(units), len(names))}, one row for each launch and one value for each counter"
            )
        values = values if counters == names else values[:, [counters.index(name) for name in names]]
        if not np.isfinite(values).all():
            bad = int(np.flatnonzero(~np.isfinite(values).all(axis=1))[0])
            raise HostError(f"launch {units[bad]}: counters {names} are {values[bad].tolist()}; allowed: finite numbers")
        twice = units[self.rows[units] >= 0]
        if len(twice) or len(np.unique(units)) != len(units):
            raise HostError(f"launch {twice[0] if len(twice) else units[0]}: got a second result; give one for each launch")
        if not self.counters:
            self.counters = counters
            self._table = np.zeros((64, len(counters)))
        needed = self.count + len(units)
        if needed > len(self._table):
            grown = np.zeros((max(needed, 2 * len(self._table)), len(self.counters)))
            grown[: self.count] = self._table[: self.count]
            self._table, self._units = grown, np.resize(self._units, len(grown))
        self._table[self.count : needed] = values
        self._units[self.count : needed] = units
        self.rows[units] = np.arange(self.count, needed, dtype=np.int32)
        self.count = needed

    @property
    def units(self) -> Ints:
        """int64, ascending: indices of the launches with a result."""
        if len(self._sorted) != self.count:
            self._sorted = np.sort(self._units[: self.count])
        return self._sorted

    @property
    def totals(self) -> dict[str, float]:
        """Sum of each counter over the simulated launches only."""
        return dict(zip(self.counters, self.of(self.units).sum(axis=0).tolist(), strict=True))

    def of(self, units: Ints) -> Floats:
        """float64 [units, counters]: results of the given launches, which all have one."""
        return self._table[self.rows[units]]

"""Estimates that agree with each other: least squares under accounting constraints."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

Terms = Mapping[str, float]
"""Weight of each counter in a sum."""

ROUNDS = 200  # of projections
NOTHING = 1e-18  # squared, in half-widths


@dataclass
class Balance:
    """Estimates to be made consistent, in place.

    Attributes:
        values, half_widths: of each counter.
        least: the least that a counter can be, where that is known.
        unit: the smallest amount of a counter that counts, 1 where none is given.

    >>> balance = Balance({"reads": 60.0, "writes": 50.0, "all": 100.0}, {"reads": 9.0, "writes": 9.0, "all": 0.0}, {})
    >>> balance.project([{"reads": 1.0, "writes": 1.0, "all": -1.0}], [])
    >>> balance.values["reads"], balance.half_widths["reads"]
    (55.0, 14.0)
    """

    values: dict[str, float]
    half_widths: dict[str, float]
    least: Mapping[str, float]
    unit: Mapping[str, float] = field(default_factory=dict)

    def derive(self, identity: Terms) -> None:
        """Take each counter from the others of an identity where they know more of it than its own estimate does."""
        for name, weight in identity.items():
            others = {other: w / -weight for other, w in identity.items() if other != name}
            half = sum(abs(w) * self.half_widths[other] for other, w in others.items())
            if half < self.half_widths[name]:
                self.values[name] = sum(w * self.values[other] for other, w in others.items())
                self.half_widths[name] = half

    def project(self, identities: Sequence[Terms], at_most: Sequence[Terms]) -> None:
        """Move estimates to the nearest that fulfil identities (sum = 0), limits (sum <= 0) and `least`, each in units of its
        half-width: least squares under accounting constraints (Stone, Champernowne, Meade 1942), by projections in turn
        (Dykstra 1983), the last one onto all limits that are met at once. Half-widths grow by as much as an estimate moves, so
        right intervals stay right. Exact ones stay.
        """
        names = list(self.values)
        x = before = np.array([self.values[name] for name in names])
        variance = np.array([self._scale(name) for name in names]) ** 2
        rows = [*identities, *at_most, *({name: -1.0} for name in self.least)]
        A = np.array([[terms.get(name, 0.0) for name in names] for terms in rows])
        b = np.array([0.0] * (len(rows) - len(self.least)) + [-least for least in self.least.values()])
        norms = (A * A * variance).sum(axis=1) if len(rows) else np.empty(0)
        kept = np.zeros(len(rows))  # of each limit, how far it moved the estimates last time
        for _ in range(ROUNDS):
            largest = 0.0
            for place in np.flatnonzero(norms):
                step = float(A[place] @ x - b[place]) / norms[place]
                if place >= len(identities):
                    step = max(step, -kept[place])
                    kept[place] += step
                x = x - step * A[place] * variance
                largest = max(largest, step * step * norms[place])
            if largest < NOTHING:
                break
        met = [place for place in np.flatnonzero(norms) if place < len(identities) or kept[place] > 0.0]
        if met:
            moves = A[met] * variance
            x = x - moves.T @ np.linalg.lstsq(moves @ A[met].T, A[met] @ x - b[met], rcond=None)[0]
        for name, moved, was in zip(names, x.tolist(), before.tolist(), strict=True):
            self.values[name] = moved
            self.half_widths[name] += abs(moved - was)

    def _scale(self, name: str) -> float:
        half = self.half_widths[name]
        return half if math.isfinite(half) else 10.0 * (abs(self.values[name]) + self.unit.get(name, 1.0))

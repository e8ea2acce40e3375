"""Two runs compared: a row for each counter."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from kernelpoint.estimation.paired import Interval
from kernelpoint.session.summary import number


@dataclass(frozen=True)
class CounterRow:
    """One counter. first, second: estimated totals from the common launches; ratio: second / first, with its bound;
    difference: second - first, with its bound; separate: half-width of the ratio from the bounds that both runs state by
    themselves (the ratio lies there where both hold, so its confidence is lower); tighter: separate over paired.

    >>> ratio, difference = Interval(1.5, 0.01, 0.004, 9.0), Interval(500.0, 10.0, 4.0, 9.0)
    >>> CounterRow("cycles", 1000.0, 1500.0, ratio, difference, separate=0.04).tighter
    4.0
    """

    counter: str
    first: float
    second: float
    ratio: Interval
    difference: Interval
    separate: float

    @property
    def tighter(self) -> float:
        """Factor by which the paired interval of the ratio is than that of the separate bounds."""
        return self.separate / self.ratio.half_width if self.ratio.half_width > 0.0 else math.inf

    def record(self) -> dict[str, Any]:
        """For JSON, which has no nan."""
        ratio, difference = ({k: number(v) for k, v in asdict(i).items()} for i in (self.ratio, self.difference))
        return {
            "counter": self.counter,
            "first": number(self.first),
            "second": number(self.second),
            "ratio": ratio,
            "difference": difference,
            "separate_half_width": number(self.separate),
            "tighter": number(self.tighter),
        }


@dataclass(frozen=True)
class Comparison:
    """Two runs compared. common: launches drawn in both; first_drawn, second_drawn: in each.

    >>> import kernelpoint as kp
    >>> from kernelpoint.paired import compare_runs
    >>> run = kp.simulate("traces/kernelslist.g", "run.kpjournal", policy="all")
    >>> comparison = compare_runs(run, run)
    >>> comparison.common, comparison.rows[0].counter
    (6, 'cycles')
    """

    rows: tuple[CounterRow, ...]
    launches: int
    common: int
    first_drawn: int
    second_drawn: int
    confidence: float
    notes: tuple[str, ...]

    def record(self) -> dict[str, Any]:
        """For JSON."""
        counts = {"launches": self.launches, "common": self.common}
        drawn = {"first_drawn": self.first_drawn, "second_drawn": self.second_drawn}
        rows = [row.record() for row in self.rows]
        return {**counts, **drawn, "confidence": self.confidence, "counters": rows, "notes": list(self.notes)}

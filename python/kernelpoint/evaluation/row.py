"""One run of a comparison: what was asked for, and what came of it."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Cell:
    """One cell that is asked for. bound: None takes the policy's own first choice."""

    policy: str
    relative_error: float
    seed: int
    confidence: float = 0.95
    scope: str = "workload"
    bound: str | None = None


@dataclass(frozen=True)
class Row:
    """The result of a cell. `reason` says why there is nothing else.

    error: (estimate - total) / total; error_beyond_latency: the same with the launch latency taken off the total, nan where the
    workload names none;
    cycle_speedup: total over what was simulated; bound: "promised" (the design claims the budget), the kind of bound that
    the run measured, or "none"; half_width: relative; held: whether |error| is within it; from_truth: planned from the very
    times that it is judged on.
    """

    workload: str
    policy: str
    relative_error: float
    confidence: float
    seed: int
    launches: int
    strata: int = 0
    simulated: int = 0
    passes: int = 0
    total: float = math.nan
    simulated_total: float = math.nan
    estimate: float = math.nan
    error: float = math.nan
    error_beyond_latency: float = math.nan
    cycle_speedup: float = math.nan
    bound: str = "none"
    half_width: float = math.nan
    held: bool | None = None
    from_truth: bool = False
    planning_seconds: float = 0.0
    reason: str = ""

    def record(self) -> dict[str, Any]:
        """The row for JSON, which has no nan."""
        return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in asdict(self).items()}

    @classmethod
    def of_record(cls, record: dict[str, Any]) -> Row:
        """A row from its record."""
        floats = {name for name, field in cls.__dataclass_fields__.items() if field.type == "float"}
        values: dict[str, Any] = {k: math.nan if v is None and k in floats else v for k, v in record.items()}
        return cls(**values)

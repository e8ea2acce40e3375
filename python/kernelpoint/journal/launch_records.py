"""Records of single launches: decisions and outcomes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from kernelpoint.journal.arrays import BLOCK
from kernelpoint.journal.parts import Count, ProjectionRecord, Stratum, Typed


@dataclass(slots=True)
class DecisionRecord(Typed):
    """One launch decided.

    Attributes:
        u, threshold: reason of a launch that may be drawn.
        take_all: reason of one that is simulated for certain.
        cluster, stream: where known.
        prediction: expected cycles, to six digits.
        x: the covariate.
        trace: path, where no list is known.

    >>> drawn = DecisionRecord(process=0, launch=3, pass_index=0, action="simulate", stratum=1, u=0.02, threshold=0.1)
    >>> drawn.u <= drawn.threshold
    True
    """

    process: Count
    launch: Count
    pass_index: Count
    action: Literal["simulate", "skip"]
    stratum: Stratum | None = None
    u: float | None = None
    threshold: float | None = None
    take_all: str | None = None
    cluster: Count | None = None
    stream: str | None = None
    prediction: float | None = None
    x: float | None = None
    trace: str | None = None
    type: Literal["decision"] = "decision"


@dataclass(slots=True)
class ResultRecord(Typed):
    """Result of a launch: its counters, and its projection if it was stopped inside. copied: True if it is the result
    of an equal launch of a deterministic simulator, or of an earlier run.

    >>> ResultRecord(process=0, launch=3, pass_index=1, counters={"cycles": 900.0}).counters["cycles"]
    900.0
    """

    process: Count
    launch: Count
    pass_index: Count
    counters: dict[str, float]
    projection: ProjectionRecord | None = None
    at_once: bool | None = None
    copied: bool | None = None
    type: Literal["result"] = "result"


@dataclass(slots=True)
class ValidationRecord(Typed):
    """A launch simulated for validation, from real or from replayed state; it is not part of the sample. copied: it is that of
    an earlier run.
    """

    process: Count
    launch: Count
    run_up: Count
    state: Literal["kept", "replayed"]
    counters: dict[str, float]
    copied: bool | None = None
    type: Literal["run_up"] = "run_up"


@dataclass(slots=True)
class FurtherValidationsRecord(Typed):
    """The first validation launches leave too little of the error budget: more follow, `run_ups` in all."""

    pass_index: Count
    run_ups: Count
    type: Literal["further_run_ups"] = "further_run_ups"


@dataclass(slots=True)
class AbortRecord(Typed):
    """A launch that could not be simulated, and why."""

    process: Count
    launch: Count
    pass_index: Count
    reason: str | None = None
    type: Literal["abort"] = "abort"


@dataclass(slots=True)
class LeftOutRecord(Typed):
    """Launches, each (process, launch), that failed as often as is allowed; the run goes on, with a wider bound."""

    pass_index: Count
    launches: list[tuple[Count, Count]]
    type: Literal["left_out"] = "left_out"


@dataclass(slots=True)
class LaunchesRecord(Typed):
    """Estimates of `count` launches from launch `first` on, before the summary of a run that skipped some.

    Each text is an array (journal.arrays) with one number for a launch: cycles, float64, its own result or its estimate; over
    all launches they add up to the estimated total. strata, int32: its stratum, -1 where it was simulated for certain.
    kernels, int32: its place in the summary's `kernels`, -1 where no name is known.
    """

    process: Count
    first: Count
    count: Annotated[int, Field(ge=1, le=BLOCK)]
    cycles: str
    strata: str
    kernels: str
    type: Literal["launches"] = "launches"

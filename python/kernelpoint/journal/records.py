"""The records of a journal, one class for each type, in the order in which a run writes them.

A field with its default (None, or False) is not written. Numbers that are not finite stand as None: JSON has none.

Example:
    >>> from kernelpoint.journal.text import text_of
    >>> for record in (DecisionRecord(0, 3, 0, "simulate", stratum=1), ResultRecord(0, 3, 0, {"cycles": 900.0})):
    ...     print(text_of(record))
    {"type":"decision","process":0,"launch":3,"pass_index":0,"action":"simulate","stratum":1}
    {"type":"result","process":0,"launch":3,"pass_index":0,"counters":{"cycles":900.0}}
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import Field

from kernelpoint.journal.launch_records import (
    AbortRecord,
    DecisionRecord,
    FurtherValidationsRecord,
    LaunchesRecord,
    LeftOutRecord,
    ResultRecord,
    ValidationRecord,
)
from kernelpoint.journal.parts import (
    Count,
    Estimates,
    HostRecord,
    KernelRecord,
    OpenLaunchRecord,
    PartRecord,
    RangeRecord,
    ReplayErrorRecord,
    ScreenedRecord,
    Size,
    StrataRecord,
    Typed,
)

FORMAT_VERSION = 2


@dataclass(slots=True)
class RunRecord(Typed):
    """The first record, once: the resolved configuration, versions, hashes, launches of each process (0 where they
    are not known), plan file and strata; `online`: nobody knew them beforehand; command: of the simulator, word by
    word.

    >>> begun = RunRecord("0.1.0", config={}, bound="sequential", estimate="regression", launches=[9], hashes={})
    >>> begun.version, begun.strata is None
    (2, True)
    """

    kernelpoint: str
    config: dict[str, Any]
    bound: str
    estimate: str
    launches: list[Size]
    hashes: dict[str, str | None]
    host: HostRecord | None = None
    plan: str | None = None
    strata: StrataRecord | None = None
    online: dict[str, float] | None = None
    command: list[str] | None = None
    type: Literal["run"] = "run"
    version: Literal[2] = 2


@dataclass(slots=True)
class PassRecord(Typed):
    """The beginning of a pass: its number of launches (None while it is not known) and the state of the engine, which
    is
    the engine's own affair (estimation.Engine.pass_state).
    """

    pass_index: Count
    wanted: Count | None = None
    state: dict[str, Any] | None = None
    type: Literal["pass"] = "pass"


@dataclass(slots=True)
class DegradedRecord(Typed):
    """A failure: a launch, or with `everything` all that are left, is simulated instead of decided; and why."""

    reason: str
    everything: bool = False
    type: Literal["degraded"] = "degraded"


@dataclass(slots=True)
class LookRecord(Typed):
    """The end of a pass: estimates by counter, and whether the error budget is met.

    >>> from kernelpoint.journal.parts import EstimateRecord
    >>> look = LookRecord(0, met=True, estimates={"cycles": EstimateRecord(1000.0, half_width=8.0)}, ratios={})
    >>> look.estimates["cycles"].half_width
    8.0
    """

    pass_index: Count
    met: bool
    estimates: Estimates
    ratios: Estimates
    type: Literal["look"] = "look"


@dataclass(slots=True)
class SeenRecord(Typed):
    """In journals of earlier versions: counts and estimates of the launches that came so far."""

    seen: Count
    simulated: Count
    clusters: Count
    met: bool
    estimates: Estimates
    ratios: Estimates
    type: Literal["seen"] = "seen"


@dataclass(slots=True)
class PopulationRecord(Typed):
    """The launch list, once the census has seen all of it."""

    launches: list[Size]
    plan: str | None
    hashes: dict[str, str | None]
    strata: StrataRecord
    simulated: ScreenedRecord | None = None  # in journals of earlier versions: launches that this pass simulated
    type: Literal["population"] = "population"


@dataclass(slots=True)
class ResumeRecord(Typed):
    """A new process took the run over, with so many results."""

    results: Count
    type: Literal["resume"] = "resume"


@dataclass(slots=True)
class SummaryRecord(Typed):
    """The end of the run.

    Attributes:
        copied: launches that took the result of an equal one, or of an earlier run.
        lost: units that failed as often as is allowed, and have no result.
        never_completed: units in flight.
        one_per_stream_speedup: total over the sum of one launch for each distinct stream; None: not stated.
        kernels: empty where the plan knows no names; their cycles add up to the estimate.
        replay_errors: by counter, from validation launches.
        restarts: of a full run that was resumed, the units at which it went on.
        bound_excludes: reason for a bound on the sampling error only.
        further: relative errors of further targets of the error budget, by counter or ratio, or `cycles of decode/*`.
        range_targets: estimates of those of ranges.
    """

    launches: Count
    simulated: Count
    skipped: Count
    passes: Count
    inside_kernel: str
    projected: Count
    counter: str
    estimate: float | None
    half_width: float | None
    relative_half_width: float | None
    confidence: float
    relative_error: float
    met: bool
    bound: str
    covers: str
    cycle_speedup: float | None
    one_per_stream_speedup: float | None
    clusters: list[PartRecord]
    counters: Estimates
    ratios: Estimates
    processes: list[PartRecord]
    degraded: list[str]
    lost: list[Count]
    never_completed: list[Count]
    assumptions: list[str]
    warnings: list[str]
    not_covered: list[str]
    policy: str
    seed: Count
    kernels: list[KernelRecord] = field(default_factory=list)
    replay_errors: dict[str, ReplayErrorRecord] = field(default_factory=dict)
    restarts: list[Count] = field(default_factory=list)
    bound_excludes: str | None = None
    open_launch: OpenLaunchRecord | None = None
    copied: Count | None = None
    further: dict[str, float] = field(default_factory=dict)
    range_targets: Estimates | None = None
    type: Literal["summary"] = "summary"


Record = Annotated[
    RunRecord
    | PassRecord
    | DecisionRecord
    | ResultRecord
    | ValidationRecord
    | FurtherValidationsRecord
    | AbortRecord
    | LeftOutRecord
    | DegradedRecord
    | LookRecord
    | SeenRecord
    | PopulationRecord
    | ResumeRecord
    | LaunchesRecord
    | RangeRecord
    | SummaryRecord,
    Field(discriminator="type"),
]

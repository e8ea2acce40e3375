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

from kernelpoint.estimate import Estimate, PartTotals
from kernelpoint.finding import Finding
from kernelpoint.typed import Range

FORMAT_VERSION = 4
BLOCK = 65_536  # launches in one record of their estimates

Count = Annotated[int, Range(0, 2**64)]
Size = Annotated[int, Range(0, 2**40)]
Stratum = Annotated[int, Range(-1, 2**31)]  # -1: a take-all unit


@dataclass(slots=True)
class HostRecord:
    """The simulator: name, version, trace list of each process, and the options of the simulated GPU if it states them.
    Everything is empty where the run does not say.
    """

    simulator: str = ""
    version: str = ""
    lists: list[str | None] = field(default_factory=list)
    configuration: str = ""


@dataclass(slots=True)
class StrataRecord:
    """For each stratum the number of launches, the total of the covariate, and the cluster: with the decisions, all that an
    estimate needs.
    """

    units: list[Size]
    covariate: list[float] | None = None
    clusters: list[Size] | None = None


@dataclass(slots=True)
class ProjectionRecord:
    """CTAs and cycles after which a launch was stopped before its end."""

    ctas: Count
    of: Count
    simulated_cycles: float


Estimates = dict[str, Estimate]  # by counter or ratio; null stands for nan: not known, or not stated


@dataclass(slots=True)
class OpenLaunchRecord:
    """The launch not simulated that could break the error budget alone with the smallest factor over its expected cost.

    Attributes:
        process, launch: its place.
        kernel: its name, None where it is not known.
        times: smallest factor over its expected cost with which the launch breaks the budget.
        probability: probability with which the launch was to be drawn.
    """

    process: Count
    launch: Count
    kernel: str | None
    times: float
    probability: float


@dataclass(slots=True)
class RangeRecord:
    """A range of a run (phase, layer, module): its path (parts separated by "/", empty for the whole run) and its estimates,
    inner ranges included.

    >>> layer = RangeRecord("decode/layer.0", 8, 2, {"cycles": Estimate.of(9000.0, 300.0)})
    >>> layer.estimates["cycles"].half_width
    300.0
    """

    path: str
    launches: Size
    simulated: Size
    estimates: Estimates
    type: Literal["range"] = "range"


@dataclass(slots=True)
class KernelRecord:
    """A kernel: number of launches, number simulated, and estimated totals of its cycles and of the counters that its rates
    (IPC and others) are ratios of.

    >>> gemm = KernelRecord("gemm", launches=100, simulated=4, estimates={"cycles": Estimate.of(2.5e6, 1e5)})
    >>> gemm.estimates["cycles"].estimate / gemm.launches
    25000.0
    """

    name: str
    launches: Size
    simulated: Size
    estimates: Estimates


# ---- single launches --------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class DecisionRecord:
    """Decision on one launch: simulate or skip, and why.

    Attributes:
        u, threshold: reason of a launch that may be drawn.
        take_all: reason of one that is simulated for certain.
        cluster, stream: where known.
        prediction: expected cycles, rounded to six digits.
        x: the covariate.
        trace: path of the trace, in an online run.

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
class ResultRecord:
    """Result of a launch: its counters, and its projection if it was stopped early. copied: True if the result is that of an
    equal launch of a deterministic simulator, or of an earlier run.

    >>> ResultRecord(process=0, launch=3, pass_index=1, counters={"cycles": 900.0}).counters["cycles"]
    900.0
    """

    process: Count
    launch: Count
    pass_index: Count
    counters: dict[str, float]
    projection: ProjectionRecord | None = None
    copied: bool | None = None
    type: Literal["result"] = "result"


@dataclass(slots=True)
class ValidationRecord:
    """Result of a validation launch, from real or replayed state; it is not part of the sample. copied: taken from an earlier
    run.
    """

    process: Count
    launch: Count
    validation: Count
    state: Literal["kept", "replayed"]
    counters: dict[str, float]
    copied: bool | None = None
    type: Literal["validation"] = "validation"


@dataclass(slots=True)
class FurtherValidationsRecord:
    """Decision to make more validation launches, `validations` in all, because the first leave too little of the error budget
    to sampling.
    """

    pass_index: Count
    validations: Count
    type: Literal["further_validations"] = "further_validations"


@dataclass(slots=True)
class AbortRecord:
    """Failure of a launch in the simulator, with the reason."""

    process: Count
    launch: Count
    pass_index: Count
    reason: str | None = None
    type: Literal["abort"] = "abort"


@dataclass(slots=True)
class LeftOutRecord:
    """Launches (process, launch) that failed too often. The run goes on without them, with a wider bound."""

    pass_index: Count
    launches: list[tuple[Count, Count]]
    type: Literal["left_out"] = "left_out"


@dataclass(slots=True)
class LaunchesRecord:
    """Estimates of `count` launches from launch `first` on; stands before the summary of a run that skipped launches.

    Each text is an array (launch_estimates.pack) with one number for a launch: cycles, float64, its own result or its estimate;
    over all launches they add up to the estimated total. strata, int32: its stratum, -1 where it was simulated for certain.
    kernels, int32: its place in the summary's `kernels`, -1 where no name is known.
    """

    process: Count
    first: Count
    count: Annotated[int, Range(1, BLOCK + 1)]
    cycles: str
    strata: str
    kernels: str
    type: Literal["launches"] = "launches"


# ---- the run ----------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class RunRecord:
    """First record of a journal: resolved configuration, versions, hashes, launches of each process (0: unknown), plan file
    and strata. `online`: launches were not known beforehand; `command`: the simulator's, word by word.

    >>> begun = RunRecord("0.1.0", config={}, bound="sequential", estimate="regression", launches=[9], hashes={})
    >>> begun.version, begun.strata is None
    (4, True)
    """

    kernelpoint: str
    config: dict[str, Any]
    bound: str
    estimate: str
    launches: list[Size]
    hashes: dict[str, str | None]
    host: HostRecord = field(default_factory=HostRecord)
    plan: str | None = None
    strata: StrataRecord | None = None
    online: dict[str, float] | None = None
    command: list[str] | None = None
    type: Literal["run"] = "run"
    version: Literal[4] = 4


@dataclass(slots=True)
class PassRecord:
    """Beginning of a pass: its number of launches (None: unknown) and the state of the engine, in the engine's own format
    (estimation.Engine.pass_state).
    """

    pass_index: Count
    wanted: Count | None = None
    state: dict[str, Any] | None = None
    type: Literal["pass"] = "pass"


@dataclass(slots=True)
class DegradedRecord:
    """A decision that failed, with its reason: the launch is simulated instead. `everything`: all remaining launches are."""

    reason: str
    everything: bool = False
    type: Literal["degraded"] = "degraded"


@dataclass(slots=True)
class LookRecord:
    """End of a pass: estimates by counter, and whether the error budget is met.

    >>> look = LookRecord(0, met=True, estimates={"cycles": Estimate.of(1000.0, 8.0)}, ratios={})
    >>> look.estimates["cycles"].half_width
    8.0
    """

    pass_index: Count
    met: bool
    estimates: Estimates
    ratios: Estimates
    type: Literal["look"] = "look"


@dataclass(slots=True)
class PopulationRecord:
    """The list of launches, written when the first pass of an online run has seen all of them."""

    launches: list[Size]
    plan: str | None
    hashes: dict[str, str | None]
    strata: StrataRecord
    type: Literal["population"] = "population"


@dataclass(slots=True)
class ResumeRecord:
    """Resume by a new process, with the number of results so far."""

    results: Count
    type: Literal["resume"] = "resume"


@dataclass(slots=True)
class SummaryRecord:
    """End of the run: totals, bounds and everything that `kernelpoint report --json` prints.

    Attributes:
        skipped: launches that were not simulated, copied ones included.
        copied: launches that took the result of an equal one, or of an earlier run.
        lost: units without a result that are not tried again: those that failed in all allowed attempts, and those left out.
        never_completed: units in flight.
        one_per_stream_speedup: total over the sum of one launch for each distinct stream; None: not stated.
        kernels: empty where the plan knows no names; their cycles add up to the estimate.
        replay_errors: by counter, as shares of its total, from validation launches.
        restarts: of a full run that was resumed, the units at which it went on.
        bound_scope: the error that the half-width covers: exact, total error, sampling error, nothing.
        bound_scope_reason: reason for a bound on the sampling error only.
        further: relative errors of further targets of the error budget, by counter or ratio, or `cycles of decode/*`.
        range_targets: estimates of those of ranges.
        findings: of admission, in lists and traces.
        unmet: counters that no simulated launch has any of, and the largest share of all launches that may have some.
    """

    launches: Count
    simulated: Count
    skipped: Count
    passes: Count
    projected: Count
    counter: str
    estimate: float | None
    half_width: float | None
    relative_half_width: float | None
    confidence: float
    relative_error: float
    met: bool
    bound: str
    bound_scope: str
    cycle_speedup: float | None
    one_per_stream_speedup: float | None
    counters: Estimates
    ratios: Estimates
    processes: list[PartTotals]
    degraded: list[str]
    lost: list[Count]
    never_completed: list[Count]
    assumptions: list[str]
    warnings: list[str]
    not_covered: list[str]
    policy: str
    seed: Count
    kernels: list[KernelRecord] = field(default_factory=list)
    replay_errors: Estimates = field(default_factory=dict)
    restarts: list[Count] = field(default_factory=list)
    bound_scope_reason: str | None = None
    open_launch: OpenLaunchRecord | None = None
    copied: Count | None = None
    further: dict[str, float] = field(default_factory=dict)
    range_targets: Estimates | None = None
    findings: list[Finding] = field(default_factory=list)
    unmet: dict[str, float] = field(default_factory=dict)
    type: Literal["summary"] = "summary"


Record = (
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
    | PopulationRecord
    | ResumeRecord
    | LaunchesRecord
    | RangeRecord
    | SummaryRecord
)

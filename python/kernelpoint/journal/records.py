"""The records of a journal, one class for each type, in the order in which a run writes them.

A field with its default (None, or False) is not written. Numbers that are not finite stand as None: JSON has none.

Example:
    >>> for record in (DecisionRecord(0, 3, 0, "simulate", stratum=1), Outcome(0, 3, 0, {"cycles": 900.0})):
    ...     print(text_of(record))
    {"type":"decision","process":0,"launch":3,"pass_index":0,"action":"simulate","stratum":1}
    {"type":"outcome","process":0,"launch":3,"pass_index":0,"counters":{"cycles":900.0}}
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import zlib
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from functools import cache
from typing import Annotated, Any, Literal

import numpy as np

from kernelpoint.errors import damaged_journal
from kernelpoint.estimate import Estimate, PartTotals
from kernelpoint.finding import Finding
from kernelpoint.typed import Range

FORMAT_VERSION = 5
BLOCK = 65_536  # launches in one record of their estimates

Count = Annotated[int, Range(0, 2**64)]
Size = Annotated[int, Range(0, 2**40)]
Stratum = Annotated[int, Range(-1, 2**31)]  # -1: a take-all unit


@dataclass(slots=True)
class HostRecord:
    """Description of the simulator: name, version, trace list of each process, and options of the simulated GPU. Fields that
    the simulator does not state are empty.
    """

    simulator: str = ""
    version: str = ""
    lists: list[str | None] = field(default_factory=list)
    configuration: str = ""


@dataclass(slots=True)
class StrataRecord:
    """Strata of a run (groups of launches sampled separately): for each the number of launches, the total of the covariate, and
    the cluster (larger group) that it belongs to.
    """

    units: list[Size]
    covariate: list[float] | None = None
    clusters: list[Size] | None = None


@dataclass(slots=True)
class ProjectionRecord:
    """Point at which a launch was stopped before its end: its completed CTAs and its cycles."""

    ctas: Count
    of: Count
    simulated_cycles: float


Estimates = dict[str, Estimate]  # by counter or ratio; null stands for nan: not known, or not stated


@dataclass(slots=True)
class OpenLaunchRecord:
    """Skipped launch that would break the error budget with the smallest excess over its expected cost.

    Attributes:
        process, launch: process of the launch, and index in the process's list.
        kernel: kernel name; None if unknown.
        times: smallest multiple of the expected cost with which this launch alone breaks the budget.
        probability: probability with which the launch was to be drawn.
    """

    process: Count
    launch: Count
    kernel: str | None
    times: float
    probability: float


@dataclass(slots=True)
class RangeRecord:
    """Range of a program (phase, layer or module), with estimates of its totals.

    The path has parts separated by "/"; it is empty for the whole run. Totals include inner ranges.

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
    """One kernel of the run: number of launches, number simulated, and estimated totals.

    The totals are those of cycles and of the counters from which rates such as IPC are computed.

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
    """Decision to simulate or skip one launch, with its reason.

    Attributes:
        u: random number of the launch; it is simulated if `u` <= `threshold`. Not set for a launch that is always simulated.
        threshold: limit for `u`.
        take_all: reason why the launch is always ordered: "failure" if its trace could not be read, or if no estimate could be
            made and every launch is simulated; else "by design".
        cluster: index of the launch's cluster (group of similar launches), if known.
        stream: hash of the launch's instruction sequence, if known.
        prediction: expected cycles, rounded to six digits.
        x: covariate of the launch (a quantity expected to be proportional to its cycles).
        trace: path of the trace, in a run whose launches are not known before.

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
class Outcome:
    """Outcome of one simulated launch: its counters, or the reason of its failure.

    Attributes:
        pass_index: pass of the sample; 0 for a validation.
        counters: values by name, with cycles and instructions first; empty after a failure.
        reason: reason for the failure, if any is given.
        projection: simulated part of a launch that was stopped before its end. The counters are projected to the whole launch.
        copied: True if the counters were taken from an equal launch of a deterministic simulator, or from an earlier run.
        validation: number of the chain of launches that were simulated only to measure the error of restored caches, if the
            launch belongs to one; None for a launch of the sample.
        state: caches that a launch of such a chain began with: `kept` from the launch before it, or `replayed`.
        stopped: True if the simulator stopped the launch before its end.
        points: progress reports of a stopped launch.
        seconds: wall time of the simulation.
        processor_seconds: processor time that a simulator in another process used, without the time to restore caches.

    A simulator's answer has the last four. The journal does not contain them.

    >>> Outcome(process=0, launch=3, pass_index=1, counters={"cycles": 900.0}).is_result
    True
    """

    process: Count
    launch: Count
    pass_index: Count = 0
    counters: dict[str, float] = field(default_factory=dict)
    reason: str | None = None
    projection: ProjectionRecord | None = None
    copied: bool | None = None
    validation: Count | None = None
    state: Literal["kept", "replayed"] | None = None
    stopped: bool = False
    points: tuple[tuple[int, ...], ...] | None = None
    seconds: float | None = None
    processor_seconds: float | None = None
    type: Literal["outcome"] = "outcome"

    @property
    def is_result(self) -> bool:
        """True for a result of a launch of the sample: neither a failure nor a validation."""
        return bool(self.counters) and self.validation is None


@dataclass(slots=True)
class FurtherValidationsRecord:
    """Decision to simulate more launches that measure the error of restored caches, because too little of the error budget
    remains for sampling. `validations` is their new number in all.
    """

    pass_index: Count
    validations: Count
    type: Literal["further_validations"] = "further_validations"


@dataclass(slots=True)
class LeftOutRecord:
    """Launches that failed too often, as (process, launch index). The run continues without their results, with a wider
    bound.
    """

    pass_index: Count
    launches: list[tuple[Count, Count]]
    type: Literal["left_out"] = "left_out"


@dataclass(slots=True)
class LaunchesRecord:
    """Estimates of the launches from index `first` on, `count` of them. It precedes the summary of a run that skipped launches.

    Each field is an array encoded as text (`pack`), with one number for each launch:

    * cycles, float64: simulated cycles of a simulated launch, else estimated cycles; over all launches they add up to the
      total.
    * strata, int32: index of the stratum (group of launches sampled separately); -1 for a launch that is always simulated.
    * kernels, int32: index in the summary's `kernels`; -1 if the name is unknown.
    """

    process: Count
    first: Count
    count: Annotated[int, Range(1, BLOCK + 1)]
    cycles: str
    strata: str
    kernels: str
    type: Literal["launches"] = "launches"


def pack(array: np.ndarray, dtype: str) -> str:
    """Encode an array as text for a journal record. `dtype` is NumPy's name of the stored type, such as "<f8".

    >>> unpack(pack(np.array([1.5, 2.5]), "<f8"), "<f8", 2, "here")
    array([1.5, 2.5])
    """
    return base64.b64encode(zlib.compress(np.ascontiguousarray(array, dtype=dtype).tobytes(), 1)).decode()


def unpack(text: str, dtype: str, count: int, place: str) -> np.ndarray:
    """Decode an array from the text of a journal record. Memory is limited to the size of `count` numbers.

    Args:
        text: text made by `pack`.
        dtype: NumPy's name of the stored type, such as "<f8".
        count: number of elements.
        place: beginning of the message if the text is refused.

    Raises:
        JournalError: the text does not encode `count` numbers.
    """
    size = count * np.dtype(dtype).itemsize
    decoder = zlib.decompressobj()
    try:
        data = decoder.decompress(base64.b64decode(text, validate=True), size + 1)
    except (binascii.Error, ValueError, zlib.error):
        data = b""
    if len(data) != size or not (decoder.eof or not size):
        raise damaged_journal(place, f"expected {count} encoded numbers of type {dtype}, got other text")
    return np.frombuffer(data, dtype=dtype)


# ---- the run ----------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class RunRecord:
    """First record of a journal: the configuration, versions and hashes of the run, the number of launches of each process (0:
    unknown), the plan's file and its strata (groups of launches sampled separately).

    `online` is True if the launches were not known before the run. `command` is the command line of the simulator.

    >>> begun = RunRecord("0.1.0", config={}, bound="sequential", estimate="regression", launches=[9], hashes={})
    >>> begun.version, begun.strata is None
    (5, True)
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
    version: Literal[5] = 5


@dataclass(slots=True)
class PassRecord:
    """Beginning of a pass (round of sampling): its number of launches (None: unknown), and the state of the sampling engine
    (estimation.Sampling.pass_state).
    """

    pass_index: Count
    wanted: Count | None = None
    state: dict[str, Any] | None = None
    type: Literal["pass"] = "pass"


@dataclass(slots=True)
class DegradedRecord:
    """Failure of a decision on a launch, with its reason. The launch is simulated. If `everything`, all remaining launches
    are.
    """

    reason: str
    everything: bool = False
    type: Literal["degraded"] = "degraded"


@dataclass(slots=True)
class LookRecord:
    """End of a pass (round of sampling): estimate of each counter, and whether the error budget is met.

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
    """List of launches, written once the simulator has reported all of them, in a run whose launches were not known before."""

    launches: list[Size]
    plan: str | None
    hashes: dict[str, str | None]
    strata: StrataRecord
    type: Literal["population"] = "population"


@dataclass(slots=True)
class ResumeRecord:
    """Resume of the run by a new process, with the number of results so far."""

    results: Count
    type: Literal["resume"] = "resume"


@dataclass(slots=True)
class SummaryRecord:
    """End of the run: totals, bounds and everything that `kernelpoint report --json` prints.

    Attributes:
        skipped: number of launches that were not simulated, copied results included.
        validations: number of launches that were simulated, beside `simulated`, to measure the error of restored caches.
        copied: number of launches with a result taken from an equal launch or from an earlier run.
        lost: launches without a result that are not tried again.
        never_completed: launches that were being simulated when the run ended.
        one_per_stream_speedup: total cycles over the cycles of one launch for each distinct instruction sequence; None: not
            stated.
        kernels: totals of each kernel; empty if no kernel name is known. Their cycles add up to the estimate.
        replay_errors: error due to restored caches, by counter, as a share of the counter's total.
        restarts: for a full run that was resumed, the launches at which it continued.
        bound_scope: the error that the half-width covers: exact, total error, sampling error, nothing.
        bound_scope_reason: reason why the half-width covers only the sampling error.
        further: allowed relative error of each further target of the error budget, by counter, by ratio, or as `cycles of
            decode/*` for ranges.
        range_targets: estimates of the ranges that have targets.
        findings: defects in lists and traces that the input checks found.
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
    validations: Count = 0
    type: Literal["summary"] = "summary"


Record = (
    RunRecord
    | PassRecord
    | DecisionRecord
    | Outcome
    | FurtherValidationsRecord
    | LeftOutRecord
    | DegradedRecord
    | LookRecord
    | PopulationRecord
    | ResumeRecord
    | LaunchesRecord
    | RangeRecord
    | SummaryRecord
)


# ---- as JSON ----------------------------------------------------------------------------------------------------------

OF_ESTIMATE = tuple(f.name for f in fields(Estimate) if f.name != "counter")  # the key it stands at is its name
_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


def number(value: float) -> float | None:
    """Convert a float for JSON: nan becomes None, which JSON writes as null.

    >>> number(float("nan")) is None
    True
    """
    return float(value) if math.isfinite(value) else None


def plain(record: Any) -> Any:
    """Convert a record to JSON types. The type and the version come first; fields with default values are left out.

    >>> plain(Outcome(process=0, launch=4, pass_index=1))
    {'type': 'outcome', 'process': 0, 'launch': 4, 'pass_index': 1, 'counters': {}}
    """
    if record is None or isinstance(record, str | int | float):
        return record
    if isinstance(record, Estimate):
        numbers = {name: number(getattr(record, name)) for name in OF_ESTIMATE}
        return {name: value for name, value in numbers.items() if value is not None or name != "at_most"}
    if is_dataclass(record):
        kind: Any = type(record)
        named = [(name, getattr(record, name), default) for name, default in _fields(kind)]
        return {name: plain(value) for name, value, default in named if value != default}
    if isinstance(record, dict):
        return {key: plain(value) for key, value in record.items()}
    return [plain(value) for value in record] if isinstance(record, list | tuple) else record


@cache
def _fields(kind: type[Any]) -> list[tuple[str, Any]]:
    """Names of a record's fields in their order in a line, each with the value that is left out."""
    named = sorted(fields(kind), key=lambda field: field.name not in ("type", "version"))
    return [(f.name, f.default if f.default is None or f.default is False else MISSING) for f in named]


def text_of(record: Record) -> str:
    """Convert a record to one line of JSON.

    Raises:
        ValueError: a number in the record is infinite, or is nan where null is not allowed.
    """
    return _encode(plain(record))

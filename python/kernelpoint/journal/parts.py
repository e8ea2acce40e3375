"""Parts of journal records: dataclasses that stand inside others, and the types of their fields."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

from pydantic import ConfigDict, Field

Count = Annotated[int, Field(ge=0, lt=2**64)]
Size = Annotated[int, Field(ge=0, lt=2**40)]
Stratum = Annotated[int, Field(ge=-1, lt=2**31)]  # -1: a take-all unit


@dataclass(slots=True)
class Typed:
    """A part of a record; the reader refuses fields that are missing, unknown, of another type or not finite.

    >>> from pydantic import TypeAdapter
    >>> TypeAdapter(KernelRecord).validate_json('{"name": "gemm"}')  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    pydantic_core._pydantic_core.ValidationError: 3 validation errors for KernelRecord...
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


@dataclass(slots=True)
class HostRecord(Typed):
    """The simulator: its name, its version, the trace list of each process, the simulated GPU's options where it
    states them."""

    simulator: str
    version: str = ""
    lists: list[str | None] = field(default_factory=list)
    configuration: str = ""


@dataclass(slots=True)
class StrataRecord(Typed):
    """Launches, total of the covariate and cluster of each stratum: with the decisions, all that an estimate needs of a
    design.
    """

    units: list[Size]
    covariate: list[float] | None = None
    clusters: list[Size] | None = None


@dataclass(slots=True)
class ProjectionRecord(Typed):
    """A launch that was stopped inside: by which method, after how many of its CTAs and cycles; half-widths by counter."""

    method: str
    ctas: Count
    of: Count
    simulated_cycles: float
    half_widths: dict[str, float | None]


@dataclass(slots=True)
class EstimateRecord(Typed):
    """One counter, or ratio of counters.

    Attributes:
        simulated: over the simulated launches alone.
        computed_half_width: that which results show, before it is raised to the error budget; None, which is written:
            not stated.

    >>> from kernelpoint.journal.text import plain
    >>> plain(EstimateRecord(simulated=40.0))["half_width"] is None  # none is stated, and the journal says so
    True
    """

    writes_none: ClassVar[bool] = True

    estimate: float | None = None
    half_width: float | None = None
    relative_half_width: float | None = None
    std_error: float | None = None
    degrees_of_freedom: float | None = None
    confidence: float | None = None
    simulated: float | None = None
    computed_half_width: float | None = None


Estimates = dict[str, EstimateRecord]


@dataclass(slots=True)
class ScreenedRecord(Typed):
    """The launches that a screening pass simulated, by unit, and where they lie in the design, which came later."""

    units: list[Count]
    strata: list[Stratum]
    x: list[float]


@dataclass(slots=True)
class OpenLaunchRecord(Typed):
    """The unsimulated launch that needs the smallest multiple of its expected cost to break the error budget alone.

    Attributes:
        process, launch: its place.
        kernel: its name, None where it is not known.
        times: that multiple.
        probability: of its being drawn, beforehand.
    """

    process: Count
    launch: Count
    kernel: str | None
    times: float
    probability: float


@dataclass(slots=True)
class PartRecord(Typed):
    """A process, or a cluster, by itself."""

    number: Count
    launches: Size
    simulated: Size
    estimates: Estimates


@dataclass(slots=True)
class RangeRecord(Typed):
    """A range of a run (phase, layer, module) before the summary: its path, parts separated by "/", empty of the whole run; and
    its estimates, those of the ranges inside it and of its other launches included.

    >>> layer = RangeRecord("decode/layer.0", 8, 2, {"cycles": EstimateRecord(9000.0, half_width=300.0)})
    >>> layer.estimates["cycles"].half_width
    300.0
    """

    path: str
    launches: Size
    simulated: Size
    estimates: Estimates
    type: Literal["range"] = "range"


@dataclass(slots=True)
class KernelRecord(Typed):
    """A kernel: its launches, those that were simulated, and the estimated cycles of all of them. estimates: its totals of the
    counters that its rates are made of, each with a half-width.

    >>> gemm = KernelRecord("gemm", launches=100, simulated=4, cycles=2.5e6)
    >>> gemm.cycles / gemm.launches
    25000.0
    """

    name: str
    launches: Size
    simulated: Size
    cycles: float | None
    estimates: Estimates = field(default_factory=dict)


@dataclass(slots=True)
class ReplayErrorRecord(Typed):
    """Error of replay in a counter, as a fraction of its total, and the half-width of that estimate."""

    writes_none: ClassVar[bool] = True

    error: float | None
    half_width: float | None

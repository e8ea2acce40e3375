"""The plan of a run: its frozen design and what reports say of its launches, in one file (`.kpplan`, an npz archive)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from kernelpoint.admission import Finding
from kernelpoint.archive import read_archive, write_archive
from kernelpoint.arguments import check, checked
from kernelpoint.errors import ConfigError, PlanError, shown
from kernelpoint.estimation import AssistedDesign, Design, Prediction, TwoPhaseDesign
from kernelpoint.journal import StrataRecord
from kernelpoint.planning.forecast import Forecast
from kernelpoint.program import COUNTS, Program

FORMAT_VERSION = 10
_STRATA_PARTS = tuple(f.name for f in fields(Design) if f.name != "u")
_ASSISTED_PARTS = ("groups", "assume", "latency", "kinds")
_LAUNCH_PARTS = ("contents", "kernel_ids", "stream_ids", "stream_map", "stream_counts")
_PREDICTION_PARTS = tuple(f.name for f in fields(Prediction) if f.name != "kinds")


@dataclass(frozen=True)
class Plan:
    """Plan of a run: the design that a policy fixed before the first launch, and everything it was made from.

    Args:
        design: strata, first sizes, covariate.
        origin: what the plan was made from, by name (list, policy, seed, ...); a run uses a plan only if all of it agrees.
        broken: units whose trace could not be read, with the reason.
        contents: int32 [N], equal for launches of equal traces, or None where the policy read no traces.
        stream_ids: int32 [N], the stream of each launch, or None where the policy read no traces.
        stream_hashes: hexadecimal hash of each stream.
        kernel_ids: int32 [N], a row of kernel_names for each launch, -1 where its name is not known, or None. Launches of one
            stream may have different names.
        kernel_names: the distinct kernel names.
        stream_map: float32 [S, 2], where each stream lies on a map of the embeddings, or None.
        stream_counts: int64 [S, 9], work of one launch of each stream, columns as in traces.scan.COUNTS, or None.
        forecast: what runs at several error budgets are expected to take, where that was asked for.
        findings: of admission, in its traces (admission.Finding); versions: SASS version of their code -> launches.
        known_counts: counts of every launch that are known without traces, by name, int64 [N]; not kept in the file.
        files: which files it was made from (fingerprint, `here`); not kept in the file.
        unread: why traces could not be opened or read when it was made, though another try may; not kept in the file.
        first_phase: the traced launches of a selection, where the fast model predicts these; not kept in the file.
    """

    design: Design | AssistedDesign
    origin: dict[str, Any]
    broken: dict[int, str] = field(default_factory=dict)
    contents: np.ndarray | None = None
    stream_ids: np.ndarray | None = None
    stream_hashes: list[str] = field(default_factory=list)
    kernel_ids: np.ndarray | None = None
    kernel_names: list[str] = field(default_factory=list)
    stream_map: np.ndarray | None = None
    stream_counts: np.ndarray | None = None
    forecast: list[Forecast] = field(default_factory=list)
    findings: tuple[Finding, ...] = ()
    versions: dict[int, int] = field(default_factory=dict)
    known_counts: Mapping[str, np.ndarray] = field(default_factory=dict)
    files: str = ""
    unread: tuple[str, ...] = ()
    first_phase: TwoPhaseDesign | None = None

    def cluster_of_unit(self) -> np.ndarray:
        """int64 [N]: cluster of each launch, one cluster if the design names none; launches that are always simulated come
        last.
        """
        labels = np.asarray(self.design.labels, dtype=np.int64)
        clusters = self.design.clusters
        of_label = np.zeros(self.design.label_count, np.int64) if clusters is None else np.asarray(clusters)
        last = int(of_label.max()) + 1 if len(of_label) else 0
        return np.append(of_label, last)[labels]

    def name_of_unit(self, unit: int) -> str | None:
        """Kernel name of a launch; None if it is not known."""
        check("unit", unit, int)
        if self.kernel_ids is not None and not 0 <= unit < len(self.kernel_ids):
            raise ConfigError(f"unit: got {shown(unit)}; allowed: 0 to {len(self.kernel_ids) - 1}")
        kernel = -1 if self.kernel_ids is None else int(self.kernel_ids[unit])
        return self.kernel_names[kernel] if kernel >= 0 else None

    def kernels_and_shapes(self) -> np.ndarray | None:
        """int64 [N]: equal numbers for launches with equal kernel name, CTAs and warps, -1 if the name is not known; None if no
        name, or no count, is.

        >>> import kernelpoint as kp
        >>> len(kp.Plan.from_traces("traces/kernelslist.g", policy="gcl").kernels_and_shapes())
        6
        """
        ctas, warps = self.count_of_unit("ctas"), self.count_of_unit("warps")
        if self.kernel_ids is None or ctas is None or warps is None:
            return None
        keys = np.stack([self.kernel_ids, np.nan_to_num(ctas, nan=-1), np.nan_to_num(warps, nan=-1)], axis=1)
        numbers = np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
        return np.where(np.asarray(self.kernel_ids) >= 0, numbers, -1)

    @checked
    def count_of_unit(self, name: str) -> np.ndarray | None:
        """float64 [N]: a count from the traces (traces.scan.COUNTS) for every launch, nan if its trace was not read; None if
        no trace was.
        """
        if name in self.known_counts:
            return self.known_counts[name].astype(np.float64)
        if self.stream_ids is None or self.stream_counts is None:
            return None
        if name not in COUNTS:
            raise ConfigError(f"count: got {shown(name)}; allowed: {', '.join(COUNTS)}")
        counts = np.append(self.stream_counts[:, COUNTS.index(name)].astype(np.float64), np.nan)
        return counts[np.asarray(self.stream_ids)]

    @checked
    def save(self, path: str | Path) -> None:
        """Write the plan; the file appears whole or not at all.

        Raises:
            PlanError: it cannot be written there.
        """
        predictions = self.design.known if isinstance(self.design, AssistedDesign) else {}
        arrays = _present(self.design, _ASSISTED_PARTS if predictions else _STRATA_PARTS, "design")
        for index, prediction in enumerate(predictions.values()):
            arrays |= _present(prediction, _PREDICTION_PARTS, f"prediction_{index}")
        for name in _LAUNCH_PARTS:
            if getattr(self, name) is not None:
                arrays[name] = getattr(self, name)
        about = {
            "version": FORMAT_VERSION,
            "origin": self.origin,
            "broken": {str(unit): why for unit, why in self.broken.items()},
            "stream_hashes": self.stream_hashes,
            "kernel_names": self.kernel_names,
            "predictions": list(predictions),
            "forecast": [asdict(prediction) for prediction in self.forecast],
            "findings": [prediction.record() for prediction in self.findings],
            "versions": {str(version): count for version, count in self.versions.items()},
        }
        try:
            write_archive(path, about, arrays)
        except OSError as error:
            raise PlanError(f"cannot write the plan {path}: {error.strerror}") from None

    @classmethod
    @checked
    def load(cls, path: str | Path, u: np.ndarray) -> Plan:
        """Read a plan. `u` are the random numbers of the population, which are not stored.

        Raises:
            PlanError: the file is missing, damaged, of another version, or for another number of launches.
        """
        about, arrays = read_archive(path)
        if "tracer" in about:
            raise PlanError(f"{path}: a selection, not a plan; the key `selection:` names it")
        if about.get("version") != FORMAT_VERSION:
            raise PlanError(
                f"{path}: plan format {about.get('version')!r:.40}, this version reads {FORMAT_VERSION}; make it again"
            )
        try:
            labels = arrays["design_groups" if about["predictions"] else "design_strata"]
            if len(labels) != len(u):
                raise PlanError(
                    f"{path}: a plan for {len(labels):,} launches; this run has {len(u):,}. Make one of this list with "
                    "`kernelpoint plan`, or leave `plan:` out"
                )
            return cls._of(about, arrays, u)
        except (ConfigError, ValueError, LookupError, TypeError, AttributeError) as error:
            raise PlanError(f"{path}: not a plan: {' '.join(str(error).split())[:200]}") from None

    @classmethod
    def _of(cls, about: dict[str, Any], arrays: dict[str, np.ndarray], u: np.ndarray) -> Plan:
        """Read the plan in an archive; raises errors of many types if it does not fit."""
        names_of = list(map(str, about["predictions"]))
        parts = _given(arrays, _ASSISTED_PARTS if names_of else _STRATA_PARTS, "design")
        known = [_given(arrays, _PREDICTION_PARTS, f"prediction_{index}") for index in range(len(names_of))]
        kinds = parts.pop("kinds", None)
        broken = {int(unit): str(why) for unit, why in about["broken"].items()}
        hashes, names = list(map(str, about["stream_hashes"])), list(map(str, about["kernel_names"]))
        streams: dict[str, Any] = {name: arrays.get(name) for name in _LAUNCH_PARTS}
        _check_arrays(parts, streams, len(u), len(hashes), len(names))
        _check_predictions(known, kinds, len(u))
        predictions = {name: Prediction(**one, kinds=kinds) for name, one in zip(names_of, known, strict=True)}
        if not all(0 <= unit < len(u) for unit in broken):
            raise ValueError("it names launches beyond the end of its list")
        return cls(
            design=AssistedDesign(predictions, u=u, **parts) if predictions else Design(u=u, **parts),
            origin=about["origin"],
            broken=broken,
            stream_hashes=hashes,
            kernel_names=names,
            forecast=[Forecast(**one) for one in about["forecast"]],
            findings=tuple(Finding.of(one) for one in about["findings"]),
            versions={int(version): int(count) for version, count in about["versions"].items()},
            **streams,
        )


def _present(whole: object, names: tuple[str, ...], prefix: str) -> dict[str, Any]:
    """Attributes that are set, by their names in the file of a plan."""
    return {f"{prefix}_{name}": value for name in names if (value := getattr(whole, name)) is not None}


def _given(arrays: Mapping[str, np.ndarray], names: tuple[str, ...], prefix: str) -> dict[str, Any]:
    """Entries of a file whose names begin with `prefix`, by the rest of the name."""
    given = {name: arrays[f"{prefix}_{name}"] for name in names if f"{prefix}_{name}" in arrays}
    return {name: value if value.ndim else value.item() for name, value in given.items()}


# Kinds of numbers (numpy's letters) of an array, its dimensions, and of what it has one row: units, strata, streams.
_ARRAYS = {
    "strata": ("iu", 1, "units"),
    "groups": ("iu", 1, "units"),
    "first_sizes": ("iu", 1, "strata"),
    "x": ("f", 1, "units"),
    "cost": ("f", 1, "strata"),
    "clusters": ("iu", 1, "strata"),
    "chosen": ("iu", 1, None),
    "contents": ("iu", 1, "units"),
    "kernel_ids": ("iu", 1, "units"),
    "stream_ids": ("iu", 1, "units"),
    "stream_map": ("f", 2, "streams"),
    "stream_counts": ("iu", 2, "streams"),
}


def _check_arrays(
    design: dict[str, Any], streams: dict[str, np.ndarray | None], units: int, count: int, kernels: int
) -> None:
    """Check types and shapes of the arrays of a plan; raises ValueError."""
    for name, kind in (
        ("balanced", bool),
        ("allowance", float),
        ("slow_excess", float),
        ("latency", float),
        ("assume", str),
    ):
        if name in design and type(design[name]) is not kind:
            raise ValueError(f"{name} is {design[name]!r:.60}")
    lengths = {"units": units, "strata": len(design.get("first_sizes", ())), "streams": count}
    per_unit = {name: array for name, array in {**design, **streams}.items() if name in _ARRAYS and array is not None}
    for name, array in per_unit.items():
        kinds, dimensions, of = _ARRAYS[name]
        if array.dtype.kind not in kinds or array.ndim != dimensions or (of and len(array) != lengths[of]):
            raise ValueError(f"{name} is an array of {array.shape} {array.dtype}; there are {lengths}")
    for name, most in (("stream_ids", count), ("kernel_ids", kernels), ("contents", units)):
        ids = streams[name]
        if ids is not None and len(ids) and not -1 <= ids.min() <= ids.max() < most:
            raise ValueError(f"{name} go from {ids.min()} to {ids.max()}; allowed: -1 to {most - 1}")


def _check_predictions(predictions: list[dict[str, Any]], kinds: object, units: int) -> None:
    """Check that predictions have one number for each kind of unit; raises ValueError."""
    count = units
    if kinds is not None:
        if not isinstance(kinds, np.ndarray) or kinds.dtype.kind not in "iu" or kinds.shape != (units,):
            raise ValueError(f"the kinds of units are {shown(kinds)}; expected {units} whole numbers")
        count = len(next((prediction["values"] for prediction in predictions), ()))
        if units and not 0 <= kinds.min() <= kinds.max() < count:
            raise ValueError(
                f"its kinds of units are numbered from {kinds.min()} to {kinds.max()}; allowed: 0 to {count - 1}"
            )
    for name, values in (part for prediction in predictions for part in prediction.items() if part[0] != "is_observed"):
        if not isinstance(values, np.ndarray) or values.dtype.kind != "f" or values.shape != (count,):
            raise ValueError(f"a prediction's {name} is {shown(values)}; expected {count} numbers")


@dataclass(frozen=True)
class SamplingFrame:
    """Sampling frame of a run: its launches and the plan that divides them.

    plan_path: the file in which the plan lies, if any; hashes: of traces (the list's fingerprint), design, checkpoint, fast
    model.

    >>> import kernelpoint as kp
    >>> plan = kp.Plan.from_traces("traces/kernelslist.g", policy="gcl")
    >>> frame = SamplingFrame.of(Program((6,)), plan, None)
    >>> frame.is_predicted, frame.cluster_and_stream(5)[0], sorted(frame.hashes)
    (False, 0, ['checkpoint', 'design', 'traces'])
    """

    program: Program
    plan: Plan
    plan_path: str | None
    hashes: dict[str, str]

    @classmethod
    def of(cls, program: Program, plan: Plan, plan_path: str | None) -> SamplingFrame:
        """Make the frame from a program and its plan, with its hashes."""
        hashes = {"traces": plan.origin["traces"], "design": hash_design(plan.design)}
        if "checkpoint" in plan.origin:
            hashes["checkpoint"] = plan.origin["checkpoint"]
        if "fast_model" in plan.origin:
            hashes["fast_model"] = plan.origin["fast_model"]["config_hash"]
        return cls(program, plan, plan_path, hashes)

    @property
    def design(self) -> Design | AssistedDesign:
        """Sampling design, fixed before the first launch."""
        return self.plan.design

    @property
    def is_predicted(self) -> bool:
        """True if the estimate uses predictions of the launches, False if it uses strata."""
        return isinstance(self.design, AssistedDesign) or self.plan.first_phase is not None

    def expected_costs(self, units: np.ndarray) -> np.ndarray:
        """float64 [units]: expected cost of launches in any unit: predicted cycles, else the covariate, else 1."""
        expected = self.design.expected
        return np.ones(len(units)) if expected is None else np.asarray(expected, dtype=float)[units]

    def cluster_and_stream(self, unit: int) -> tuple[int | None, str | None]:
        """Cluster of a launch and hash of its instruction sequence, if known."""
        clusters, streams = self.design.clusters, self.plan.stream_ids
        stratum, stream = int(self.design.labels[unit]), -1 if streams is None else int(streams[unit])
        cluster = int(clusters[stratum]) if clusters is not None and stratum >= 0 else None
        return cluster, self.plan.stream_hashes[stream] if stream >= 0 else None


def strata_record(design: Design | AssistedDesign) -> StrataRecord | None:
    """Journal record of the strata of a design; None if the design has predictions and so no strata."""
    if isinstance(design, AssistedDesign):
        return None
    covariate = None if design.covariate_totals is None else design.covariate_totals.tolist()
    clusters = None if design.clusters is None else np.asarray(design.clusters).tolist()
    return StrataRecord(design.sizes.tolist(), covariate, clusters)


def hash_design(design: Design | AssistedDesign) -> str:
    """Hash of everything that a design fixes."""
    digest = hashlib.blake2b(digest_size=16)
    for part in _parts_of_assisted(design) if isinstance(design, AssistedDesign) else _parts_of_strata(design):
        digest.update(b"none" if part is None else np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()


def _parts_of_assisted(design: AssistedDesign) -> list[np.ndarray | None]:
    predictions = [
        part
        for _, prediction in sorted(design.known.items())
        for part in (prediction.values, prediction.of_draws, prediction.deviations)
    ]
    predictions += [np.array([1]) for prediction in design.known.values() if prediction.is_observed]
    return [design.groups, design.u, np.array(design.latency), design.kinds, *predictions]


def _parts_of_strata(design: Design) -> list[np.ndarray | None]:
    return [
        design.strata,
        design.first_sizes,
        design.u,
        design.x,
        design.cost,
        design.clusters,
        design.chosen,
    ]

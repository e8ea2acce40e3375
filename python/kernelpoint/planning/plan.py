"""The plan of a run: its frozen design and what reports say of its launches, in one file (an npz archive)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from kernelpoint.archive import read_archive, write_archive
from kernelpoint.arguments import check, checked
from kernelpoint.errors import ConfigError, PlanError, shown
from kernelpoint.estimation import AssistedDesign, Design, Prediction, TwoPhaseDesign
from kernelpoint.journal import StrataRecord
from kernelpoint.planning.forecast import Forecast
from kernelpoint.program import COUNTS, Program, Remark
from kernelpoint.program.kept import kept, require, with_kept

FORMAT_VERSION = 13
LEAST_ALLOWANCE, MOST_ALLOWANCE = 0.1, 27.0  # in the file of a plan: those of the policies
_STRATA_PARTS = tuple(f.name for f in fields(Design) if f.name not in ("u", "latency"))  # they are the run's
_ASSISTED_PARTS = ("groups", "assume", "latency", "shapes", "kinds")
_PREDICTION_PARTS = tuple(f.name for f in fields(Prediction) if f.name != "kinds")


@dataclass(frozen=True)
class Plan:
    """Plan of a sampled run: its launches, and the sampling design that a policy fixed before the run.

    Args:
        program: the launches, with kernel names, shapes and trace data where traces were read.
        design: strata (groups of launches sampled separately), first sample sizes, and covariate.
        origin: names and values of everything that the plan depends on (list, policy, seed, ...). A run uses a plan only if
            they all agree.
        knows_errors: True if the design always orders the launches whose trace could not be read (`unreadable`).
        stream_map: float32 [S, 2], position of each of the S distinct instruction sequences on a map of similar ones, or None.
        forecast: expected cost of runs at several error budgets, if it was requested.
        first_phase: for a run of which only some launches were traced: those launches, if the fast model predicts them. It is
            not in the file.
        path: file of the plan, if any.

    >>> import kernelpoint as kp
    >>> plan = kp.Plan.from_traces("traces/kernelslist.g", policy="gcl")
    >>> plan.first_phase, plan.cluster_of_unit().tolist(), sorted(plan.hashes)
    (None, [0, 0, 0, 0, 0, 0], ['checkpoint', 'design', 'traces'])
    """

    kind: ClassVar[str] = "plan"  # and the configuration's key for a file of it
    columns: ClassVar[tuple[str, ...]] = ("label", "content")  # of the program, that the file has

    program: Program
    design: Design | AssistedDesign
    origin: dict[str, Any]
    knows_errors: bool = False
    stream_map: np.ndarray | None = None
    forecast: list[Forecast] = field(default_factory=list)
    first_phase: TwoPhaseDesign | None = None
    path: str | None = None

    @property
    def unreadable(self) -> Mapping[int, str]:
        """Launches that are always ordered, because their trace could not be read: reason by launch index. Most cannot be
        simulated.
        """
        return self.program.errors if self.knows_errors else {}

    @property
    def strata_record(self) -> StrataRecord | None:
        """Journal record of the strata (groups of launches sampled separately); None if the estimate uses predictions of each
        launch instead.
        """
        design = self.design
        if isinstance(design, AssistedDesign) or self.first_phase is not None:
            return None
        covariate = None if design.covariate_totals is None else design.covariate_totals.tolist()
        clusters = None if design.clusters is None else np.asarray(design.clusters).tolist()
        return StrataRecord(design.sizes.tolist(), covariate, clusters)

    @cached_property
    def hashes(self) -> dict[str, str]:
        """Hashes of the trace list, the sampling design, the encoder's checkpoint and the fast model, by name."""
        hashes = {"traces": self.origin["traces"], "design": hash_design(self.design)}
        if "checkpoint" in self.origin:
            hashes["checkpoint"] = self.origin["checkpoint"]
        if "fast_model" in self.origin:
            hashes["fast_model"] = self.origin["fast_model"]["config_hash"]
        return hashes

    @cached_property
    def stream_hashes(self) -> list[str]:
        """Hexadecimal hash of each distinct instruction sequence; empty if no trace was read."""
        return [] if self.program.contents is None else self.program.contents.stream_hashes()

    def cluster_of_unit(self) -> np.ndarray:
        """Cluster (group of similar launches) of each launch, int64 [N].

        If the design names no clusters, all launches have one. Launches that are always simulated have the highest number.
        """
        labels = np.asarray(self.design.labels, dtype=np.int64)
        clusters = self.design.clusters
        of_label = np.zeros(self.design.label_count, np.int64) if clusters is None else np.asarray(clusters)
        last = int(of_label.max()) + 1 if len(of_label) else 0
        return np.append(of_label, last)[labels]

    def name_of_unit(self, unit: int) -> str | None:
        """Kernel name of the launch with index `unit`; None if it is not known."""
        check("unit", unit, int)
        if not 0 <= unit < self.program.size:
            raise ConfigError(f"unit (number of a launch): got {shown(unit)}; allowed: 0 to {self.program.size - 1}")
        label = int(self.program.label[unit])
        return (self.program.labels.names[label] or None) if label >= 0 else None

    def kernels_and_shapes(self) -> np.ndarray | None:
        """Number of the kernel and shape of each launch, int64 [N]: equal for launches with equal kernel name, CTAs and warps;
        -1 if the name is not known. None if neither CTAs nor warps are known.

        >>> import kernelpoint as kp
        >>> len(kp.Plan.from_traces("traces/kernelslist.g", policy="gcl").kernels_and_shapes())
        6
        """
        ctas, warps = self.count_of_unit("ctas"), self.count_of_unit("warps")
        if ctas is None or warps is None:
            return None
        names = self.program.names.numbers
        keys = np.stack([names, np.nan_to_num(ctas, nan=-1), np.nan_to_num(warps, nan=-1)], axis=1)
        numbers = np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
        return np.where(names >= 0, numbers, -1)

    @checked
    def count_of_unit(self, name: str) -> np.ndarray | None:
        """A count from the traces (a name in program.COUNTS) for each launch of the list, float64 [N]; nan for a launch without
        a trace. None if no trace was read.

        If only some launches were traced, CTAs and warps are computed from grids and blocks, if all are known.
        """
        if name not in COUNTS:
            raise ConfigError(f"count (name of a number that the plan states): got {shown(name)}; allowed: {', '.join(COUNTS)}")
        program = self.program
        if program.to_trace and name in ("ctas", "warps"):
            ctas, threads = program.grid.prod(axis=1), program.block.prod(axis=1)
            return (ctas if name == "ctas" else ctas * -(-threads // 32)).astype(float) if (ctas * threads).all() else None
        if program.contents is None or not bool((np.asarray(self.design.labels) >= 0).any()):
            return None
        counts = np.where(program.contents.stream_ids < 0, np.nan, program.contents.count(name).astype(float))
        return counts[program.content]

    def expected_costs(self, units: np.ndarray) -> np.ndarray:
        """Expected cost of launches in any unit, float64: predicted cycles, or else the covariate, or else 1. `units` are
        launch indices.
        """
        expected = self.design.expected
        return np.ones(len(units)) if expected is None else np.asarray(expected[units], dtype=float)

    @checked
    def save(self, path: str | Path) -> None:
        """Write the plan to a file, which appears whole or not at all.

        Raises:
            PlanError: the file cannot be written.
        """
        try:
            write_archive(path, *self._parts(), compress=self.kind == "selection")
        except OSError as error:
            raise PlanError(
                f"cannot write the {self.kind} {path}: {error.strerror or error}; name a file in a folder that exists and "
                "that this user may change"
            ) from None

    def _parts(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Description and arrays of the file."""
        predictions = self.design.known if isinstance(self.design, AssistedDesign) else {}
        about, arrays = kept(self.program, self.columns)
        arrays |= _present(self.design, _ASSISTED_PARTS if predictions else _STRATA_PARTS, "design")
        for index, prediction in enumerate(predictions.values()):
            arrays |= _present(prediction, _PREDICTION_PARTS, f"prediction_{index}")
        if self.stream_map is not None:
            arrays["stream_map"] = self.stream_map
        about |= {
            "version": FORMAT_VERSION,
            "origin": self.origin,
            "errors": {str(unit): why for unit, why in self.program.errors.items()},
            "remarks": {kind: asdict(remark) for kind, remark in self.program.remarks.items()},
            "knows_errors": self.knows_errors,
            "predictions": list(predictions),
            "forecast": [asdict(prediction) for prediction in self.forecast],
        }
        return about, arrays

    @classmethod
    @checked
    def load(cls, path: str | Path, program: Program | None = None) -> Self:
        """Read a plan from its file.

        Args:
            program: launches that the plan was made for; the plan adds kernel names, shapes and trace data to them. None for a
                file that contains its launches (a selection of launches to trace).

        Raises:
            PlanError: the file is missing, damaged, of another version, or for another number of launches.
        """
        about, arrays = read_archive(path)
        kind = "selection" if "tracer" in about else "plan"
        if kind != cls.kind:
            raise PlanError(
                f"{path} is a {kind}, but a {cls.kind} is needed here; name this file with `{kind}:` in the configuration"
            )
        if about.get("version") != FORMAT_VERSION:
            raise PlanError(
                f"{path}: this {kind} has format version {about.get('version')!r:.40}, but this KernelPoint reads "
                f"{FORMAT_VERSION}; make the {kind} again"
            )
        try:
            labels = arrays["design_groups" if about["predictions"] else "design_strata"]
            if program is not None and len(labels) != program.size:
                raise PlanError(
                    f"{path}: this plan is for {len(labels):,} launches, but the run has {program.size:,}; make a plan of "
                    "this run's list with `kernelpoint plan`, or leave `plan:` out"
                )
            return replace(cls._of(about, arrays, program), path=str(path))
        except (ConfigError, ValueError, LookupError, TypeError, AttributeError, OverflowError) as error:
            raise PlanError(f"cannot read the {kind} {path} (make it again): {' '.join(str(error).split())[:200]}") from None

    @classmethod
    def _of(cls, about: dict[str, Any], arrays: dict[str, np.ndarray], program: Program | None) -> Self:
        """Read the plan in an archive; raises errors of many types if it does not fit."""
        if program is None:
            raise ValueError(
                "this plan can be read only together with its trace list, but no list is given; call Plan.read with the "
                "program of the list"
            )
        _check_origin(about["origin"])
        names_of = list(map(str, about["predictions"]))
        parts = _given(arrays, _ASSISTED_PARTS if names_of else _STRATA_PARTS, "design")
        columns = [_given(arrays, _PREDICTION_PARTS, f"prediction_{index}") for index in range(len(names_of))]
        kinds = parts.pop("kinds", None)
        program = with_kept(program, cls.columns, about, arrays)
        streams = 0 if program.contents is None else int(program.contents.stream_ids.max(initial=-1)) + 1
        _check_parts({**parts, "stream_map": arrays.get("stream_map")}, program.size, streams)
        _check_predictions(columns, kinds, program.size)
        predictions = {name: Prediction(**one, kinds=kinds) for name, one in zip(names_of, columns, strict=True)}
        errors = {int(unit): str(why) for unit, why in about["errors"].items()}
        if not all(0 <= unit < program.size for unit in errors):
            raise ValueError("it names launches beyond the end of its trace list: one of the two files was changed")
        remarks = {
            str(kind): Remark(int(one["launches"]), float(one["time"]), str(one["place"]))
            for kind, one in about["remarks"].items()
        }
        design = (
            AssistedDesign(predictions, u=program.u, offsets=program.offsets, **parts)
            if predictions
            else Design(u=program.u, **parts)
        )
        return cls(
            replace(program, errors=errors, remarks={**program.remarks, **remarks}),
            design,
            origin=about["origin"],
            knows_errors=bool(about["knows_errors"]),
            stream_map=arrays.get("stream_map"),
            forecast=[Forecast(**one) for one in about["forecast"]],
        )


def _present(whole: object, names: tuple[str, ...], prefix: str) -> dict[str, Any]:
    """Attributes that are set, by their names in the file of a plan."""
    return {f"{prefix}_{name}": value for name in names if (value := getattr(whole, name)) is not None}


def _given(arrays: Mapping[str, np.ndarray], names: tuple[str, ...], prefix: str) -> dict[str, Any]:
    """Entries of a file whose names begin with `prefix`, by the rest of the name."""
    given = {name: arrays[f"{prefix}_{name}"] for name in names if f"{prefix}_{name}" in arrays}
    return {name: value if value.ndim else value.item() for name, value in given.items()}


# For each array of a plan: the allowed kinds of its dtype (numpy's letters), and what each of its rows describes.
_ARRAYS = {
    "strata": ("iu", "units"),
    "groups": ("iu", "units"),
    "shapes": ("iu", "units"),
    "first_sizes": ("iu", "strata"),
    "x": ("f", "units"),
    "clusters": ("iu", "strata"),
    "chosen": ("iu", ""),
    "stream_map": ("f", "streams"),
}
_SCALARS = {"balanced": bool, "allowance": float, "slow_excess": float, "latency": float, "assume": str}


def _check_origin(origin: object) -> None:
    """Check that the origin of a plan has hashes where a run reads them; raises ValueError."""

    def has_texts(value: object, *names: str) -> bool:
        return isinstance(value, dict) and all(isinstance(value.get(name), str) for name in names)

    if not isinstance(origin, dict) or not has_texts(origin, "traces"):
        raise ValueError(f"`origin` is {shown(origin)}; expected an object with a text `traces`")
    if "fast_model" in origin and not has_texts(origin["fast_model"], "configuration", "config_hash"):
        model = shown(origin["fast_model"])
        raise ValueError(f"`origin.fast_model` is {model}; expected an object with texts `configuration` and `config_hash`")


def _check_parts(parts: Mapping[str, Any], units: int, streams: int) -> None:
    """Check types, shapes and limits of the parts of a plan; raises ValueError."""
    for name, kind in _SCALARS.items():
        if name in parts and type(parts[name]) is not kind:
            raise ValueError(f"`{name}` is {parts[name]!r:.60}; expected a value of type {kind.__name__}")
    for name, least in (("allowance", LEAST_ALLOWANCE), ("slow_excess", 0.0)):
        if not least <= parts.get(name, least) <= MOST_ALLOWANCE:
            raise ValueError(f"`{name}` is {parts[name]}; allowed: {least:g} to {MOST_ALLOWANCE:g}")
    lengths = {"units": units, "strata": len(parts.get("first_sizes", ())), "streams": streams}
    for name, (kinds, of) in _ARRAYS.items():
        if (array := parts.get(name)) is not None:
            length = lengths.get(of, np.size(array))
            require(name, array, kinds, (length, 2) if name == "stream_map" else (length,), units if name == "groups" else None)


def _check_predictions(predictions: list[dict[str, Any]], kinds: object, units: int) -> None:
    """Check that predictions have one number for each kind of unit; raises ValueError."""
    count = units
    if kinds is not None:
        count = len(next((prediction["values"] for prediction in predictions), ()))
        require("kinds", kinds, "iu", (units,), count, least=0)
    for name, values in (part for prediction in predictions for part in prediction.items() if part[0] != "is_observed"):
        require(f"{name} of a prediction", values, "f", (count,))


def hash_design(design: Design | AssistedDesign) -> str:
    """Hash of all parameters of a sampling design."""
    if isinstance(design, AssistedDesign):
        predictions = [prediction for _, prediction in sorted(design.known.items())]
        parts = [design.groups, design.u, np.array(design.latency), design.kinds]
        parts += [part for one in predictions for part in (one.values, one.of_draws, one.deviations, one.second)]
        parts += [np.array([1]) for one in predictions if one.is_observed]
    else:
        parts = [design.strata, design.first_sizes, design.u, design.x, design.clusters, design.chosen]
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        digest.update(b"none" if part is None else np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()

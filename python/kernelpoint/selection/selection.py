"""A selection and its file (`.kpselect`)."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from kernelpoint.archive import read_archive, write_archive
from kernelpoint.errors import ConfigError, PlanError
from kernelpoint.estimation import Design
from kernelpoint.program import NO_SHAPE, Labels, Program
from kernelpoint.repeated import Texts
from kernelpoint.selection.census import tracers

FORMAT_VERSION = 2
_DESIGN = tuple(f.name for f in fields(Design) if f.name != "u")
_COLUMNS = ("label", "numbers", "stream", "start", "duration")


@dataclass(frozen=True)
class Selection:
    """Launches to be traced, and the design from which they were drawn.

    Attributes:
        program: all launches, with the tracer's numbers; design: strata, first sizes and all else that a policy fixed.
        origin: what the design was made from, by name, as of a plan; a run takes a selection only if it agrees.
        traced: bool [N], launches to trace.
        spare: draws traced in a stratum over those of the pass that the selection was made for.

    >>> from kernelpoint.program import ProgramBuilder
    >>> builder = ProgramBuilder("example")
    >>> for _ in range(3):
    ...     builder.add("gemm", (2, 1, 1), (64, 1, 1))
    >>> design = Design(np.zeros(3, int), np.array([1]), np.array([0.5, 0.1, 0.9]))
    >>> program = replace(builder.finish(), numbers=np.arange(1, 4), tracer="accelsim")
    >>> drawn = Selection(program, design, {}, np.array([False, True, False]), 0.0)
    >>> drawn.numbers.tolist(), drawn.with_traced(np.array([0])).numbers.tolist()
    ([2], [1, 2])
    """

    program: Program
    design: Design
    origin: dict[str, Any]
    traced: np.ndarray
    spare: float

    @property
    def numbers(self) -> np.ndarray:
        """int64 [n], ascending: numbers of the launches to trace, as the tracer counts."""
        return np.unique(np.asarray(self.program.numbers)[self.traced])

    def with_traced(self, launches: np.ndarray) -> Selection:
        """Selection with more launches (int64 [n]) to trace."""
        traced = self.traced.copy()
        traced[launches] = True
        return replace(self, traced=traced)

    def save(self, path: Path) -> None:
        """Write the selection; the file appears whole or not at all.

        Raises:
            PlanError: it cannot be written there.
        """
        launches = self.program
        arrays = {f"design_{n}": np.asarray(v) for n in _DESIGN if (v := getattr(self.design, n)) is not None}
        arrays |= {f"launch_{name}": getattr(launches, name) for name in _COLUMNS}
        arrays |= {"labels_names": launches.labels.names.numbers, "labels_shapes": launches.labels.shapes}
        arrays |= {f"counter_{i}": values for i, values in enumerate(launches.counters.values())}
        about = {
            "version": FORMAT_VERSION,
            "origin": self.origin,
            "tracer": launches.tracer,
            "source": launches.source,
            "names": list(launches.labels.names.distinct),
            "counters": list(launches.counters),
            "spare": self.spare,
        }
        try:
            write_archive(path, about, {**arrays, "traced": self.traced}, compress=True)
        except OSError as error:
            raise PlanError(f"cannot write the selection {path}: {error.strerror or error}") from None

    @classmethod
    def load(cls, path: Path) -> Selection:
        """Read a selection.

        Raises:
            PlanError: the file is missing, damaged or of another version.
        """
        about, arrays = read_archive(path)
        if "tracer" not in about:
            raise PlanError(f"{path}: not a selection of `kernelpoint select`; the key `plan:` names a plan")
        version = about.get("version")
        if version != FORMAT_VERSION:
            raise PlanError(
                f"{path}: selection format {version!r}, this version reads {FORMAT_VERSION}; make it again with "
                "`kernelpoint select`"
            )
        try:
            return _made_of(about, arrays)
        except (ConfigError, LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise PlanError(f"{path}: not a selection of `kernelpoint select` ({error}); make it again") from None


def _made_of(about: dict[str, Any], arrays: dict[str, np.ndarray]) -> Selection:
    """The selection in a file; its parts must fit together."""
    columns: dict[str, Any] = {name: arrays[f"launch_{name}"] for name in _COLUMNS}
    size, origin, traced = len(columns["label"]), about["origin"], arrays["traced"]
    if about["tracer"] not in tracers() or origin["launches"] != [size] or traced.shape != (size,):
        raise ValueError("its launches do not add up")
    if not math.isfinite(about["spare"]) or traced.dtype != bool:
        raise ValueError("its sample is invalid")
    names = Texts(tuple(map(str, about["names"])), arrays["labels_names"])
    labels = Labels(names, arrays["labels_shapes"])
    program = Program(
        (size,),
        int(origin["seed"]),
        labels=labels,
        counters={name: arrays[f"counter_{i}"] for i, name in enumerate(about["counters"])},
        tracer=about["tracer"],
        source=str(about["source"]),
        to_trace=True,
        **columns,
    )
    if any(column.shape != (size,) for column in (*columns.values(), *program.counters.values())):
        raise ValueError("its launches do not add up")
    if labels.shapes.shape != (len(names), len(NO_SHAPE)) or labels.shapes.dtype.kind != "i":
        raise ValueError("its labels do not add up")
    for numbers, most in ((names.numbers, len(names.distinct)), (columns["label"], len(names))):
        if numbers.dtype.kind != "i" or not -1 <= numbers.min(initial=0) <= numbers.max(initial=-1) < most:
            raise ValueError("a launch has no name")
    if columns["numbers"].dtype.kind != "i" or columns["numbers"].min(initial=0) < 0:
        raise ValueError("its tracer's numbers do not add up")
    parts = {name.removeprefix("design_"): arrays[name] for name in arrays if name.startswith("design_")}
    design: dict[str, Any] = {name: value if value.ndim else value.item() for name, value in parts.items()}
    if len(design["strata"]) != size:
        raise ValueError("its strata do not add up")
    return Selection(program, Design(u=program.u, **design), origin, traced, float(about["spare"]))

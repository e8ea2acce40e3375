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
from kernelpoint.program import Program
from kernelpoint.randomness import permanent_random_numbers
from kernelpoint.repeated import Texts
from kernelpoint.selection.census import Census, tracers

FORMAT_VERSION = 1
_DESIGN = tuple(f.name for f in fields(Design) if f.name != "u")
_COLUMNS: tuple[str, ...] = ("grid", "block", "registers", "shared_memory", "stream", "start", "duration")


@dataclass(frozen=True)
class Selection:
    """Launches to be traced, and the design from which they were drawn.

    Attributes:
        census: all launches; design: strata, first sizes and all else that a policy fixed.
        origin: what the design was made from, by name, as of a plan; a run takes a selection only if it agrees.
        traced: bool [N], launches to trace.
        spare: draws traced in a stratum over those of the pass that the selection was made for.

    >>> from kernelpoint.program import ProgramBuilder
    >>> builder = ProgramBuilder("example")
    >>> for _ in range(3):
    ...     builder.add("gemm", (2, 1, 1), (64, 1, 1))
    >>> design = Design(np.zeros(3, int), np.array([1]), np.array([0.5, 0.1, 0.9]))
    >>> drawn = Selection(Census(builder.finish(), "accelsim"), design, {}, np.array([False, True, False]), 0.0)
    >>> drawn.numbers.tolist(), drawn.with_traced(np.array([0])).numbers.tolist()
    ([2], [1, 2])
    """

    census: Census
    design: Design
    origin: dict[str, Any]
    traced: np.ndarray
    spare: float

    @property
    def numbers(self) -> np.ndarray:
        """int64 [n], ascending: numbers of the launches to trace, as the tracer counts."""
        return np.unique(self.census.numbers[self.traced])

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
        launches = self.census.launches
        arrays = {f"design_{n}": np.asarray(v) for n in _DESIGN if (v := getattr(self.design, n)) is not None}
        arrays |= {f"launch_{name}": getattr(launches, name) for name in _COLUMNS}
        arrays["launch_name_ids"] = launches.names.numbers
        arrays |= {f"counter_{i}": values for i, values in enumerate(launches.counters.values())}
        if self.census.repeated is not None:
            arrays["census_numbers"] = self.census.repeated
        about = {
            "version": FORMAT_VERSION,
            "origin": self.origin,
            "tracer": self.census.simulator,
            "source": launches.source,
            "names": list(launches.names.distinct),
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
    size, origin, traced = len(arrays["launch_name_ids"]), about["origin"], arrays["traced"]
    if about["tracer"] not in tracers() or origin["launches"] != [size] or traced.shape != (size,):
        raise ValueError("its launches do not add up")
    if not math.isfinite(about["spare"]) or traced.dtype != bool:
        raise ValueError("its sample is invalid")
    columns: dict[str, Any] = {name: arrays[f"launch_{name}"] for name in _COLUMNS}
    names = Texts(tuple(map(str, about["names"])), arrays["launch_name_ids"])
    launches = Program(
        (size,),
        source=str(about["source"]),
        names=names,
        counters={name: arrays[f"counter_{i}"] for i, name in enumerate(about["counters"])},
        **columns,
    )
    if any(len(getattr(launches, name)) != size for name in _COLUMNS):
        raise ValueError("its launches do not add up")
    if names.numbers.dtype.kind != "i" or not -1 <= names.numbers.min() <= names.numbers.max() < len(names.distinct):
        raise ValueError("a launch has no name")
    parts = {name.removeprefix("design_"): arrays[name] for name in arrays if name.startswith("design_")}
    design: dict[str, Any] = {name: value if value.ndim else value.item() for name, value in parts.items()}
    if len(design["strata"]) != size:
        raise ValueError("its strata do not add up")
    u = permanent_random_numbers(int(origin["seed"]), 0, size)
    repeated = arrays.get("census_numbers")
    if repeated is not None and (
        repeated.shape != (size,) or repeated.dtype.kind != "i" or repeated.min(initial=0) < 0
    ):
        raise ValueError("its tracer's numbers do not add up")
    return Selection(
        Census(launches, about["tracer"], repeated), Design(u=u, **design), origin, traced, float(about["spare"])
    )

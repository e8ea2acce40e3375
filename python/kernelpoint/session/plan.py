"""The plan of a run: its frozen design and what reports say of its launches, in one file (`.kpplan`, an npz archive)."""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from kernelpoint.errors import PlanError
from kernelpoint.estimation import Design

FORMAT_VERSION = 1
_DESIGN_PARTS = tuple(f.name for f in fields(Design) if f.name not in ("u", "predictions"))


@dataclass(frozen=True)
class Plan:
    """Design that a policy fixed before the first launch, with its origin.

    Args:
        design: strata, first sizes, covariate.
        origin: what the plan was made from, by name (list, policy, seed, ...); a run uses a plan only if all of it agrees.
        broken: units whose trace could not be read, with the reason.
        stream_ids: int32 [N], the stream of each launch, or None where the policy read no traces.
        stream_hashes: hexadecimal hash of each stream.
        stream_names: kernel name of each stream.
        stream_map: float32 [S, 2], where each stream lies on a map of the embeddings, or None.
        stream_counts: int64 [S, 8], work of one launch of each stream, columns as in traces.cache.COUNTS, or None.
    """

    design: Design
    origin: dict[str, Any]
    broken: dict[int, str] = field(default_factory=dict)
    stream_ids: np.ndarray | None = None
    stream_hashes: list[str] = field(default_factory=list)
    stream_names: list[str] = field(default_factory=list)
    stream_map: np.ndarray | None = None
    stream_counts: np.ndarray | None = None

    def cluster_of_unit(self) -> np.ndarray:
        """int64 [N]: the cluster of each launch, as the engine numbers them: one where the design names none; take-all units
        come last.
        """
        strata = np.asarray(self.design.strata, dtype=np.int64)
        clusters = self.design.clusters
        of_stratum = np.zeros(len(self.design.first_sizes), np.int64) if clusters is None else np.asarray(clusters)
        last = int(of_stratum.max()) + 1 if len(of_stratum) else 0
        return np.append(of_stratum, last)[strata]

    def name_of_unit(self, unit: int) -> str | None:
        """The kernel name of a launch; None where the policy read no traces, or not this one."""
        stream = -1 if self.stream_ids is None else int(self.stream_ids[unit])
        return self.stream_names[stream] if stream >= 0 else None

    def count_of_unit(self, name: str) -> np.ndarray | None:
        """float64 [N]: a count of the traces (see traces.cache.COUNTS) for every launch, nan where its trace was not read; None
        where the policy read none.
        """
        if self.stream_ids is None or self.stream_counts is None:
            return None
        from kernelpoint.traces.cache import COUNTS  # needs the native reader, which other runs do not

        counts = np.append(self.stream_counts[:, COUNTS.index(name)].astype(np.float64), np.nan)
        return counts[np.asarray(self.stream_ids)]

    def save(self, path: str | Path) -> None:
        """Write the plan; the file appears whole or not at all.

        Raises:
            PlanError: it cannot be written there.
        """
        arrays = {f"design_{n}": getattr(self.design, n) for n in _DESIGN_PARTS if getattr(self.design, n) is not None}
        predictions = self.design.predictions or {}
        arrays |= {f"prediction_{index}": values for index, values in enumerate(predictions.values())}
        for name in ("stream_ids", "stream_map", "stream_counts"):
            if getattr(self, name) is not None:
                arrays[name] = getattr(self, name)
        about = {
            "version": FORMAT_VERSION,
            "origin": self.origin,
            "broken": {str(unit): why for unit, why in self.broken.items()},
            "stream_hashes": self.stream_hashes,
            "stream_names": self.stream_names,
            "predictions": list(predictions),
        }
        text = np.frombuffer(json.dumps(about).encode(), dtype=np.uint8)
        target = Path(path)
        unfinished = target.with_name(f"{target.name}.{os.getpid()}.tmp")
        try:
            with unfinished.open("wb") as file:
                np.savez(file, allow_pickle=False, about=text, **arrays)
            unfinished.replace(target)
        except OSError as error:
            unfinished.unlink(missing_ok=True)
            raise PlanError(f"cannot write the plan {path}: {error.strerror}") from None

    @classmethod
    def load(cls, path: str | Path, u: np.ndarray) -> Plan:
        """Read a plan; `u` are the permanent random numbers of the population, which are not stored.

        Raises:
            PlanError: the file is missing, damaged, of another version, or for another number of launches.
        """
        try:
            with np.load(path, allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files}
            about = json.loads(arrays.pop("about").tobytes())
            lacking = {"version", "origin", "broken", "stream_hashes", "stream_names"} - about.keys()
            if lacking or "design_strata" not in arrays:
                raise ValueError(f"it lacks {', '.join(sorted(lacking)) or 'strata'}")
        except (OSError, ValueError, LookupError, AttributeError, EOFError, zlib.error, zipfile.BadZipFile) as error:
            raise PlanError(
                f"{path}: not a readable plan ({error}); expected a file written by `kernelpoint plan`"
            ) from None
        if about["version"] != FORMAT_VERSION:
            raise PlanError(
                f"{path}: plan format {about['version']}, this version reads {FORMAT_VERSION}; make it anew"
            )
        parts = {name.removeprefix("design_"): arrays[name] for name in arrays if name.startswith("design_")}
        design: dict[str, Any] = {name: value if value.ndim else value.item() for name, value in parts.items()}
        told = about.get("predictions", [])
        if told:
            design["predictions"] = {name: arrays[f"prediction_{index}"] for index, name in enumerate(told)}
        if len(design["strata"]) != len(u):
            raise PlanError(f"{path}: a plan for {len(design['strata'])} launches; this run has {len(u)}")
        return cls(
            design=Design(u=u, **design),
            origin=about["origin"],
            broken={int(unit): why for unit, why in about["broken"].items()},
            stream_ids=arrays.get("stream_ids"),
            stream_hashes=about["stream_hashes"],
            stream_names=about["stream_names"],
            stream_map=arrays.get("stream_map"),
            stream_counts=arrays.get("stream_counts"),
        )

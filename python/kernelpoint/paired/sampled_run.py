"""What a comparison reads of a run: its sample, launch by launch, from the journal alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from kernelpoint.errors import JournalError
from kernelpoint.estimation import Bound, Method
from kernelpoint.estimation.bounds import Kind
from kernelpoint.session.journal import Record, frozen_record, read_journal


@dataclass(frozen=True)
class SampledRun:
    """A finished run that stated a bound.

    Attributes:
        path: its journal; record: what it was begun with (journal.frozen_record); summary: its last record.
        units: int64 [n], launches with a result, ascending; stratum: int64 [n], -1 for take-all units; x: float64 [n],
            the covariate, nan without one.
        counters: names; values: float64 [n, counters].
        clusters: int64 [H], cluster of each stratum (0 where the design names none).
        kinds: the kind of each of its passes.
    """

    path: Path
    record: Record
    summary: dict[str, Any]
    units: np.ndarray
    stratum: np.ndarray
    x: np.ndarray
    counters: tuple[str, ...]
    values: np.ndarray
    clusters: np.ndarray
    kinds: tuple[Kind, ...]

    @property
    def strata_units(self) -> np.ndarray:
        """N_h, int64 [H]: launches of each stratum."""
        return np.array(self.record["strata"]["units"], dtype=np.int64)

    @property
    def strata_covariate(self) -> np.ndarray | None:
        """X_h, float64 [H]: total of the covariate of each stratum, or None."""
        totals = self.record["strata"]["covariate"]
        return None if totals is None else np.array(totals, dtype=float)

    @property
    def bound(self) -> Bound:
        """The kind of bound that the run states."""
        return cast(Bound, self.record["bound"])

    @property
    def method(self) -> Method:
        """Its estimator."""
        return cast(Method, self.record["estimate"])

    @property
    def simulated_gpu(self) -> str:
        """Hash of the simulated GPU's configuration."""
        return str(self.record["hashes"].get("simulator_config"))


def load_sampled_run(path: str | Path) -> SampledRun:
    """Read a run for comparison.

    Raises:
        JournalError: the journal is missing or damaged, the run has not ended or lacks launches that it drew, or its policy
            states no bound.
    """
    records = read_journal(path)
    frozen = frozen_record(records)
    _check_usable(path, frozen, records)
    offsets = np.concatenate([[0], np.cumsum(frozen["launches"])])
    results = {int(offsets[r["process"]]) + r["launch"]: r["counters"] for r in records if r["type"] == "result"}
    stratum, x = _places(frozen, records, offsets)
    _check_strata(path, frozen, stratum, x)
    missing = results.keys() - stratum.keys()
    if missing:
        raise JournalError(f"{path}: launch unit {min(missing)} has a result and no decision to simulate it")
    units = np.array(sorted(results), dtype=np.int64)
    names = tuple(results[int(units[0])]) if len(units) else ()
    if lacking := [name for name in names if name not in records[-1]["counters"]]:
        raise JournalError(f"{path}: the summary says nothing of {', '.join(lacking)}, which results report")
    known = frozen["strata"]
    return SampledRun(
        path=Path(path),
        record=frozen,
        summary=records[-1],
        units=units,
        stratum=np.array([stratum[u] for u in units.tolist()], dtype=np.int64),
        x=np.array([x.get(u, np.nan) for u in units.tolist()]),
        counters=names,
        values=np.array([[float(results[u][n]) for n in names] for u in units.tolist()]).reshape(
            len(units), len(names)
        ),
        clusters=np.array(known["clusters"] or [0] * len(known["units"]), dtype=np.int64),
        kinds=tuple(next((r["kinds"] for r in reversed(records) if r["type"] == "pass"), ("first",))),
    )


def _places(frozen: Record, records: Sequence[Record], offsets: np.ndarray) -> tuple[dict[int, int], dict[int, float]]:
    """Stratum and covariate of every launch that was to be simulated, by unit."""
    stratum, x = {}, {}
    for record in records:
        if record["type"] == "decision" and record["action"] == "simulate":
            unit = int(offsets[record["process"]]) + record["launch"]
            stratum[unit] = record.get("stratum", -1)
            if "x" in record:
                x[unit] = record["x"]
    if "simulated" in frozen:  # a first pass over unknown launches decided them before there were strata
        first = frozen["simulated"]
        stratum.update(zip(first["units"], first["strata"], strict=True))
        x.update(zip(first["units"], first["x"], strict=False))
    return stratum, x


def _check_strata(path: str | Path, frozen: Record, stratum: dict[int, int], x: dict[int, float]) -> None:
    known = frozen["strata"]
    count = len(known["units"])
    lengths = {len(known[key]) for key in ("covariate", "clusters") if known[key] is not None} | {count}
    if lengths != {count} or max(stratum.values(), default=-1) >= count:
        raise JournalError(f"{path}: the strata do not add up: sizes of {count}, and others that do not fit them")
    if known["covariate"] is not None and (bare := [u for u, h in stratum.items() if h >= 0 and u not in x]):
        raise JournalError(f"{path}: launch unit {min(bare)} was drawn without its covariate")


def _check_usable(path: str | Path, first: Record, records: Sequence[Record]) -> None:
    last = records[-1]
    if last["type"] != "summary":
        raise JournalError(f"{path}: the run has not ended; start it again to resume it")
    if not first.get("strata") or "bound" not in first:
        raise JournalError(f"{path}: written by KernelPoint {first.get('kernelpoint')}, which did not note its strata")
    if last.get("projected"):
        raise JournalError(
            f"{path}: {last['projected']} launches were stopped inside; a comparison needs runs with `inside_kernel: off`"
        )
    if last["bound"] == "none" or last["estimate"] is None:
        raise JournalError(
            f"{path}: the run (policy {first['config']['policy']}) states no bound; a comparison needs two runs that do"
        )
    if any(record.get("everything") for record in records if record["type"] == "degraded"):
        raise JournalError(f"{path}: the run gave up its strata and simulated everything ({last['degraded'][-1]})")

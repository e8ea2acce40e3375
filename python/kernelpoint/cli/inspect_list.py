"""`kernelpoint inspect` of a whole list of traces."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import typer

from kernelpoint.cli.console import Console
from kernelpoint.errors import TraceError
from kernelpoint.pages.numbers import finite, number, share
from kernelpoint.pages.tables import facts
from kernelpoint.profiles import Profile, read_profile
from kernelpoint.selection.census import tracers
from kernelpoint.traces import (
    ArtefactCache,
    ScanTable,
    TraceList,
    is_list_name,
    read_trace_list,
    scan_launches,
)


def is_list(path: Path) -> bool:
    """True if a path names a list of launches rather than one launch's trace."""
    return path.is_dir() or is_list_name(path) or _is_sample(path)


def _is_sample(path: Path) -> bool:
    return path.name in [one.sample_list for one in tracers().values()]


def inspect_list(path: Path, profile: Path | None, as_json: bool) -> None:
    """Show a summary of a list, and the weights of its tracer's sample if there is one.

    With a profile of the listed launches (a full simulation of them), also their weighted totals.
    """
    source = path.parent if _is_sample(path) else path
    launches = read_trace_list(source)
    sample = next((found for one in tracers().values() if (found := one.read_sample(path)) is not None), None)
    cache = ArtefactCache()
    try:
        table = scan_launches(launches.paths, cache)
    finally:
        cache.close()
    record = list_record(launches, table, sample, read_profile(profile) if profile else None)
    if as_json:
        typer.echo(json.dumps(record, indent=2))
        return
    _show(path, record)


def list_record(launches: TraceList, table: ScanTable, sample: Any, profile: Profile | None) -> dict[str, Any]:
    """Everything that is shown, as plain values for JSON.

    Raises:
        TraceError: a launch has no usable trace, the tracer's sample does not fit the list, or the profile does not.
    """
    if table.errors:
        raise TraceError(next(iter(table.errors.values())))
    if profile is not None and profile.size != len(table):
        raise TraceError(f"{profile.source}: has {profile.size} launches, the list has {len(table)}")
    numbers = np.unique(launches.numbers[launches.numbers >= 0])
    record: dict[str, Any] = {
        "launches": len(table),
        "traces": len(set(launches.paths)),
        "streams": len(table.streams),
        "kernels": len(table.kernel_names),
        "instructions": int(table.instructions.sum()),
        "ctas": int(table.ctas.sum()),
        "bytes": int(table.bytes.sum()),
    }
    if len(numbers):
        record["numbers"] = {"first": int(numbers[0]), "last": int(numbers[-1]), "different": len(numbers)}
    if sample is not None:
        record["tracer_sample"] = _sample_record(launches, table, sample, profile)
    return record


def _sample_record(launches: TraceList, table: ScanTable, sample: Any, profile: Profile | None) -> dict[str, Any]:
    known = dict(zip(launches.numbers.tolist(), range(len(table)), strict=True))
    totals = {"instructions": _weighted("instructions", sample, known, table.instructions)}
    for name, values in (profile.counters if profile is not None else {}).items():
        totals[name] = _weighted(name, sample, known, values)
    return {
        "clusters": len(sample.clusters),
        "original_launches": sample.launches,
        "drawn_launches": len(sample.weights),
        "listed_but_not_drawn": len(set(known) - set(sample.weights)),
        "largest_weight": max(sample.weights.values()),
        "totals": totals,
    }


def _weighted(name: str, sample: Any, known: dict[int, int], values: np.ndarray) -> dict[str, float | None]:
    from kernelpoint.estimation import with_replacement_total

    draws = sample.values_of_draws({number: float(values[row]) for number, row in known.items()})
    total = with_replacement_total(name, [cluster.size for cluster in sample.clusters], draws)
    told = {"estimate": total.estimate, "half_width": total.half_width, "confidence": total.confidence}
    return dict(finite(told))


def _show(path: Path, record: dict[str, Any]) -> None:
    console = Console(highlight=False)
    sample, numbers = record.pop("tracer_sample", None), record.pop("numbers", None)
    rows = [(key, number(value)) for key, value in record.items()]
    if numbers:
        rows.append(
            ("tracer's numbers", f"{numbers['first']} to {numbers['last']}, {numbers['different']:,} different")
        )
    console.print(facts(str(path), rows))
    if sample is not None:
        totals = sample.pop("totals")
        rows = [(key.replace("_", " "), number(value)) for key, value in sample.items()]
        rows += [(f"{name}, whole run", _interval(total)) for name, total in totals.items()]
        console.print(facts("Sample chosen before tracing", rows))


def _interval(total: dict[str, float | None]) -> str:
    if total["half_width"] is None:
        return f"{number(total['estimate'])} (no interval: a cluster was drawn from once)"
    return f"{number(total['estimate'])} +- {number(total['half_width'])} ({share(total['confidence'] or 0.0)})"

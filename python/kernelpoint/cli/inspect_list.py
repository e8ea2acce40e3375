"""`kernelpoint inspect` of a whole list of traces."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import typer

from kernelpoint.cli.console import Console
from kernelpoint.errors import TraceError
from kernelpoint.pages.numbers import number
from kernelpoint.pages.tables import facts
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
    return path.is_dir() or is_list_name(path)


def inspect_list(path: Path, as_json: bool) -> None:
    """Show a summary of a list."""
    launches = read_trace_list(path)
    cache = ArtefactCache()
    try:
        table = scan_launches(launches.paths, cache)
    finally:
        cache.close()
    record = list_record(launches, table)
    if as_json:
        typer.echo(json.dumps(record, indent=2))
        return
    _show(path, record)


def list_record(launches: TraceList, table: ScanTable) -> dict[str, Any]:
    """Everything that is shown, as plain values for JSON.

    Raises:
        TraceError: a launch has no usable trace.
    """
    if table.errors:
        raise TraceError(next(iter(table.errors.values())))
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
    return record


def _show(path: Path, record: dict[str, Any]) -> None:
    console = Console(highlight=False)
    numbers = record.pop("numbers", None)
    rows = [(key, number(value)) for key, value in record.items()]
    if numbers:
        rows.append(
            ("tracer's numbers", f"{numbers['first']} to {numbers['last']}, {numbers['different']:,} different")
        )
    console.print(facts(str(path), rows))

"""`kernelpoint file inspect`: facts of one trace, or of a list of launches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from kernelpoint import _native
from kernelpoint.admission import Finding, ListFiles, findings_of
from kernelpoint.cli.console import Console
from kernelpoint.cli.pack import inspect_pack
from kernelpoint.errors import TraceError
from kernelpoint.packs.unpack import is_pack
from kernelpoint.pages.numbers import json_text, number, percent
from kernelpoint.pages.tables import Column, Row, Table, facts
from kernelpoint.program import UNITS
from kernelpoint.traces import ArtefactCache, fields_of, is_list_name, read_trace_list, scan_launches, scan_trace

SECTOR = 32  # bytes


def inspect(
    trace: Annotated[
        Path,
        typer.Argument(
            help="A trace (kernel-N.traceg[.xz|.zst], Kernel<N>/trace.txt), a list (kernelslist.g, kernel_config.txt), or a "
            "pack (.kppack)."
        ),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    opcodes: Annotated[int, typer.Option(min=0, help="How many of the most frequent opcodes to list.")] = 10,
) -> None:
    """Show header, instruction mix, work, addresses and instruction sequence of a launch's trace, or a summary of a
    list or a pack.

    Example: kernelpoint file inspect traces/kernel-1.traceg
    """
    if is_pack(trace):
        inspect_pack(trace, as_json)
        return
    is_list = trace.is_dir() or is_list_name(trace)
    record = list_record(trace) if is_list else trace_record(trace)
    if as_json:
        typer.echo(json_text(record, indent=2))
    elif is_list:
        _show_list(trace, record)
    else:
        _show_trace(record, opcodes)


# ---- a list -----------------------------------------------------------------------------------------------------------


def list_record(path: Path) -> dict[str, Any]:
    """Data that `kernelpoint file inspect` shows about a trace list, as values for JSON.

    Raises:
        TraceError: a launch has no usable trace.
    """
    launches = read_trace_list(path)
    with closing(ArtefactCache()) as cache:
        program = launches.with_contents_of(scan_launches(launches.traces, cache))
    if program.errors:
        raise TraceError(next(iter(program.errors.values())))
    findings, numbers = findings_of(ListFiles(program)), np.unique(np.asarray(program.numbers))
    numbers = numbers[numbers >= 0]
    record: dict[str, Any] = {
        "launches": program.size,
        "traces": len(program.traces.distinct),
        "streams": len(program.read.of_streams),
        "kernels": len(program.names.distinct),
        "instructions": int(program.count("instructions").sum()),
        "ctas": int(program.count("ctas").sum()),
        "bytes": int(program.count("bytes").sum()),
        "findings": [finding.record() for finding in findings],
    }
    if len(numbers):
        record["numbers"] = {"first": int(numbers[0]), "last": int(numbers[-1]), "different": len(numbers)}
    return record


def _show_list(path: Path, record: dict[str, Any]) -> None:
    rows = [(key, number(value)) for key, value in record.items() if key not in ("numbers", "findings")]
    if "numbers" in record:
        first, last, different = record["numbers"].values()
        rows.append(("tracer's numbers", f"{first} to {last}, {different:,} different"))
    console = Console(highlight=False)
    console.print(facts(str(path), rows))
    for finding in record["findings"]:
        console.print(Finding.of(finding).sentence(), soft_wrap=True, markup=False)


# ---- a trace ----------------------------------------------------------------------------------------------------------


def trace_record(trace: Path) -> dict[str, Any]:
    """Data that `kernelpoint file inspect` shows about a trace, as values for JSON."""
    scan = scan_trace(trace)
    work = fields_of(scan.work)
    work["by_unit"] = dict(zip(UNITS, work["by_unit"], strict=True))
    return {
        "stream": scan.stream,
        "header": fields_of(scan.header),
        "work": work,
        **_addresses_and_opcodes(trace),
        "unknown_opcodes": scan.unknown_opcodes,
        "store_data_left_out": scan.store_data_left_out,
        "defects": fields_of(scan.defects),
    }


def _addresses_and_opcodes(trace: Path) -> dict[str, Any]:
    """Opcodes, and the memory that is touched (without addresses of shared memory); a scan keeps neither.

    The trace is read with all its addresses, CTA by CTA; memory grows with the sectors touched only.
    """
    ctas = _native.read_ctas(str(trace))
    counts: Counter[int] = Counter()
    sectors = np.empty(0, dtype=np.uint64)
    lowest, highest = [], []
    pending: list[np.ndarray] = []
    for cta in ctas:
        counts.update(cta["instructions"]["opcode"].tolist())
        first, last = _global_ranges(cta, ctas.opcodes)
        if len(first):
            lowest.append(int(first.min()))
            highest.append(int(last.max()))
            pending += [first // np.uint64(SECTOR), last // np.uint64(SECTOR)]
        if sum(map(len, pending)) > len(sectors) + 1_000_000:
            sectors, pending = np.unique(np.concatenate([sectors, *pending])), []
    sectors = np.unique(np.concatenate([sectors, *pending]))
    touched = {"lowest": min(lowest, default=0), "highest": max(highest, default=0), "bytes": SECTOR * len(sectors)}
    return {
        "footprint": touched,
        "opcodes": {ctas.opcodes[opcode]: count for opcode, count in counts.most_common()},
    }


def _global_ranges(cta: dict[str, Any], opcodes: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
    """First and last byte (uint64) that each lane accesses in global, local or generic memory."""
    instructions = cta["instructions"]
    is_global = np.array([_native.classify_opcode(text)["space"] in ("global", "local", "generic") for text in opcodes])
    lanes = instructions["address_count"]
    wanted = np.repeat(is_global[instructions["opcode"]], lanes)
    first = cta["addresses"][wanted]
    return first, first + np.repeat(instructions["width"], lanes)[wanted].astype(np.uint64) - np.uint64(1)


def _show_trace(record: dict[str, Any], opcodes: int) -> None:
    console, work, touched = Console(highlight=False), record["work"], record["footprint"]
    total, units = work["instructions"], work.pop("by_unit")
    rows = [(key.replace("_", " "), number(value)) for key, value in work.items()]
    rows.append(("active lanes per instruction", number(work["thread_instructions"] / total)))
    rows.append(("sectors per global access", number(work["sectors"] / (work["global_accesses"] or 1))))
    footprint = [("global memory touched, bytes", number(touched["bytes"]))]
    if touched["bytes"]:
        footprint += [(f"{end} address", f"{touched[end]:#x}") for end in ("lowest", "highest")]
    header = [(key.replace("_", " "), _text(key, value)) for key, value in record["header"].items()]
    for title, values in {"Header": header, "Work": rows, "Address footprint": footprint}.items():
        console.print(facts(title, values))
    issued = [(unit.replace("_", " "), n) for unit, n in units.items() if n]
    console.print(_shares("Instructions by unit", sorted(issued, key=lambda row: -row[1]), total))
    console.print(_shares("Opcodes", list(record["opcodes"].items())[:opcodes], total))
    if record["unknown_opcodes"]:
        console.print(_shares("Opcodes that are not known (unit other)", [*record["unknown_opcodes"].items()], total))
    if record["store_data_left_out"]:
        console.print(f"STORE_DATA fields left out: {record['store_data_left_out']:,} instructions")
    console.print(f"instruction sequence {record['stream']}")


def _text(key: str, value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return f"({', '.join(map(str, value))})"
    return f"{value:#x}" if key.endswith("_base") else str(value)


def _shares(title: str, counts: Sequence[tuple[str, int]], total: int) -> Table:
    columns = (Column("name", str), Column("instructions"), Column("share", percent))
    return Table(columns, [Row((name, count, count / total)) for name, count in counts], title)

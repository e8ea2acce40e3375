"""`kernelpoint inspect`: facts of one trace, or of a list of launches."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from kernelpoint import _native
from kernelpoint.cli.console import Console
from kernelpoint.cli.inspect_list import inspect_list, is_list
from kernelpoint.cli.pack import inspect_pack
from kernelpoint.packs.unpack import is_pack
from kernelpoint.pages.numbers import number, percent
from kernelpoint.pages.tables import Column, Row, Table, facts
from kernelpoint.traces import UNITS, Scan, scan_trace


@dataclass(frozen=True)
class Details:
    """Details that a scan does not keep: opcodes, and which memory is touched (addresses of shared memory left out)."""

    opcodes: dict[str, int]
    lowest: int
    highest: int
    distinct_sectors: int


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

    Example: kernelpoint inspect traces/kernel-1.traceg
    """
    if is_pack(trace):
        inspect_pack(trace, as_json)
        return
    if is_list(trace):
        inspect_list(trace, as_json)
        return
    scan = scan_trace(trace)
    details = read_details(trace)
    if as_json:
        typer.echo(json.dumps(as_record(scan, details), indent=2))
        return
    _show(scan, details, opcodes)


def read_details(trace: Path) -> Details:
    """Read the trace with all its addresses, CTA by CTA; memory grows with the sectors touched only."""
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
            pending += [first >> np.uint64(5), last >> np.uint64(5)]
        if sum(map(len, pending)) > len(sectors) + 1_000_000:
            sectors, pending = np.unique(np.concatenate([sectors, *pending])), []
    sectors = np.unique(np.concatenate([sectors, *pending]))
    opcodes = {ctas.opcodes[opcode]: count for opcode, count in counts.most_common()}
    return Details(opcodes, min(lowest, default=0), max(highest, default=0), len(sectors))


def _global_ranges(cta: dict[str, Any], opcodes: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
    """First and last byte (uint64) that each lane accesses in global, local or generic memory."""
    instructions = cta["instructions"]
    is_global = np.array([_native.classify_opcode(text)["space"] in ("global", "local", "generic") for text in opcodes])
    lanes = instructions["address_count"]
    wanted = np.repeat(is_global[instructions["opcode"]], lanes)
    first = cta["addresses"][wanted]
    return first, first + np.repeat(instructions["width"], lanes)[wanted].astype(np.uint64) - np.uint64(1)


def as_record(scan: Scan, details: Details) -> dict[str, Any]:
    """Everything that is shown, as plain values for JSON."""
    header = asdict(scan.header)
    work = asdict(scan.work)
    work["by_unit"] = dict(zip(UNITS, work["by_unit"], strict=True))
    return {
        "stream": scan.stream,
        "header": {**header.pop("shape"), **header},
        "work": work,
        "footprint": {
            "lowest": details.lowest,
            "highest": details.highest,
            "bytes": 32 * details.distinct_sectors,
        },
        "opcodes": details.opcodes,
        "unknown_opcodes": scan.unknown_opcodes,
        "store_data_left_out": scan.store_data_left_out,
    }


def _show(scan: Scan, details: Details, opcodes: int) -> None:
    console = Console(highlight=False)
    record, total = as_record(scan, details), scan.work.instructions
    lanes = scan.work.thread_instructions / total
    sectors = scan.work.sectors / scan.work.global_accesses if scan.work.global_accesses else 0.0
    work = [(key.replace("_", " "), number(value)) for key, value in record["work"].items() if key != "by_unit"]
    work += [("active lanes per instruction", number(lanes)), ("sectors per global access", number(sectors))]
    footprint = [("global memory touched, bytes", number(32 * details.distinct_sectors))]
    if details.distinct_sectors:
        footprint += [("lowest address", f"{details.lowest:#x}"), ("highest address", f"{details.highest:#x}")]
    units = [(unit.replace("_", " "), n) for unit, n in record["work"]["by_unit"].items() if n]
    header = [(key.replace("_", " "), _text(key, value)) for key, value in record["header"].items()]
    for title, rows in {"Header": header, "Work": work, "Address footprint": footprint}.items():
        console.print(facts(title, rows))
    console.print(_shares("Instructions by unit", sorted(units, key=lambda row: -row[1]), total))
    console.print(_shares("Opcodes", list(details.opcodes.items())[:opcodes], total))
    if scan.unknown_opcodes:
        console.print(_shares("Opcodes that are not known (unit other)", list(scan.unknown_opcodes.items()), total))
    if scan.store_data_left_out:
        console.print(f"STORE_DATA fields left out: {scan.store_data_left_out:,} instructions")
    console.print(f"instruction sequence {scan.stream}")


def _text(key: str, value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return f"({', '.join(map(str, value))})"
    return f"{value:#x}" if key.endswith("_base") else str(value)


def _shares(title: str, counts: Sequence[tuple[str, int]], total: int) -> Table:
    columns = (Column("name", str), Column("instructions"), Column("share", percent))
    return Table(columns, [Row((name, count, count / total)) for name, count in counts], title)

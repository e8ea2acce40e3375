"""`kernelpoint file inspect`: facts of one trace, or of a list of launches."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from kernelpoint import _native
from kernelpoint.admission import Finding, ListFiles, findings_of
from kernelpoint.cli.console import say, show
from kernelpoint.errors import TraceError
from kernelpoint.packs.unpack import about_pack, is_pack
from kernelpoint.pages.numbers import json_text, number, percent
from kernelpoint.pages.tables import Column, Row, Table, facts
from kernelpoint.program import UNITS
from kernelpoint.traces import fields_of, is_list_name, read_trace_list, scan_launches, scan_trace

SECTOR = 32  # bytes
SHARES = (Column("name", str), Column("instructions"), Column("share", percent))
COUNTS = ("by_unit", "opcodes", "unknown_opcodes")  # instructions by name
ADDRESSES = ("shared_base", "local_base", "lowest", "highest")


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
    about = pack_record if is_pack(trace) else list_record if trace.is_dir() or is_list_name(trace) else trace_record
    record = about(trace)
    if as_json:
        say(json_text(record, indent=2))
        return
    _show(str(trace), record, opcodes)
    for finding in record.get("findings", ()):
        say(Finding.of(finding).sentence())


def _show(title: str, record: dict[str, Any], opcodes: int) -> None:
    """Print a table of the values of a record, then one of each record inside it; instructions by name with their shares."""
    if title in COUNTS:
        total = sum(record.values())
        largest = sorted(record.items(), key=lambda count: -count[1])[: opcodes if title == "opcodes" else None]
        show(Table(SHARES, [Row((name, n, n / total)) for name, n in largest if n], title))
        return
    values = [(key, value) for key, value in record.items() if not isinstance(value, dict) and key != "findings"]
    show(facts(title, [(key.replace("_", " "), _text(key, value)) for key, value in values]))
    for key, value in record.items():
        if isinstance(value, dict) and any(value.values()):
            _show(key, value, opcodes)


def _text(key: str, value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"({', '.join(map(str, value))})"
    if isinstance(value, str) or key.endswith(("_id", "_version")):
        return str(value)
    return f"{value:#x}" if key in ADDRESSES else number(value)


def list_record(path: Path) -> dict[str, Any]:
    """Facts of a trace list, as values for JSON.

    Raises:
        TraceError: a launch has no usable trace.
    """
    launches = read_trace_list(path)
    program = launches.with_contents_of(scan_launches(launches.traces))
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


def trace_record(trace: Path) -> dict[str, Any]:
    """Facts of a trace, as values for JSON."""
    scan = scan_trace(trace)
    work = fields_of(scan.work)
    work["by_unit"] = dict(zip(UNITS, work["by_unit"], strict=True))
    work["lanes_per_instruction"] = work["thread_instructions"] / (work["instructions"] or 1)
    work["sectors_per_access"] = work["sectors"] / (work["global_accesses"] or 1)
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


def pack_record(pack: Path) -> dict[str, Any]:
    """Facts of a pack (a run with its traces in one file) and the estimate of its run, as values for JSON."""
    about = about_pack(pack)
    return {
        "kernelpoint": about.kernelpoint,
        "list": about.list,
        "traces": len(about.files),
        "whole": sum(file.whole for file in about.files),
        "footprints": len(about.footprints),
        "bytes": pack.stat().st_size,
        "bytes of all traces": sum(file.size for file in about.files),
        "counter": about.counter,
        "estimate": about.estimate,
        "config": about.config,
    }

"""Nsight Compute: `ncu --csv --page raw`, one row per launch, one column per metric, a second header line with units."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable
from typing import TextIO

from kernelpoint.errors import ProfileError
from kernelpoint.profiles.builder import ProfileBuilder
from kernelpoint.profiles.format import NOT_THIS, STRUCTURE, Beginning, TextFormat
from kernelpoint.profiles.profile import Profile
from kernelpoint.profiles.tables import number, shape

DURATION = "gpu__time_duration.sum"
CYCLES = ("gpc__cycles_elapsed.max", "sm__cycles_elapsed.max", "smsp__cycles_elapsed.max")
ABOUT = {"ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Kernel Time", "Context", "Stream", "Block Size",
         "Grid Size", "Device", "CC"}  # fmt: skip
TIMES = {"nsecond": 1.0, "ns": 1.0, "usecond": 1e3, "us": 1e3, "msecond": 1e6, "ms": 1e6, "second": 1e9, "s": 1e9}
PREFIXES = {"K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


class NsightComputeRawPage(TextFormat):
    """The CSV of the raw page.

    Lines of ncu and of the program before the header are passed over. Metrics come in the units of the second header line
    and are converted once: times to ns, counts and bytes without their prefix (Kinst, Mbyte; ncu counts in thousands).
    `gpu__time_duration.sum` becomes the duration; the cycles of one of CYCLES become the counter `cycles`; ratios stay.
    Launches are in the order of their ID.

    Raises:
        ProfileError: another page (one row per metric), or a value that is not a number.
    """

    description = "ncu --csv --page raw"

    @classmethod
    def certainty(cls, beginning: Beginning) -> int:
        """See :class:`~kernelpoint.profiles.format.ProfileFormat`."""
        is_header = '"ID","Process ID"' in beginning.text and '"Kernel Name"' in beginning.text
        return STRUCTURE if is_header else NOT_THIS

    def read_text(self, file: TextIO, source: str, device: int | None = None) -> Profile:
        """See :class:`~kernelpoint.profiles.format.ProfileFormat`."""
        reader = csv.reader(file)
        header = _header(reader, source)
        metrics = {name: 1.0 for name in header if name not in ABOUT}  # what a value is multiplied with
        builder = ProfileBuilder(source)
        for fields in reader:
            where = f"{source}:{reader.line_num}"
            if len(fields) != len(header):
                if not fields or fields[0].startswith("=="):
                    continue
                raise ProfileError(f"{where}: {len(fields)} fields, the header has {len(header)}")
            row = dict(zip(header, fields, strict=True))
            if not row["ID"].strip():
                metrics = {name: _factor(row[name]) for name in metrics}
                continue
            _add_row(builder, row, metrics, where)
        return builder.finish(device)


def _header(reader: Iterable[list[str]], source: str) -> list[str]:
    for fields in reader:
        if fields and fields[0] == "ID" and "Kernel Name" in fields:
            if "Metric Name" in fields:
                raise ProfileError(
                    f"{source}: one row per metric, which is another page of Nsight Compute; export it with --page raw"
                )
            return fields
    raise ProfileError(f"{source}: the header of `ncu --csv --page raw` (ID, ..., Kernel Name) is missing")


def _add_row(builder: ProfileBuilder, row: dict[str, str], metrics: dict[str, float], where: str) -> None:
    counters = {}
    for name, factor in metrics.items():
        try:
            counters[name] = float(row[name].replace(",", "")) * factor
        except ValueError:
            continue  # names, lists, n/a
    duration = counters.get(DURATION, math.nan)
    cycles = next((counters[name] for name in CYCLES if name in counters), None)
    if cycles is not None:
        counters["cycles"] = cycles
    shared = sum(counters.get(f"launch__shared_mem_per_block_{kind}", 0.0) for kind in ("static", "dynamic"))
    builder.add(
        row["Kernel Name"],
        shape(row["Grid Size"], where) if row.get("Grid Size") else (0, 0, 0),
        shape(row["Block Size"], where) if row.get("Block Size") else (0, 0, 0),
        int(counters.get("launch__registers_per_thread", -1)),
        int(shared),
        int(row["Stream"]) if row.get("Stream", "").isdigit() else -1,
        duration=duration,
        order=int(number(row["ID"], where)),
        device=int(row["Device"]) if row.get("Device", "").isdigit() else 0,
        counters=counters,
    )


def _factor(unit: str) -> float:
    """Factor that a metric in `unit` is multiplied with to be in its base unit: ns, or without a prefix.

    >>> _factor("usecond"), _factor("Kbyte/block"), _factor("inst"), _factor("")
    (1000.0, 1000.0, 1.0, 1.0)
    """
    base = unit.partition("/")[0]
    if base in TIMES:
        return TIMES[base]
    return PREFIXES[base[0]] if len(base) > 1 and base[0] in PREFIXES and base[1:].islower() else 1.0

"""Tables of kernel launches (CSV and similar): one reader, and a map of columns for each tool."""

from __future__ import annotations

import csv
import itertools
import math
import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TextIO

import numpy as np

from kernelpoint.errors import ProfileError
from kernelpoint.profiles.format import NOT_THIS, STRUCTURE, Beginning, TextFormat
from kernelpoint.program import UNKNOWN, Program, ProgramBuilder

# Digits by which a unit of time is above nanoseconds.
TIMES = {"ns": 0, "nsec": 0, "nsecond": 0, "us": 3, "usec": 3, "usecond": 3, "μs": 3, "µs": 3, "ms": 6, "msec": 6,
         "msecond": 6, "s": 9, "sec": 9, "second": 9}  # fmt: skip
BYTES = {"b": 1.0, "kb": 1e3, "mb": 1e6, "gb": 1e9, "kib": 1024.0, "mib": 1024.0**2}
PREFIXES = {"K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
CYCLES = ("gpc__cycles_elapsed.max", "sm__cycles_elapsed.max", "smsp__cycles_elapsed.max")
MOST_PREAMBLE, MOST_HEADER = 100_000, 1 << 17  # lines before the header, of the tool and of the program; its characters
_COPY = re.compile(r"\W*(?:cuda |hip )?(?:unified memory )?mem(cpy|set)", re.IGNORECASE)
_VALUE = re.compile(r"([-\d.,]+)\s*([a-zμµ]*)")
_CALL = re.compile(r"(.*) \[(\d+)\]")
_DIGITS = re.compile(r"[-\d.,\s'\u2019]*\d[-\d.,\s'\u2019]*")


@dataclass(frozen=True)
class Table:
    """Description of one tool's table of launches: which column has which property. Column names are in lower case and without
    units.

    Attributes:
        title: name of the kind of table in messages.
        signs: columns that identify the kind; the first kind whose signs are all in the header is used.
        columns: column of each property of a launch (name, start, end, duration, grid, block, registers, shared, stream, order,
            device, process, trace). `grid` and `block` have one column of text or three of numbers. If the column of the grid
            is in brackets, a row without a grid is no launch. Several columns of `shared` are added.
        metrics: columns of the name, value and unit of a metric, in a table with one row for each metric of a launch.
        units: units of columns whose unit the file does not state.
        counts_threads: True if the grid counts threads, not CTAs.
        has_counters: True if every other column is a counter.
        is_numbered: True if each number of `order` belongs to one launch of a process, and numbers count from 0 or 1.
        only: a column, and its value in rows that are launches.
        refused: for a table without single launches: the reason, and the export to use instead; else empty.
    """

    title: str
    signs: tuple[str, ...]
    columns: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    metrics: tuple[str, str, str] | None = None
    counts_threads: bool = False
    has_counters: bool = False
    is_numbered: bool = False
    only: tuple[str, str] | None = None
    refused: str = ""


_NCU: dict[str, str | tuple[str, ...]] = {
    "name": "kernel name", "grid": ("grid size",), "block": "block size", "stream": "stream", "order": "id",
    "device": "device", "process": "process id",
}  # fmt: skip
_SUMMARY = "a summary has one row for all launches of a kernel, so there is no launch to be had from it; export "
_CALLS = "a table of calls or ranges, not of kernels; export "
TABLES = (
    Table("uniform CSV", ("name", "dur_us"),
          {"name": "name", "grid": "grid", "block": "block", "registers": "regs", "shared": ("smem",), "stream": "stream",
           "start": "ts_us", "duration": "dur_us", "order": "idx"}, {"ts_us": "us", "dur_us": "us"}, is_numbered=True),
    Table("results CSV", ("launch_index", "cycles"),
          {"name": "kernel_name", "order": "launch_index", "trace": "trace"}, has_counters=True, is_numbered=True),
    Table("nsys cuda_gpu_trace", ("start", "duration", "grdx", "blkx"),
          {"name": "name", "start": "start", "duration": "duration", "order": "corrid", "grid": ("grdx", "grdy", "grdz"),
           "block": ("blkx", "blky", "blkz"), "registers": "reg/trd", "shared": ("stcsmem", "dymsmem"), "device": "device",
           "stream": "strm"}),
    Table("nsys cuda_kern_exec_trace", ("kernel start", "kernel dur", "kernel name"),
          {"name": "kernel name", "start": "kernel start", "duration": "kernel dur", "order": "api start", "grid": "gridxyz",
           "block": "blockxyz", "device": "devid", "process": "pid"}),
    Table("nsys summary", ("instances", "total time"), refused=_SUMMARY + "`nsys stats --report cuda_gpu_trace`"),
    Table("summary", ("calls", "name"), refused=_SUMMARY + "every launch (nvprof --print-gpu-trace, rocprofv3 --kernel-trace)"),
    Table("ncu summary", ("kernel name", "invocations"), refused=_SUMMARY + "`ncu --csv --page raw` without --print-summary"),
    Table("nvprof metrics", ("kernel", "invocations"), refused=_SUMMARY + "nvprof --print-gpu-trace --csv"),
    Table("nsys summary of ranges", ("nvtx range", "kern inst"), refused=_SUMMARY + "`nsys stats --report cuda_gpu_trace`"),
    Table("nsys summary of calls", ("num calls", "total time"), refused=_CALLS + "`nsys stats --report cuda_gpu_trace`"),
    Table("nsys table of calls", ("start", "result", "corrid"), refused=_CALLS + "`nsys stats --report cuda_gpu_trace`"),
    Table("nsys table of ranges", ("projected start", "style"), refused=_CALLS + "`nsys stats --report cuda_gpu_trace`"),
    Table("nsys summary of kernels", ("qcount", "kernel name"), refused=_SUMMARY + "`nsys stats --report cuda_gpu_trace`"),
    Table("ncu table of source lines", ("address", "source"), refused=_CALLS + "`ncu --csv --page raw`"),
    Table("rocprofv3 table of copies", ("direction", "start_timestamp"), refused=_CALLS + "the kernel trace (--kernel-trace)"),
    Table("rocprofv3 table of calls", ("domain", "function"), refused=_CALLS + "the kernel trace (rocprofv3 --kernel-trace)"),
    Table("Nsight Systems event export", ("name", "start", "duration", "gpu"),
          {"name": "name", "start": "start", "duration": "duration", "device": "gpu", "stream": "context"}),
    Table("nvprof --print-gpu-trace --csv", ("start", "duration", "grid x", "name"),
          {"name": "name", "start": "start", "duration": "duration", "grid": ("grid x", "grid y", "grid z"),
           "block": ("block x", "block y", "block z"), "registers": "registers per thread",
           "shared": ("static smem", "dynamic smem"), "device": "device", "stream": "stream"}),
    Table("rocprofv2 results CSV", ("kernel_name", "start_timestamp", "end_timestamp", "grd"),
          {"name": "kernel_name", "start": "start_timestamp", "end": "end_timestamp", "order": "dispatch_id", "grid": "grd",
           "block": "wgr", "registers": "arch_vgpr", "shared": ("lds",), "device": "gpu_id", "stream": "queue_id",
           "process": "pid"}, {"start_timestamp": "ns", "end_timestamp": "ns"}, counts_threads=True, is_numbered=True),
    Table("rocprofv3 counter collection CSV", ("kernel_name", "counter_name", "counter_value"),
          {"name": "kernel_name", "start": "start_timestamp", "end": "end_timestamp", "order": "dispatch_id",
           "grid": ("grid_size",), "block": "workgroup_size", "registers": "vgpr_count", "shared": ("lds_block_size",),
           "device": "agent_id", "stream": "queue_id", "process": "process_id"},
          {"start_timestamp": "ns", "end_timestamp": "ns"}, ("counter_name", "counter_value", ""), counts_threads=True,
          is_numbered=True),
    Table("rocprofv3 kernel trace CSV", ("kernel_name", "start_timestamp", "end_timestamp"),
          {"name": "kernel_name", "start": "start_timestamp", "end": "end_timestamp",
           "order": ("dispatch_id", "correlation_id"), "grid": ("grid_size_x", "grid_size_y", "grid_size_z"),
           "block": ("workgroup_size_x", "workgroup_size_y", "workgroup_size_z"), "registers": "vgpr_count",
           "shared": ("lds_block_size",), "device": "agent_id", "stream": "queue_id"},
          {"start_timestamp": "ns", "end_timestamp": "ns"}, counts_threads=True, is_numbered=True,
          only=("kind", "KERNEL_DISPATCH")),
    Table("rocprof results CSV", ("kernelname", "beginns", "endns"),
          {"name": "kernelname", "start": "beginns", "end": "endns", "order": "index", "grid": "grd", "block": "wgr",
           "registers": "arch_vgpr", "shared": ("lds",), "device": "gpu-id", "stream": "queue-id", "process": "pid"},
          {"beginns": "ns", "endns": "ns"}, counts_threads=True, is_numbered=True),
    Table("ncu --csv", ("id", "kernel name", "metric name"), _NCU, metrics=("metric name", "metric value", "metric unit"),
          has_counters=True, is_numbered=True),
    Table("ncu --csv --page raw", ("id", "kernel name", "process id"), _NCU, has_counters=True, is_numbered=True),
)  # fmt: skip

# Columns of ncu that are no metrics.
ABOUT = {"process name", "host name", "kernel time", "context", "cc", "section name"}
# Metrics as ncu's pages for people call them -> as its raw page does.
DURATION = "gpu__time_duration.sum"
METRICS = {"Duration": DURATION, "gpu__time_duration.avg": DURATION, "Elapsed Cycles": "gpc__cycles_elapsed.max",
           "Registers Per Thread": "launch__registers_per_thread",
           "Static Shared Memory Per Block": "launch__shared_mem_per_block_static",
           "Dynamic Shared Memory Per Block": "launch__shared_mem_per_block_dynamic",
           "Executed Instructions": "smsp__inst_executed.sum"}  # fmt: skip


class Tables(TextFormat):
    """Format of text tables that several profilers write, separated by commas, semicolons or tabs.

    * Lines before the header, and lines that begin with `==`, are skipped: the tool or the program printed them.
    * Units come from the names of columns, from a line below them, from the values, or from the `units` of the table. Times are
      converted to ns, sizes to bytes, and counts of Nsight Compute to numbers without prefix.
    * Rows of copies and memsets are left out.
    * In a table separated by semicolons a comma is the decimal point. Elsewhere a comma inside a number must separate
      thousands.

    Raises:
        ProfileError: a row has another number of fields than the header, a field is no number, or the table is a summary.
    """

    description = "a CSV of nsys, ncu, nvprof, rocprof, of results, or the uniform CSV"

    @classmethod
    def certainty(cls, beginning: Beginning) -> int:
        """Certainty that a file is a text table of a profiler: STRUCTURE if one of its first lines is the header of a known
        table.
        """
        lines = beginning.text.split("\n")
        return STRUCTURE if _find_header(lines) is not None else NOT_THIS

    def read_text(self, file: TextIO, source: str, device: int | None = None) -> Program:
        builder = ProgramBuilder(source)
        lines = _watched(iter(file.readline, ""), builder)
        header = _find_header(itertools.islice(lines, MOST_PREAMBLE))
        if header is None:
            titles = ", ".join(table.title for table in TABLES if not table.refused)
            raise ProfileError(f"{source}: no line is the header of a table of launches; allowed: {titles}")
        table, delimiter, names, line = header
        if table.refused:
            raise ProfileError(f"{source}: {table.refused}")
        reader = csv.reader(lines, delimiter=delimiter, strict=True)  # else a lost quote takes all rows that follow it
        rows = _rows(reader, len(names), source, line)
        read = _Rows(builder, table, names, delimiter == ";", source)
        (read.long if table.metrics else read.wide)(rows)
        for numbers in read.numbers():
            if repeated := len(numbers) - len(there := np.unique(numbers)):
                builder.remark("several-runs", repeated, place=source)
            is_whole = "trace" in table.columns  # a simulator's results; a profiler leaves launches out if it is asked to
            missing = int(there[-1]) + 1 - (0 if is_whole else min(1, int(there[0]))) - len(there)
            if missing > 0:
                place = f"{missing:,} numbers up to {int(there[-1]):,}"
                builder.remark("missing-results" if is_whole else "gaps", missing, place=place)
        if read.states_times and read.untimed == len(builder):
            builder.remark("unknown-durations", len(builder), place=source)
        return builder.finish(device)


def _watched(lines: Iterable[str], builder: ProgramBuilder) -> Iterator[str]:
    """Lines of a file, with remarks about those in which ncu or nvprof report an error, and about a last one without an end."""
    for number, line in enumerate(lines, 1):
        if line.startswith(("==ERROR==", "======== Error:")):
            builder.remark("profiler-errors", 1, place=line.strip()[:120])
        if not line.endswith(("\n", "\r")):
            builder.remark("cut-row", 1, place=f"line {number}")
        yield line


def _find_header(lines: Iterable[str]) -> tuple[Table, str, list[str], int] | None:
    """The table whose header is the first among some lines, its delimiter, the names in it, and the line's number. A refused
    table is returned only if no other follows.
    """
    refused = None
    for line, text in enumerate(lines, 1):
        text = text.strip("\ufeff \r\n")
        delimiter = max(",;\t", key=text.count)
        if text.count(delimiter) and len(text) < MOST_HEADER and "\r" not in text and "\0" not in text:
            names = [name.strip() for name in next(csv.reader([text], delimiter=delimiter), [])]
            plain_names = {_plain(name) for name in names}
            if table := next((table for table in TABLES if plain_names.issuperset(table.signs)), None):
                if not table.refused:
                    return table, delimiter, names, line
                refused = refused or (table, delimiter, names, line)
    return refused


def _plain(column: str) -> str:
    """Column name in lower case, without its unit.

    >>> _plain("Kernel Start (ns)"), _plain("Time(%)")
    ('kernel start', 'time')
    """
    return column.partition("(")[0].strip().lower()


def _rows(reader: Iterator[list[str]], width: int, source: str, before: int) -> Iterator[tuple[int, list[str]]]:
    """Iterate over the rows of a table: line number and fields."""
    for fields in reader:
        line = before + reader.line_num  # type: ignore[attr-defined]
        if len(fields) == width:
            yield line, fields
        elif fields and not fields[0].startswith("=="):
            raise ProfileError(
                f"{source}:{line}: this row has {len(fields)} fields, its header {width}; give one table, as it was exported"
            )


class _Rows:
    """Reader of table rows that adds launches to a builder."""

    def __init__(
        self, builder: ProgramBuilder, table: Table, names: Sequence[str], has_decimal_commas: bool, source: str
    ) -> None:
        self.builder, self.table, self.source, self.has_decimal_commas = builder, table, source, has_decimal_commas
        self.place = {_plain(name): place for place, name in reversed([*enumerate(names)])}
        self.unit = [name.partition("(")[2].strip(" )").lower() for name in names]
        used = {column for columns in table.columns.values() for column in ([columns] if isinstance(columns, str) else columns)}
        if twice := [name for name, count in Counter(map(_plain, names)).items() if count > 1 and name in used]:
            raise ProfileError(f"{source}: the column {twice[0]!r} stands in the header twice; keep the one that is right")
        for column, unit in table.units.items():
            if column in self.place:
                self.unit[self.place[column]] = unit
        self.at = {what: self._places(columns) for what, columns in table.columns.items()}
        if not self.at["name"] and "trace" not in table.columns:
            raise ProfileError(f"{source}: {table.title} lacks the column {table.columns['name']!r}; it has {', '.join(names)}")
        about = {place for places in self.at.values() for place in places} | {
            self.place[name] for name in ABOUT if name in self.place
        }
        every = enumerate(METRICS.get(name, name) for name in names) if table.has_counters else ()
        self.counters = {place: name for place, name in every if place not in about}
        self.factors = dict.fromkeys(self.counters, 1.0)
        self.states_times = bool(
            {*self.counters.values()} & {DURATION, *CYCLES} or self.at.get("duration") or self.at.get("end")
        )
        order = table.columns.get("order", "")  # of several columns, the first has numbers without gaps
        self.is_numbered = table.is_numbered and (isinstance(order, str) or order[0] in self.place)
        self.untimed = 0  # launches without a time so far
        self.orders: dict[str, array[int]] = defaultdict(lambda: array("q"))  # numbers of the launches of each process

    def numbers(self) -> list[list[int]]:
        """Numbers of the launches: all together if processes share one count, else those of each process."""
        together = [number for numbers in self.orders.values() for number in numbers]
        share_one = together and len({*together}) == len(together)
        return [together] if share_one else [numbers.tolist() for numbers in self.orders.values()]

    def _places(self, columns: str | tuple[str, ...]) -> tuple[int, ...]:
        wanted = (columns,) if isinstance(columns, str) else columns
        return tuple(self.place[column] for column in wanted if column in self.place)

    def wide(self, rows: Iterable[tuple[int, list[str]]]) -> None:
        """Add the launches of a table that has one row for each launch."""
        is_first = True
        for line, row in rows:
            where, are_units = f"{self.source}:{line}", is_first and self._are_units(row)
            if are_units:
                self.unit = [field.lower() if field else unit for field, unit in zip(row, self.unit, strict=True)]
            if is_first and "trace" not in self.table.columns:
                units = row if are_units else [""] * len(row)
                self.factors = {place: _factor(units[place], name, where) for place, name in self.counters.items()}
            if not are_units:
                self._add(row, self._counters(row, line), where)
            is_first = False

    def long(self, rows: Iterable[tuple[int, list[str]]]) -> None:
        """Add the launches of a table that has one row for each metric of a launch."""
        columns = self.table.metrics or ("", "", "")
        if missing := [column for column in columns if column and column not in self.place]:
            raise ProfileError(f"{self.source}: the table has the column {columns[0]!r}, but not {missing[0]!r}; export both")
        name, value, unit = (self.place.get(column, -1) for column in columns)
        launches: dict[tuple[str, ...], tuple[list[str], dict[str, float], str]] = {}  # rows of a launch may stand apart
        for line, row in rows:
            where, key = f"{self.source}:{line}", tuple(row[place] for place in self.at["process"] + self.at["order"])
            _, counters, _ = launches.setdefault(key, (row, {}, where))
            metric = METRICS.get(row[name], row[name])
            self.states_times |= metric == DURATION or metric in CYCLES
            measured = self._number(row[value], f"{where}: {row[name]}")
            if measured is not None:
                measured *= 1.0 if unit < 0 else _factor(row[unit], metric, where)
                if counters.setdefault(metric, measured) != measured:
                    self.builder.remark("several-runs", 1, place=f"{where}: {row[name]}")
        for row, counters, where in launches.values():
            self._add(row, counters, where)

    def _are_units(self, row: list[str]) -> bool:
        """True if a row contains units in place of values."""
        named = [row[place] for what in ("name", "order") for place in self.at.get(what, ())]
        return bool(named) and not any(named)

    def _counters(self, row: list[str], line: int) -> dict[str, float]:
        columns = {}
        for place, name in self.counters.items():
            where, is_result = f"{self.source}:{line}", "trace" in self.table.columns
            value = number(row[place], where, True) if is_result else self._number(row[place], f"{where}: {name}")
            if value is not None:
                columns[name] = value * self.factors[place]
        return columns

    def _number(self, text: str, where: str) -> float | None:
        """Parse a metric; None if it is text, unknown or infinite."""
        if self.has_decimal_commas:
            text = text.replace(".", "").replace(",", ".")
        try:
            return number(text, where)
        except ProfileError:
            if _DIGITS.fullmatch(text):  # a number, with separators of another language
                raise
            return None

    def _text(self, row: list[str], what: str) -> str:
        places = self.at.get(what, ())
        return row[places[0]].strip() if places else ""

    def _add(self, row: list[str], counters: dict[str, float], where: str) -> None:
        name, table = self._text(row, "name"), self.table
        copy = _COPY.match(name)
        if table.only and row[self.place.get(table.only[0], 0)] != table.only[1] and table.only[0] in self.place:
            self.builder.leave_out(row[self.place[table.only[0]]].lower() or "other")
            return
        if self.at.get("device") and not self._text(row, "device"):
            self.builder.leave_out("row without a GPU")
            return
        grid = self._sizes(row, "grid", counters, where)
        if copy or (grid is None and self.at.get("grid") and isinstance(table.columns["grid"], tuple)):
            is_graph = not copy and "graph" in name.lower()
            self.builder.leave_out(
                f"mem{copy.group(1).lower()}" if copy else "CUDA graph as one block" if is_graph else "row without a grid"
            )
            if is_graph:
                self.builder.remark("graph-blocks", 1, np.nan_to_num(self._duration(row, counters, where)), where)
            return
        block = self._sizes(row, "block", counters, where) or (0, 0, 0)
        if grid and table.counts_threads:
            is_known = all(grid) and all(block)
            grid = tuple(-(-size // of) for size, of in zip(grid, block, strict=True)) if is_known else (0, 0, 0)
        order, duration = self._order(row, where), self._duration(row, counters, where)
        self.untimed += math.isnan(duration) and "cycles" not in counters
        if self.is_numbered:
            self.orders[self._text(row, "process")].append(order)
        if table.title.startswith("nvprof") and (called := _CALL.fullmatch(name)):
            name, order = called.group(1), int(called.group(2))
        self.builder.add(
            name.removesuffix(" [clone .kd]").removesuffix(".kd"),
            grid or (0, 0, 0),
            block,
            self._registers(row, counters, where),
            self._shared_memory(row, counters, where),
            _last_number(self._text(row, "stream")),
            self._nanoseconds(row, "start", where) or 0,
            duration,
            order=order,
            device=_device(self._text(row, "device")),
            process=_last_number(self._text(row, "process")),
            counters=counters,
            trace=self._text(row, "trace"),
        )

    def _order(self, row: list[str], where: str) -> int:
        if not self.at.get("order"):
            return len(self.builder)
        text = self._text(row, "order")
        if (order := int(text) if text.isdigit() else whole_number(text, where)) < 0:
            column = self.table.columns["order"]
            raise ProfileError(f"{where}: {column}: got {text[:60]!r}; allowed: a whole number, 0 or more")
        return order

    def _sizes(self, row: list[str], what: str, counters: Mapping[str, float], where: str) -> tuple[int, ...] | None:
        texts = [row[place].strip() for place in self.at.get(what, ())]
        if not texts:  # older versions of ncu have counts of CTAs and threads among the metrics
            names = (f"launch__{what}_size", f"{what.capitalize()} Size")
            return next(((int(counters[name]), 1, 1) for name in names if name in counters), None)
        if not any(texts):
            return None
        return shape(texts[0], where) if len(texts) == 1 else tuple(whole_number(text, where) for text in texts)

    def _nanoseconds(self, row: list[str], what: str, where: str) -> int | None:
        """Parse a time exactly, in ns."""
        places = self.at.get(what, ())
        if not places or not row[places[0]].strip():
            return None
        text, unit = row[places[0]].strip(), self.unit[places[0]]
        if text.isdigit() and unit == "ns":
            return int(text)
        match = _VALUE.fullmatch(text.lower())
        digits = TIMES.get((match and match.group(2)) or unit)
        if digits is None:
            raise ProfileError(f"{where}: unit of time {(match and match.group(2)) or unit!r}; allowed: {', '.join(TIMES)}")
        text = match.group(1) if match else text
        if self.has_decimal_commas:
            text = text.replace(".", "").replace(",", ".")
        return exact(text, digits, where)

    def _duration(self, row: list[str], counters: Mapping[str, float], where: str) -> float:
        if (end := self._nanoseconds(row, "end", where)) is not None:
            start = self._nanoseconds(row, "start", where)
            return float(end - start) if start else math.nan  # a start of 0 is one that the tool lost
        if self.at.get("duration"):
            places = self.at["duration"]
            text, unit = row[places[0]].strip(), self.unit[places[0]]
            if unit in TIMES and "," not in text:  # as floats are read elsewhere
                return number(text, where, True) * 10.0 ** TIMES[unit]
            duration = self._nanoseconds(row, "duration", where)
            return math.nan if duration is None else float(duration)
        cycles = next((counters[name] for name in CYCLES if name in counters), None)
        if cycles is not None and isinstance(counters, dict):
            counters["cycles"] = cycles
        return counters.get(DURATION, math.nan)

    def _registers(self, row: list[str], counters: Mapping[str, float], where: str) -> int:
        text = self._text(row, "registers")
        return whole_number(text, where) if text else int(counters.get("launch__registers_per_thread", UNKNOWN))

    def _shared_memory(self, row: list[str], counters: Mapping[str, float], where: str) -> int:
        places = self.at.get("shared", ())
        parts = [number(row[place], where) * BYTES.get(self.unit[place], 1.0) for place in places if row[place].strip()]
        if places:
            return round(sum(parts)) if parts else UNKNOWN
        kinds = [counters.get(f"launch__shared_mem_per_block_{kind}") for kind in ("static", "dynamic")]
        return int(sum(size or 0.0 for size in kinds)) if "order" in self.at and "process" in self.at else UNKNOWN


def exact(text: str, digits: int, where: str) -> int:
    """Parse a decimal number exactly, multiply it by 10 to the power `digits`, and round it to an integer. Clock values have
    more digits than a float.

    Args:
        where: place in the file, for messages.

    >>> exact("1661203462600478.25", 3, "x:1"), exact("1,000", 0, "x:1")
    (1661203462600478250, 1000)
    """
    plain = text.replace(",", "") if re.fullmatch(r"-?\d{1,3}(,\d{3})+(\.\d+)?", text) else text
    whole, _, part = plain.partition(".")
    if not whole.lstrip("-").isdigit() or (part and not part.isdigit()):
        return round(number(text, where) * 10**digits)
    moved = int((part + "0" * digits)[:digits] or 0) + (1 if part[digits : digits + 1] >= "5" else 0)
    return int(whole) * 10**digits + (-moved if whole.startswith("-") else moved)


def _factor(unit: str, metric: str, where: str) -> float:
    """Factor that converts a metric in `unit` to its base unit: ns for times, no prefix for counts.

    >>> [_factor(unit, "inst", "x:1") for unit in ("usecond", "Kbyte/block", "inst", "")]
    [1000.0, 1000.0, 1.0, 1.0]
    """
    base = unit.partition("/")[0]
    if base in TIMES:
        return 10.0 ** TIMES[base]
    if metric == DURATION:
        raise ProfileError(f"{where}: {metric}: unit of time {unit!r}; allowed: {', '.join(TIMES)}")
    return PREFIXES[base[0]] if len(base) > 1 and base[0] in PREFIXES and base[1:].islower() else 1.0


def _device(text: str) -> int:
    """Number in the name of a GPU, such as "NVIDIA H100 (0)", "Agent 4" or "GPU 0"; 0 if there is none.

    >>> _device("NVIDIA A100 80GB (1)"), _device("Agent 4"), _device("Tesla V100")
    (1, 4, 0)
    """
    match = re.search(r"\((\d+)\)\s*$", text) or re.fullmatch(r"(?:[A-Za-z]+\s*)?(\d+)", text)
    return int(match.group(1)) if match else 0


def _last_number(text: str) -> int:
    """Last number in a text such as "7" or "Stream 7"; UNKNOWN if there is none."""
    match = re.search(r"(\d+)\s*$", text)
    return int(match.group(1)) if match else UNKNOWN


# ---- fields ------------------------------------------------------------------------------------------------------------

_THOUSANDS = re.compile(r"-?\d{1,3}(,\d{3})+(\.\d*)?(e[-+]?\d+)?")


def number(text: str, where: str, allow_empty: bool = False) -> float:
    """Parse a number, with or without commas between thousands.

    Args:
        where: place in the file, for messages.
        allow_empty: True to read empty text as nan.

    Raises:
        ProfileError: the text is no number, or has a comma that does not separate thousands: 5,45 would be read as 545.

    >>> number("1,234.5", "x:1")
    1234.5
    """
    text = text.strip()
    if "," in text and not _THOUSANDS.fullmatch(text):
        raise ProfileError(
            f"{where}: {text[:60]!r} has a comma that is not between thousands; decimal commas need semicolons "
            "between fields: else export the table again with LC_ALL=C"
        )
    if allow_empty and text in ("", "n/a", "nan"):
        return math.nan
    try:
        value = float(text.replace(",", "").replace("_", "x"))  # Python reads 1_000 as a number
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ProfileError(f"{where}: expected a number, got {text[:60]!r}")
    return value


def shape(text: str, where: str) -> tuple[int, int, int]:
    """Parse the three extents of a grid or block in any notation of the profilers. `where` is the place in the file, for
    messages.

    >>> shape("88497x1x1", "x:1"), shape("(128, 1, 1)", "x:1"), shape("  64    1    1", "x:1"), shape("7", "x:1")
    ((88497, 1, 1), (128, 1, 1), (64, 1, 1), (7, 1, 1))
    """
    parts = text.strip().strip("()[]").replace(",", " ").replace("x", " ").split()
    try:
        sizes = [int(part.replace("_", "x")) for part in parts]
    except ValueError:
        sizes = []
    if not 1 <= len(sizes) <= 3:
        raise ProfileError(f"{where}: expected a shape of up to three sizes such as 16x1x1, got {text[:60]!r}")
    x, y, z = (*sizes, 1, 1)[:3]
    return x, y, z


def whole_number(text: str, where: str) -> int:
    """Parse an integer; UNKNOWN if the text is empty. `where` is the place in the file, for messages."""
    if not text.strip():
        return UNKNOWN
    value = number(text, where)
    if value != int(value):
        raise ProfileError(f"{where}: expected a whole number, got {text!r}")
    return int(value)

"""A run read from its journal: the source of reports, comparisons and profiles."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from kernelpoint.arguments import check, checked
from kernelpoint.errors import ConfigError, JournalError, damaged_journal, shown
from kernelpoint.estimate import Estimate
from kernelpoint.extras import needs_extra
from kernelpoint.journal.reader import read_records
from kernelpoint.journal.records import (
    DecisionRecord,
    LaunchesRecord,
    LookRecord,
    Outcome,
    PassRecord,
    PopulationRecord,
    RangeRecord,
    Record,
    ResumeRecord,
    RunRecord,
    SummaryRecord,
    plain,
    unpack,
)

if TYPE_CHECKING:
    import pandas as pd

Kind = TypeVar("Kind")
OF_DECISION = (
    *("pass_index", "action", "stratum", "cluster", "stream"),
    *("u", "threshold", "take_all", "prediction", "x"),
)


@dataclass(frozen=True)
class LaunchEstimates:
    """Estimates of all N launches of a list.

    Attributes:
        cycles: float64 [N], simulated cycles of a simulated launch, else estimated cycles; nan: no estimate. They add up to the
            estimated total.
        strata: int32 [N], index of the launch's stratum (group of launches sampled separately); -1: the launch is always
            simulated.
        kernels: int32 [N], index of the launch's kernel in the summary's `kernels`; -1: the name is not known.

    >>> import kernelpoint as kp
    >>> run = kp.simulate("traces/kernelslist.g", "run.kpjournal", policy="gcl")
    >>> each = run.launch_estimates
    >>> run.ended().simulated, len(each.cycles), bool(np.isclose(each.cycles.sum(), run.ended().estimate))
    (1, 6, True)
    """

    cycles: np.ndarray
    strata: np.ndarray
    kernels: np.ndarray


@dataclass(frozen=True, repr=False)
class Run:
    """Run as its journal records it: its records, and results derived from them.

    A unit is the index of a launch among the launches of all processes; the launches of process 0 come first.

    Example:
        >>> import kernelpoint as kp
        >>> _ = kp.simulate("traces/kernelslist.g", "run.kpjournal", policy="all")
        >>> run = load_run("run.kpjournal")
        >>> list(run.results)
        [0, 1, 2, 3, 4, 5]
    """

    path: Path
    records: list[Record]

    def __repr__(self) -> str:
        """Path, policy and progress in one line."""
        end = "ended" if self.summary is not None else "not ended"
        count = f"{len(self.results):,} of {sum(self.launches):,} launches simulated"
        return f"<{type(self).__name__} {str(self.path)!r}: {self.policy}, {count}, {end}>"

    def of(self, kind: type[Kind]) -> Iterator[Kind]:
        """Iterator over the records of one type, in the order of the journal."""
        return (record for record in self.records if isinstance(record, kind))

    @property
    def header(self) -> RunRecord:
        """First record of the journal."""
        return cast(RunRecord, self.records[0])  # the reader has checked it

    @cached_property
    def frozen(self) -> RunRecord | PopulationRecord:
        """Record that contains the list of launches and its strata (groups sampled separately): the first record of the
        journal, or, if the launches were not known before the run, the record written when all had been reported.
        """
        return next(self.of(PopulationRecord), self.header)

    @cached_property
    def launches(self) -> list[int]:
        """Number of launches of each process; those reported so far, if the list is not complete."""
        counts = list(self.frozen.launches)
        for process in [number for number, count in enumerate(counts) if not count]:
            indices = (decision.launch for decision in self.of(DecisionRecord) if decision.process == process)
            counts[process] = 1 + max(indices, default=-1)
        return counts

    @property
    def hashes(self) -> dict[str, str | None]:
        """Hashes of the traces, the sampling design and the simulated GPU, by name."""
        return {**self.header.hashes, **self.frozen.hashes}

    @property
    def policy(self) -> str:
        """Name of the sampling policy of the run."""
        choice = self.setting("policy")
        return str(choice["name"] if isinstance(choice, dict) else choice)

    @checked
    def setting(self, key: str) -> Any:
        """Value of a configuration key of the run, such as `error_budget.counter`.

        Raises:
            JournalError: the configuration in the journal lacks the key.
        """
        value: Any = self.header.config
        for part in key.split("."):
            if not isinstance(value, dict) or part not in value:
                raise damaged_journal(f"{self.path}:1", f"its configuration lacks the key {shown(key)}")
            value = value[part]
        return value

    @property
    def summary(self) -> SummaryRecord | None:
        """Summary of the run; None if it has not ended."""
        last = self.records[-1]
        return last if isinstance(last, SummaryRecord) else None

    def ended(self) -> SummaryRecord:
        """Summary of the run.

        Raises:
            JournalError: the run has not ended.
        """
        if self.summary is None:
            raise JournalError(
                f"{self.path}: this needs a run that has ended, but the run of this journal has not; start it again with the "
                "same command, and it goes on"
            )
        return self.summary

    def content(self) -> dict[str, Any]:
        """Summary of the run as JSON values; for a run in progress, the part known so far."""
        if self.summary is not None:
            content = {key: value for key, value in plain(self.summary).items() if key != "type"}
            ranges = [{k: v for k, v in plain(part).items() if k != "type"} for part in self.ranges.values()]
            return {**content, "ranges": ranges} if ranges else content
        simulated, launches = len(self.results), sum(self.launches)
        return {
            "launches": launches,
            "simulated": simulated,
            "skipped": launches - simulated,
            "passes": len({record.pass_index for record in self.of(PassRecord)}),
            "counters": plain(self.simulated_only()),
        }

    def estimates(self) -> dict[str, Estimate]:
        """Estimated totals of all counters, then estimates of all ratios of counters, by name."""
        return {**self.summary.counters, **self.summary.ratios} if self.summary else self.simulated_only()

    def simulated_only(self) -> dict[str, Estimate]:
        """Sum of each counter over the simulated launches, without an estimate for the skipped ones."""
        totals: dict[str, float] = {}
        for result in self.results.values():
            for name, value in result.counters.items():
                totals[name] = totals.get(name, 0.0) + value
        return {name: Estimate(simulated=total) for name, total in totals.items()}

    @cached_property
    def results(self) -> dict[int, Outcome]:
        """Result of every simulated launch of the sample, in the order of arrival. The key is the index of the launch among
        those of all processes.
        """
        return {self.unit(record): record for record in self.of(Outcome) if record.is_result}

    @property
    def validations(self) -> list[Outcome]:
        """Results of the launches that were simulated only to measure the error of restored caches, in the order of arrival."""
        return [record for record in self.of(Outcome) if record.validation is not None and record.counters]

    @cached_property
    def launch_estimates(self) -> LaunchEstimates | None:
        """Estimates of all launches; None if the run has not ended, states no estimate, or simulated every launch.

        Raises:
            JournalError: the records do not contain every launch once.
        """
        blocks = {(record.process, record.first): record for record in self.of(LaunchesRecord)}  # a kill may double them
        if self.summary is None or not blocks:
            return None
        total = int(self._offsets[-1])
        cycles, strata = np.full(total, np.nan), np.full(total, -1, dtype=np.int32)
        kernel, seen = np.full(total, -1, dtype=np.int32), np.zeros(total, dtype=np.int64)
        for record in blocks.values():
            first = int(self._offsets[record.process]) + record.first
            place = f"{self.path}: launches from {record.first} of process {record.process}"
            part = slice(first, first + record.count)
            if part.stop > self._offsets[record.process + 1]:
                what = f"this record states {record.count} launches, more than the process (one of the program's) has left"
                raise damaged_journal(place, what)
            cycles[part] = unpack(record.cycles, "<f8", record.count, place)
            strata[part] = unpack(record.strata, "<i4", record.count, place)
            kernel[part] = unpack(record.kernels, "<i4", record.count, place)
            seen[part] += 1
        if not (seen == 1).all() or kernel.max(initial=-1) >= len(self.summary.kernels):
            raise damaged_journal(self.path, "its records of estimates do not have each launch exactly once")
        return LaunchEstimates(cycles, strata, kernel)

    @cached_property
    def ranges(self) -> dict[str, RangeRecord]:
        """Estimates of the ranges (phases, layers, modules) of a run with the key `ranges`, by path. A range is followed by its
        inner ranges; "" is the whole run.

        >>> import kernelpoint as kp
        >>> import pathlib
        >>> _ = pathlib.Path("ranges.csv").write_text("launch,path\\n0,prefill\\n1,decode\\n2,decode\\n")
        >>> run = kp.simulate("traces/kernelslist.g", "run.kpjournal", policy="all", ranges="ranges.csv")
        >>> [(path, part.launches) for path, part in run.ranges.items()]
        [('', 6), ('prefill', 1), ('decode', 2)]
        """
        ranges: dict[str, RangeRecord] = {}
        for record in self.records if self.summary is not None else ():
            if isinstance(record, ResumeRecord):
                ranges.clear()  # a run that goes on states its own ranges
            elif isinstance(record, RangeRecord):
                ranges[record.path] = record
        return ranges

    def name_of(self, unit: int) -> str:
        """Kernel name of a launch; empty text if unknown. `unit` is the index of the launch among those of all processes."""
        check("unit", unit, int)
        estimates = self.launch_estimates
        if estimates is not None and not 0 <= unit < len(estimates.kernels):
            raise ConfigError(f"unit (number of a launch): got {shown(unit)}; allowed: 0 to {len(estimates.kernels) - 1}")
        kernel = -1 if estimates is None else int(estimates.kernels[unit])
        return self.ended().kernels[kernel].name if kernel >= 0 else ""

    @property
    def looks(self) -> list[LookRecord]:
        """Estimates at the end of each pass (round of sampling)."""
        return list(self.of(LookRecord))

    @property
    def counters(self) -> list[str]:
        """Names of the counters that every result has."""
        return next((list(record.counters) for record in self.results.values()), [])

    def unit(self, record: DecisionRecord | Outcome) -> int:
        """Index of a record's launch among the launches of all processes."""
        return int(self._offsets[record.process]) + record.launch

    @cached_property
    def _offsets(self) -> np.ndarray:
        return np.concatenate([[0], np.cumsum(self.launches)])

    def to_frame(self) -> pd.DataFrame:
        """Make a pandas DataFrame with one row for each launch, ordered by process and launch index.

        Columns, missing where the journal has no value:

        * process, launch: index of the process, and index of the launch in it.
        * pass_index, action, stratum, cluster, stream, u, threshold, take_all, prediction, x: fields of the last decision on
          the launch (`DecisionRecord`).
        * kernel, estimated_cycles: kernel name and estimate, for a run that has ended.
        * simulated: bool.
        * one column for each counter, missing if the launch was not simulated.

        Raises:
            SetupError: pandas is not installed.

        >>> import kernelpoint as kp
        >>> table = kp.simulate("traces/kernelslist.g", "run.kpjournal", policy="all").to_frame()
        >>> len(table), table["action"].unique().tolist()
        (6, ['simulate'])
        """
        with needs_extra("to_frame"):
            import pandas as pd
        rows: list[dict[str, Any]] = [
            {"process": process, "launch": launch} for process, count in enumerate(self.launches) for launch in range(count)
        ]
        for decision in self.of(DecisionRecord):
            rows[self.unit(decision)] |= {name: getattr(decision, name) for name in OF_DECISION}
        for unit, row in enumerate(rows):
            result = self.results.get(unit)
            row["simulated"] = result is not None
            row.update(result.counters if result else {})
        if (estimates := self.launch_estimates) is not None:
            for unit, (row, cycles) in enumerate(zip(rows, estimates.cycles.tolist(), strict=True)):
                row |= {
                    "kernel": self.name_of(unit),
                    "estimated_cycles": cycles,
                    "stratum": int(estimates.strata[unit]),
                }
        columns = ["process", "launch", "kernel", *OF_DECISION, "simulated", "estimated_cycles", *self.counters]
        return pd.DataFrame(rows, columns=columns)


def load_run(path: str | Path) -> Run:
    """Read the journal of a run.

    Raises:
        JournalError: the journal is missing, empty or damaged, or its records contradict its list of launches.

    >>> import kernelpoint as kp
    >>> _ = kp.simulate("traces/kernelslist.g", "run.kpjournal", policy="all")
    >>> run = load_run("run.kpjournal")
    >>> run.policy, len(run.results), run.ended().half_width
    ('all', 6, 0.0)
    """
    run = Run(Path(path), read_records(path))
    if (summary := run.summary) is not None:
        launches, simulated = sum(run.launches), sum(not result.copied for result in run.results.values())
        if simulated != summary.simulated or summary.simulated + summary.skipped != launches:
            stated = f"{summary.simulated} simulated and {summary.skipped} skipped"
            raise damaged_journal(path, f"it has results of {simulated} of {launches} launches; its summary says {stated}")
    return run

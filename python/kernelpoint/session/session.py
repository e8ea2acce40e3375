"""The state machine behind the ABI: passes, decisions, results, the end.

One pass simulates every wanted launch; at its end the engine looks at the bound and either the run is done or the sample
grows and the next pass begins. Results never change a decision inside a pass (design, section 4).
"""

from __future__ import annotations

import math
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np

from kernelpoint.errors import HostError, SessionError
from kernelpoint.estimation import Design, Engine, Look
from kernelpoint.session.inside import InsideKernel
from kernelpoint.session.journal import Journal, Record
from kernelpoint.session.ledger import Ledger
from kernelpoint.session.opening import Run
from kernelpoint.session.progress import Progress
from kernelpoint.session.ratios import RATIOS
from kernelpoint.session.records import SIMULATE, SKIP, check_result, decision_line
from kernelpoint.session.summary import HostSummary, Summary, look_record, summarise

OK, DONE, PENDING = 0, 1, 2
BEFORE_FIRST, END_OF_LIST = -1, -2


class Session:
    """One sampled run. Methods are the functions of kernelpoint/abi.h with Python's types; see there for their contracts.

    Args:
        run: everything fixed at open: configuration, population, design, hashes.
        journal: open for writing; records that it already holds must be replayed before the first call.
        log: takes one line of text for the user.
    """

    def __init__(self, run: Run, journal: Journal, log: Callable[[str], None]) -> None:
        self.run = run
        self.journal = journal
        self.design = run.design
        self.engine = Engine(run.design, run.budget, run.estimate, RATIOS)
        self.thresholds = self.engine.thresholds
        self.ledger = Ledger(run.population.offsets, run.config.warmup.launches)
        self.pass_index = 0
        self.results = 0
        self.warmups, self.warmup_cycles = 0, 0.0
        self.done = False
        self.degraded: list[str] = []
        self.look: Look | None = None
        self._summary: Summary | None = None
        self.predictions: dict[int, float] = {}
        self._launch_estimates: np.ndarray | None = None
        self._simulated_units: set[int] = set()
        self.progress = Progress(log, run.population.size)
        self.inside = InsideKernel(run.config.inside_kernel, run.budget)

    # ---- the host's calls -------------------------------------------------------------------------------------------

    def on_launch(
        self,
        process: int,
        index: int,
        trace_path: str | None = None,
    ) -> tuple[int, int, int]:
        """Decide one launch: (action, pass, progress interval in cycles)."""
        self._require_running()
        unit = self.ledger.unit(process, index)
        if not self.ledger.is_wanted(unit):
            action = SKIP
        elif unit in self.ledger.in_flight:
            return SIMULATE, self.pass_index, self._interval(unit)
        else:
            action = SIMULATE
            self.ledger.start(unit)
        self._write_line(decision_line(self, process, index, unit, action))
        return action, self.pass_index, self._interval(unit) if action == SIMULATE else 0

    def next(self, process: int, after: int) -> tuple[int, int]:
        """The next launch to simulate behind `after`: (status, launch index or -1)."""
        if self._summary is not None or self.done:
            return DONE, -1
        self.ledger.unit(process, max(after, 0))
        if after != END_OF_LIST and (found := self.ledger.next_after(process, after)) is not None:
            return OK, found
        if (found := self.ledger.next_after(process, BEFORE_FIRST)) is not None:
            return OK, found
        if self.ledger.has_open():
            return PENDING, -1
        self._end_pass()
        if self.done:
            return DONE, -1
        found = self.ledger.next_after(process, BEFORE_FIRST)
        return (OK, found) if found is not None else (PENDING, -1)

    def on_progress(
        self, process: int, index: int, cycles: int, instructions: int, issued: int, completed: int, total: int
    ) -> int:
        """Continue (0) or stop (1) a launch in flight."""
        unit = self.ledger.unit(process, index)
        if unit not in self.ledger.in_flight:
            raise HostError(f"progress of launch {index} of process {process}, which is not in flight")
        try:
            return int(self.inside.stops(unit, cycles, instructions, issued, completed, total))
        except (ArithmeticError, LookupError, ValueError) as error:  # the failure rule: leave nothing out by mistake
            self.inside.forget(unit)
            self._degrade(f"launch {index} of process {process} is simulated to its end: {_describe(error)}")
            return 0

    def on_complete(
        self,
        process: int,
        index: int,
        stopped: bool,
        cycles: int,
        instructions: int,
        names: tuple[str, ...] = (),
        values: tuple[float, ...] = (),
    ) -> None:
        """Take the result of a launch in flight into the journal and the sample."""
        unit = self.ledger.unit(process, index)
        counters = ("cycles", "instructions", *names)
        numbers = (float(cycles), float(instructions), *values)
        check_result(self, unit, index, stopped, dict(zip(counters, numbers, strict=True)))
        taken, projection = self.inside.result(unit, stopped, dict(zip(counters, numbers, strict=True)))
        record: Record = {"type": "result", "process": process, "launch": index, "pass": self.pass_index}
        record["counters"] = taken
        if projection:
            record["projection"] = projection
        if self.ledger.is_warmup(unit):
            self._write({**record, "type": "warmup"})
            self.take_warmup(unit, float(cycles))
        else:
            self._write(record)
            self.take_result(unit, counters, tuple(taken.values()), projection.get("half_widths"))
        self.progress.completed(self.pass_index, self.results, self.ledger.open_count)

    def take_result(
        self,
        unit: int,
        counters: tuple[str, ...],
        numbers: tuple[float, ...],
        half_widths: dict[str, float | None] | None = None,
    ) -> None:
        """A result of this process, or of the journal, enters the sample, with its half-widths where it is a projection."""
        self.ledger.complete(unit)
        self.engine.record(unit, counters, numbers, half_widths)
        self.results += 1

    def take_warmup(self, unit: int, cycles: float) -> None:
        """A launch that only warmed the machine up is done; it is paid for and counts for nothing else."""
        self.ledger.complete(unit)
        self.warmups += 1
        self.warmup_cycles += cycles

    def on_abort(self, process: int, index: int, reason: str | None = None) -> None:
        """A launch in flight could not be simulated: once more in the next pass, then never."""
        unit = self.ledger.unit(process, index)
        self.inside.forget(unit)
        if self.ledger.is_warmup(unit):
            self.ledger.complete(unit)
            self._write(
                {"type": "abort", "process": process, "launch": index, "pass": self.pass_index, "reason": reason}
            )
            return
        attempt = self.ledger.abort(unit)
        what = f"launch {index} of process {process} could not be simulated: {reason or 'no reason given'}"
        self._write({"type": "abort", "process": process, "launch": index, "pass": self.pass_index, "reason": reason})
        self._degrade(f"{what} (attempt {attempt})")

    def launch_estimate(self, process: int, index: int) -> tuple[float, float, bool]:
        """Estimated (cycles, instructions) of one launch and whether it was simulated: its own result, else the prediction."""
        if self._summary is None:
            raise HostError("kp_launch_estimate was called before kp_finish")
        unit = self.ledger.unit(process, index)
        if self._launch_estimates is None:  # once for all: a host asks for every launch in turn
            self._launch_estimates = self.engine.predict(np.arange(self.run.population.size))
            self._simulated_units = {unit for unit, _ in self.engine.records()}
        row, simulated = self._launch_estimates[unit], unit in self._simulated_units
        return (float(row[0]), float(row[1]), simulated) if len(row) > 1 else (math.nan, math.nan, simulated)

    def launch_name(self, process: int, index: int) -> str | None:
        """The kernel name of a launch, where the plan read its trace."""
        return self.run.plan.name_of_unit(self.ledger.unit(process, index))

    def finish(self) -> HostSummary:
        """End the run and hand out the summary; see HostSummary for the fields."""
        if self._summary is None:
            self._summary = summarise(self)
            self._write(self._summary.record())
            self.progress.finished(self._summary)
        return self._summary.for_host()

    def begin(self) -> None:
        """The first records of a new journal, and its first pass."""
        self._write(self.run.record())
        self.begin_first_pass()

    def begin_first_pass(self) -> None:
        """Says which launches could not be read, and starts pass 0."""
        for unit, why in sorted(self.run.plan.broken.items()):
            self._degrade(f"launch unit {unit} is simulated because its trace cannot be read: {why}")
        self.begin_pass(0)

    # ---- passes -----------------------------------------------------------------------------------------------------

    def begin_pass(self, pass_index: int, write: bool = True) -> None:
        """Start pass `pass_index` with the engine's present sample sizes."""
        self.pass_index = pass_index
        wanted = self.engine.wanted()
        self.ledger.begin_pass(wanted)
        self.thresholds = self.engine.thresholds
        self.predictions = self._predict(wanted)
        if write:
            sizes, kinds = self.engine.sizes.tolist(), list(self.engine.kinds)
            self._write({"type": "pass", "pass": pass_index, "wanted": len(wanted), "sizes": sizes, "kinds": kinds})
        self.progress.pass_begins(pass_index, self.ledger.open_count)

    def look_now(self, write: bool = True) -> None:
        """Look at the bound at the end of a pass."""
        self.look = look = self.engine.look()
        if self.engine.wants_exact_results:
            self.inside.stop_projecting()
        if write:
            self._write({"type": "look", "pass": self.pass_index, **look_record(look)})
        self.progress.looked(look, self.pass_index, self.run.budget.counter)

    def simulate_everything(self, reason: str) -> None:
        """The failure rule for passes: a design that cannot go on gives way to the full run."""
        self._degrade(f"{reason}; every launch that is left is simulated", everything=True)
        self._give_way()

    def _give_way(self) -> None:
        known, count = self.engine, self.run.population.size
        nothing = np.empty(0, dtype=np.int64)
        alone, domains = np.full(count, -1, dtype=np.int32), self.run.design.domains
        self.design = Design(strata=alone, first_sizes=nothing, u=self.run.design.u, domains=domains)
        self.engine = Engine(self.design, self.run.budget, "mean", RATIOS)
        self.engine.take_over(known)

    def _end_pass(self) -> None:
        if self.ledger.lost():
            self.done = True
            return
        try:
            self._look_and_grow()
        except Exception as error:  # the failure rule: whatever goes wrong in a policy must not skip launches
            if not self.run.population.size > self.results:
                raise SessionError(f"the estimate of a full run failed: {_describe(error)}") from error
            self.simulate_everything(f"the estimate failed at the end of pass {self.pass_index}: {_describe(error)}")
        if not self.done:
            self.begin_pass(self.pass_index + 1)

    def _look_and_grow(self) -> None:
        if len(self.engine.missing()):
            return  # launches that were aborted, or that a failure added: the next pass simulates them
        self.look_now()
        self._grow()

    def _grow(self) -> None:
        met = self.look is not None and self.look.met
        self.done = met or not self.engine.grow()

    # ---- taking over from a journal ---------------------------------------------------------------------------------

    def restore_pass(self, record: Record) -> None:
        """A pass of the journal: its sizes are taken, not computed again."""
        self.engine.restore_pass(np.array(record["sizes"], dtype=np.int64), record["kinds"])
        self.begin_pass(record["pass"], write=False)

    def restore_degraded(self, record: Record) -> None:
        """A failure of the journal; what it changed is changed again."""
        self.degraded.append(record["reason"])
        if record.get("everything"):
            self._give_way()

    def continue_after_first_pass(self) -> None:
        """Pass 0 was made elsewhere (online.py) and its results are here: look, and go on."""
        self._end_pass()

    def continue_after_look(self) -> None:
        """The journal ends with a look: what follows depends on the present error budget, and on what is missing."""
        if not len(self.engine.missing()):
            self._grow()
        if not self.done:
            self.begin_pass(self.pass_index + 1)

    # ---- small parts ------------------------------------------------------------------------------------------------

    def _predict(self, wanted: np.ndarray) -> dict[int, float]:
        """Predicted cycles of the launches of a pass, for their decision records; none before the first results."""
        if self.look is None or not len(wanted):
            return {}
        rows = self.engine.predict(wanted)
        return dict(zip(wanted.tolist(), rows[:, 0].tolist(), strict=True)) if rows.size else {}

    def _interval(self, unit: int) -> int:
        """Cycles between progress calls; none for a launch that warms the machine up, which is simulated whole."""
        return 0 if self.ledger.is_warmup(unit) else self.inside.follow(unit)

    def _require_running(self) -> None:
        if self._summary is not None:
            raise HostError("the run is finished; open another session")

    def _degrade(self, what: str, everything: bool = False) -> None:
        if self.run.config.on_error == "abort":
            raise SessionError(f"{what}; on_error: abort")
        if not self.degraded:
            self.progress.say(f"degraded: {what}")
        self.degraded.append(what)
        self._write({"type": "degraded", "reason": what, **({"everything": True} if everything else {})})

    def _write(self, record: Record) -> None:
        self._write_line(None, record)

    def _write_line(self, line: str | None, record: dict[str, Any] | None = None) -> None:
        try:
            if line is not None:
                self.journal.write_line(line)
            elif record is not None:
                self.journal.write(record)
        except Exception as error:
            raise SessionError(f"the run cannot go on: {error}") from error


def _describe(error: Exception) -> str:
    """One line for the journal: type, message and where it happened."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({last.name}, line {last.lineno})"

"""A run whose launches nobody knows beforehand: the first pass decides them as they come, then passes go on as usual.

`OnlineSession` answers the host's calls during the first pass (first_pass.py). At its end every launch has been read, so the
plan is made as if the list had been known (session/planning.py), with what the first pass simulated as its beginning, and
an ordinary Session takes over. Strata that are made at that point are made without looking at results, and within each
of them the launches drawn so far are those with u_i <= p: a simple random sample given their number.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from kernelpoint.errors import HostError, KernelPointError, PlanError, SessionError
from kernelpoint.estimation import Design
from kernelpoint.policies.registry import load_policy
from kernelpoint.session.first_pass import PROBABILITY, FirstPass, Key, Seen
from kernelpoint.session.journal import Journal, Record
from kernelpoint.session.online_clusters import OnlineClusters, Placed
from kernelpoint.session.online_run import OnlineRun
from kernelpoint.session.opening import Run, hash_design, hash_lists, strata_record
from kernelpoint.session.plan import Plan
from kernelpoint.session.planning import make_plan, origin_of
from kernelpoint.session.progress import Progress
from kernelpoint.session.records import SIMULATE, SKIP, check_counters
from kernelpoint.session.session import END_OF_LIST, OK, PENDING, Session
from kernelpoint.session.summary import HostSummary, look_record

Log = Callable[[str], None]


class OnlineSession:
    """Methods are the functions of kernelpoint/abi.h, as of Session, which takes over after the first pass.

    Args:
        run: what is fixed at open; journal: open for writing; log: takes one line of text for the user.
    """

    def __init__(self, run: OnlineRun, journal: Journal, log: Log) -> None:
        self.run, self.journal, self._log = run, journal, log
        self.first = FirstPass(run.config.seed, tuple(run.host.launch_counts))
        self.clusters = OnlineClusters(run.config.encoder, log)
        self.then: Session | None = None
        self.degraded: list[str] = []
        self.progress = Progress(log, sum(run.host.launch_counts))
        self._counters: tuple[str, ...] = ()
        self._say_at = 1024

    def __getattr__(self, name: str) -> Any:
        """Whatever else a session has: that of the one that took over."""
        then = self.__dict__.get("then")
        if then is None:
            raise AttributeError(name)
        return getattr(then, name)

    # ---- the host's calls -------------------------------------------------------------------------------------------

    def on_launch(
        self,
        process: int,
        index: int,
        trace_path: str | None = None,
    ) -> tuple[int, int, int]:
        """Decide one launch: (action, pass, progress interval in cycles)."""
        if self.then is not None:
            return self.then.on_launch(process, index, trace_path)
        key = self.first.check(process, index)
        seen = self.first.seen.get(key)
        if seen is None:
            seen = self.first.decide(key, trace_path, self._place(key, trace_path))
            self._write(self._decision(key, seen))
            self._say_now_and_then()
        elif not self.first.is_open(key, seen):
            return (SIMULATE if key in self.first.in_flight else SKIP), 0, 0
        if seen.simulated:
            self.first.in_flight.add(key)
        return (SIMULATE if seen.simulated else SKIP), 0, 0

    def next(self, process: int, after: int) -> tuple[int, int]:
        """The next launch to ask about: every launch may have to be simulated, so it is the one behind `after`."""
        if self.then is not None:
            return self.then.next(process, after)
        self.first.check(process, max(after, 0))
        if after != END_OF_LIST and (found := self.first.next_unseen(process, after)) is not None:
            return OK, found
        if (found := self.first.end(process)) is not None:
            return OK, found
        if not self.first.complete:
            return PENDING, -1
        return self._end_first_pass().next(process, END_OF_LIST)

    def on_progress(self, process: int, index: int, *progress: int) -> int:
        """Continue (0); nothing is stopped inside during the first pass."""
        if self.then is not None:
            return self.then.on_progress(process, index, *progress)
        self._require_in_flight(process, index)
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
        """Take the result of a launch in flight into the journal."""
        if self.then is not None:
            return self.then.on_complete(process, index, stopped, cycles, instructions, names, values)
        key = self._require_in_flight(process, index)
        counters = ("cycles", "instructions", *names)
        result = dict(zip(counters, (float(cycles), float(instructions), *values), strict=True))
        if stopped:
            raise HostError(f"launch {index} was stopped inside although it was told to continue")
        check_counters(result, self._counters, self.run.budget.counter, index)
        self._write({"type": "result", "process": process, "launch": index, "pass": 0, "counters": result})
        self.take(key, result)
        return None

    def on_abort(self, process: int, index: int, reason: str | None = None) -> None:
        """A launch in flight could not be simulated: once more in the next pass, then never."""
        if self.then is not None:
            return self.then.on_abort(process, index, reason)
        key = self._require_in_flight(process, index)
        self._write({"type": "abort", "process": process, "launch": index, "pass": 0, "reason": reason})
        self._fail(key)
        why = reason or "no reason given"
        self._degrade(f"launch {index} of process {process} could not be simulated: {why} (attempt 1)")
        return None

    def launch_estimate(self, process: int, index: int) -> tuple[float, float, bool]:
        """Estimated (cycles, instructions) of one launch, after finish."""
        if self.then is None:
            raise HostError("kp_launch_estimate was called before kp_finish")
        return self.then.launch_estimate(process, index)

    def launch_name(self, process: int, index: int) -> str | None:
        """The kernel name of a launch that was asked about, where its trace could be read."""
        if self.then is not None:
            return self.then.launch_name(process, index)
        seen = self.first.seen.get(self.first.check(process, index))
        return seen.placed.name if seen is not None and seen.placed is not None else None

    def finish(self) -> HostSummary:
        """End the run, even inside the first pass: it then speaks of the launches seen so far, and states no bound."""
        return (self.then or self._take_over()).finish()

    # ---- the first pass ---------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """The first record of a new journal."""
        self._write(self.run.record())
        self.begin_first_pass()

    def begin_first_pass(self) -> None:
        """Starts pass 0."""
        self._write({"type": "pass", "pass": 0, "wanted": None, "sizes": [], "kinds": ["first"]})
        self.progress.say("pass 0: launches are not known beforehand, so each is read as it comes")

    def _place(self, key: Key, path: str | None) -> Placed | None:
        """The cluster of a launch; None, and the launch is simulated, where that fails (failure rule)."""
        try:
            return self.clusters.place(path)
        except Exception as error:  # noqa: BLE001 - the failure rule: whatever goes wrong, the launch is not skipped
            what = str(error) if isinstance(error, KernelPointError) else f"{type(error).__name__}: {error}"
            self._degrade(f"launch {key[1]} of process {key[0]} is simulated because it cannot be placed: {what}")
            return None

    def _decision(self, key: Key, seen: Seen) -> Record:
        record: Record = {"type": "decision", "process": key[0], "launch": key[1], "pass": 0}
        record["action"] = "simulate" if seen.simulated else "skip"
        if seen.certain:
            record |= {"stratum": -1, "take_all": seen.why}
        else:
            record |= {"u": self.first.u(*key), "threshold": PROBABILITY}
        if seen.placed is not None:
            record |= {"cluster": seen.placed.cluster, "stream": seen.placed.stream, "x": seen.placed.expected}
        return {**record, "trace": seen.path}

    def take(self, key: Key, result: dict[str, float]) -> None:
        """A result of this process, or of the journal."""
        self._counters = tuple(result)
        self.first.seen[key].result = result
        self.first.in_flight.discard(key)

    def _fail(self, key: Key) -> None:
        self.first.seen[key].attempts += 1
        self.first.in_flight.discard(key)

    def _require_in_flight(self, process: int, index: int) -> Key:
        key = self.first.check(process, index)
        if key not in self.first.in_flight:
            raise HostError(
                f"launch {index} of process {process} is not in flight; each decision to simulate has one result"
            )
        return key

    def _say_now_and_then(self) -> None:
        """Each time the number of launches seen has doubled: what holds for them, by itself and for no other launch."""
        if len(self.first.seen) < self._say_at:
            return
        self._say_at *= 2
        look = self.first.look(self.run.budget, self.run.estimate)
        counts = self.first.counts()
        text = f"pass 0: {counts['seen']:,} launches seen, {counts['simulated']:,} simulated, {counts['clusters']:,} clusters"
        estimate = None if look is None else {**look.estimates, **look.ratios}.get(self.run.budget.counter)
        if look is not None:
            self._write({"type": "seen", **counts, **look_record(look)})
        if estimate is not None and math.isfinite(estimate.relative_half_width):
            text += f"; these: {estimate.estimate:.6g} {estimate.counter} +- {100 * estimate.relative_half_width:.3g} %"
        self.progress.say(text)

    def _end_first_pass(self) -> Session:
        then = self._take_over()
        then.continue_after_first_pass()
        return then

    def _take_over(self) -> Session:
        """The ordinary session that goes on, with this pass's results; its population stands in the journal."""
        run = self.make_run()
        hashes = {k: v for k, v in run.hashes.items() if k not in self.run.record()["hashes"]}
        self._write(
            {
                "type": "population",
                "launches": list(run.population.counts),
                "plan": self._keep(run.plan),
                "hashes": hashes,
                "strata": strata_record(run.design),
                "simulated": self._simulated(run),
            }
        )
        return self.hand_over(run)

    def _simulated(self, run: Run) -> dict[str, list[Any]]:
        """Where the launches that this pass simulated lie in the design, which their decisions could not know."""
        units = np.array(sorted(self.first.results(run.population)), dtype=np.int64)
        x = [] if run.design.x is None else run.design.x[units].tolist()
        return {"units": units.tolist(), "strata": np.asarray(run.design.strata)[units].tolist(), "x": x}

    def _keep(self, plan: Plan) -> str | None:
        """The plan lies beside the journal, for reports; a run does not need the file."""
        path = f"{self.journal.path}.kpplan"
        try:
            plan.save(path)
        except PlanError as error:
            self.progress.say(str(error))
            return None
        return path

    def hand_over(self, run: Run) -> Session:
        """The session of the later passes, with this pass's results; nothing is written."""
        then = Session(run, self.journal, self._log)
        for unit, counters in self.first.results(run.population).items():
            then.engine.record(unit, tuple(counters), tuple(counters.values()))
            then.results += 1
        then.ledger.attempts |= self.first.attempts(run.population)
        then.degraded = self.degraded
        self.then = then
        return then

    def make_run(self) -> Run:
        """The plan, made now that every launch has been read; where that fails everything left is simulated."""
        self.clusters.close()
        config, population = self.run.config, self.first.population()
        policy = load_policy(config.policy)
        origin = origin_of(config, policy, population)
        try:
            plan = make_plan(config, policy, population, origin, self._log)
        except Exception as error:  # noqa: BLE001 - the failure rule, as for a look that fails
            self._degrade(f"the plan failed: {type(error).__name__}: {error}; every launch that is left is simulated")
            alone = np.full(population.size, -1, dtype=np.int32)
            plan = Plan(Design(alone, np.empty(0, dtype=np.int64), population.u), origin)
        plan = replace(plan, design=self.first.frozen(plan.design, population))
        hashes = {
            **self.run.record()["hashes"],
            "list": hash_lists(population),
            "traces": origin["traces"],
            "design": hash_design(plan.design),
        }
        return Run(config, self.run.host, population, plan, None, self.run.budget, self.run.estimate, hashes)

    # ---- small parts ------------------------------------------------------------------------------------------------

    def _degrade(self, what: str) -> None:
        if self.run.config.on_error == "abort":
            raise SessionError(f"{what}; on_error: abort")
        if not self.degraded:
            self.progress.say(f"degraded: {what}")
        self.degraded.append(what)
        self._write({"type": "degraded", "reason": what})

    def _write(self, record: Record) -> None:
        try:
            self.journal.write(record)
        except Exception as error:
            raise SessionError(f"the run cannot go on: {error}") from error

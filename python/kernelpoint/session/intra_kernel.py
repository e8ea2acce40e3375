"""Launches that are stopped inside: when, and their projected results."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping

import numpy as np

from kernelpoint import _native
from kernelpoint.config import Config
from kernelpoint.errors import ConfigError, KernelPointError
from kernelpoint.estimation import OWN_ERROR_SHARE, ErrorBudget
from kernelpoint.intrakernel import ProgressTrace, Projection, StoppingRule, load_method
from kernelpoint.journal import ProjectionRecord, ResultRecord
from kernelpoint.progress import Log
from kernelpoint.ratios import RATIOS
from kernelpoint.session.replays import Replays
from kernelpoint.workload import Population
from kernelpoint.workload.host_info import HostInfo

INTERVAL = 25  # cycles between two points of a trajectory
MEMORY = 64 << 20  # bytes of footprints
PROJECTED = ("cycles", "instructions")  # all others are scaled with the CTAs
FULL_RUN_SHARE = (
    0.95  # of the error budget, for projections where every launch is simulated: none of it goes to sampling
)


def check_intra_kernel(config: Config, host: HostInfo) -> None:
    """Refuse to stop launches inside if the host cannot, or if the counter of the error budget would have no known
    error.

    Raises:
        ConfigError: names the keys that contradict each other.
    """
    if config.intra_kernel == "off":
        return
    method = load_method(config.intra_kernel)
    if not host.can_stop or host.concurrent:
        why = "lets kernel launches overlap" if host.concurrent else "cannot stop a launch inside"
        raise ConfigError(f"intra_kernel: got {config.intra_kernel!r}, but this host {why}; allowed: off")
    for counter in (config.error_budget.counter, *config.error_budget.further):
        if method.bounded and not set(RATIOS.get(counter, (counter,))) <= set(method.bounded):
            allowed = (*method.bounded, *(name for name, pair in RATIOS.items() if set(pair) <= set(method.bounded)))
            raise ConfigError(
                f"error_budget.counter: got {counter!r}, of which {method.description} know no error; allowed with "
                f"intra_kernel: {config.intra_kernel}: {', '.join(allowed)}"
            )


class IntraKernel:
    """The key `intra_kernel` at work: follows launches in flight, stops and projects them.

    A projection by `cta` has a half-width h_i of its own, which enters the engine with its result
    (estimation.measurement_error). Launches are stopped only where h_i looks like 0.6 eps y_i or less (OWN_ERROR_SHARE; 0.95
    in a full run), so their sum is usually within 0.6 eps. Not always: the tail of a launch is seen only after the stop, an
    estimator may lean on a few launches, and instructions have errors that no launch is stopped by. Where too little is left
    for sampling, the session calls `stop_projecting`, and the sample grows by launches simulated whole. Other counters than
    cycles and instructions are scaled with the CTAs and have no known error, nor has anything projected by `pka`.

    Args:
        method: "off", or one of intrakernel.METHODS.
        budget: the run's error budget.
        trajectory: gives that of a launch in the fast model, or None.
        full_run: True if every launch is simulated, so that projections alone have an error.
    """

    def __init__(
        self,
        method: str,
        budget: ErrorBudget,
        trajectory: Callable[[int], ProgressTrace | None] | None = None,
        full_run: bool = False,
    ) -> None:
        self.method = method
        self._trajectory = trajectory or (lambda unit: None)
        self._whole = self._at_once = 0  # launches followed to their end; those that issued all their CTAs at once
        self._rule = None if method == "off" else load_method(method)
        share = FULL_RUN_SHARE if full_run else OWN_ERROR_SHARE
        self._made_with = budget.confidence, share * min(budget.targets.values())
        self._states_bound = budget.bound != "none"
        self._followed: dict[int, tuple[ProgressTrace, StoppingRule]] = {}
        self._stopped: set[int] = set()
        self._simulates_whole = False
        self.saved_cycles = 0.0
        self.projected = 0

    # ---- one launch -------------------------------------------------------------------------------------------------

    @property
    def interval(self) -> int:
        """Cycles between the progress calls of a launch that begins now; 0 for none."""
        return 0 if self._rule is None or self._simulates_whole else self._rule.interval

    def follow(self, unit: int) -> int:
        """A launch begins: how many cycles shall lie between its progress calls; 0 for none."""
        if self._rule is None or not self.interval:
            return 0
        model = functools.cache(functools.partial(self._trajectory, unit))
        self._followed.setdefault(unit, (ProgressTrace(), self._rule(*self._made_with, model)))
        return self._rule.interval

    def stops(self, unit: int, *point: int) -> bool:
        """Take a point (cycles, instructions, issued, completed, total); whether the launch is to be stopped now."""
        if unit in self._stopped or unit not in self._followed:
            return unit in self._stopped
        trace, method = self._followed[unit]
        trace.add(*point)
        if method.stops(trace):
            self._stopped.add(unit)
        return unit in self._stopped

    def was_told_to_stop(self, unit: int) -> bool:
        """True if this launch was to be stopped."""
        return unit in self._stopped

    def forget(self, unit: int) -> None:
        """A launch is no longer in flight."""
        self._followed.pop(unit, None)
        self._stopped.discard(unit)

    def result(
        self, unit: int, stopped: bool, counters: Mapping[str, float]
    ) -> tuple[dict[str, float], ProjectionRecord | None]:
        """The counters that enter the sample, and the journal's record of their projection, if they are one."""
        if not stopped:
            return dict(counters), None
        trace, method = self._followed[unit]
        projection = method.project(trace, counters["cycles"], counters["instructions"])
        errors = zip(PROJECTED, (projection.cycles_error, projection.instructions_error), strict=True)
        return _projected(counters, projection), ProjectionRecord(
            method=self.method,
            ctas=trace.issued,
            of=trace.total,
            simulated_cycles=counters["cycles"],
            half_widths={name: None if math.isnan(h) else h for name, h in errors},
        )

    def issued_at_once(self, unit: int) -> bool | None:
        """True if a launch that was followed to its end issued all its CTAs at once; None for any other."""
        if unit in self._stopped or unit not in self._followed:
            return None
        trace, _ = self._followed[unit]
        return trace.resident >= trace.total

    def take(self, record: ResultRecord) -> None:
        """A result of this process, or of the journal, is counted."""
        if record.projection is not None:
            self.projected += 1
            self.saved_cycles += record.counters["cycles"] - record.projection.simulated_cycles
        elif record.at_once is not None:
            self._whole += 1
            self._at_once += record.at_once

    # ---- what it leaves to say --------------------------------------------------------------------------------------

    def stop_projecting(self) -> None:
        """From now on launches are simulated whole: more projections would take the error budget away."""
        self._simulates_whole = True

    def assumptions(self) -> list[str]:
        """Assumptions that the projections rest on, for the summary."""
        if self._rule is None or not self._rule.assumption or not self.projected:
            return []
        return [f"{self.projected} simulated launches were stopped inside: {self._rule.assumption}"]

    def warnings(self, met: bool) -> list[str]:
        """Warnings about the projections in the summary of a run that met its error budget, or did not."""
        if self._rule is None:
            return []
        if not self.projected:
            return [
                f"intra_kernel: {self.method} had no effect: none of the {self._whole} simulated launches that were "
                f"followed was stopped; {self._at_once} of them issue all their CTAs at once"
            ]
        if not self._rule.bounded:
            return [
                f"{self.projected} simulated launches are {self._rule.description}, whose error is not known: no bound"
            ]
        found = [
            f"counters other than {' and '.join(self._rule.bounded)} are scaled in projected launches: "
            "no bound is stated for them"
        ]
        if not met and self._states_bound:
            found.append(
                f"the error of the {self.projected} launches that were stopped inside goes away with `intra_kernel: off`"
            )
        return found


def _projected(counters: Mapping[str, float], projection: Projection) -> dict[str, float]:
    scaled = {name: value * projection.scale for name, value in counters.items()}
    return {**scaled, "cycles": projection.cycles, "instructions": projection.instructions}


# ---- trajectories -----------------------------------------------------------------------------------------------------


class Trajectories:
    """Trajectories by simulation: the fast model runs a launch from its first CTA to its last when it is asked about it.

    The launch begins with what the launches before it leave in L2, where the host names its trace list.

    Args:
        host: the simulator.
        population: of the run; its model source says whether there is a model, and for which GPU.
        log: told once that a launch could not be simulated.
    """

    def __init__(self, host: HostInfo, population: Population, log: Log) -> None:
        self._host, self._population, self._log = host, population, log
        self._replays = Replays(host, lambda text: None)  # the run's own tells of traces that cannot be read
        self._told = False

    def of(self, unit: int) -> ProgressTrace | None:
        """The trajectory of one launch; None where there is no model, or it cannot simulate the launch."""
        source, paths = self._population.model_source, self._population.paths
        if source is None or not paths or not paths[unit]:
            return None
        try:
            touches = self._touches(unit)
            points = _native.fast_model.course(paths[unit], source.configuration, touches, INTERVAL)
        except KernelPointError as error:
            if not self._told:
                self._log(f"the fast model cannot simulate a launch, which is projected without it: {error}")
            self._told = True
            return None
        trace = ProgressTrace()
        for cycles, instructions, issued, completed in points.tolist():
            trace.add(cycles, instructions, issued, completed, int(points[-1, 2]))
        return trace

    def _touches(self, unit: int) -> np.ndarray | None:
        """As a replay gives them; None where nothing can be replayed."""
        if not self._host.can_replay or self._population.listed is not None:
            return None
        offsets = self._population.offsets
        process = int(np.searchsorted(offsets, unit, side="right")) - 1
        return self._replays.before(process, unit - int(offsets[process])).touches

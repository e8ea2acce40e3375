"""Replay of the state between launches, one trace list for each process; and what is known of its error."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kernelpoint.config.schema import ReplayConfig
from kernelpoint.errors import HostError
from kernelpoint.estimation import BaseEngine, Compared, dependence, error_of_courses, first_run_ups, replay_error
from kernelpoint.session.host_info import HostInfo

if TYPE_CHECKING:
    from kernelpoint.estimation import SystematicError
    from kernelpoint.session.phases.sample import Sample
    from kernelpoint.session.setup import Setup
    from kernelpoint.traces.replay import Replay, Replayed

KEPT, REPLAYED = 0, 1  # kp_state
OF_COURSES = (
    "the full run is off the mean of all equally likely runs by as much as courses of the model of the cores are"
)
LEAST_SHARE = 30  # launches that a list needs for each run-up
MOST_RUN_UPS = 12  # where the configuration leaves their number open
AUTO_RUN_UPS = 3  # that the list has to be long enough for, there
READS = "dram_reads"  # the counter that tells how much of a launch hangs on what earlier ones left


@dataclass(frozen=True)
class ReplayCheck:
    """Estimates of the error of replay. errors: by counter; cycles: simulated for it; reason: why there are no errors, or
    empty; assumption: that it rests on, or empty; run_ups: that it was made from.
    """

    errors: dict[str, SystematicError] = field(default_factory=dict)
    cycles: float = 0.0
    reason: str = ""
    assumption: str = ""
    run_ups: int = 0


def check_of(
    sample: Sample,
    kept: Mapping[int, Mapping[str, float]],
    chances: Mapping[int, float],
    cycles: float,
    confidence: float,
) -> ReplayCheck:
    """The estimated error of the sample's results.

    Args:
        kept: by unit, in the order in which they were chosen, its counters from the state that the launches before it left;
            chances: by unit, the probability with which it was the first to be chosen; cycles: simulated for all of it.
    """
    units = np.array([unit for unit in kept if sample.is_exact(unit)], dtype=np.int64)
    if not len(units):
        return ReplayCheck(cycles=cycles, reason="too few run-ups could be simulated")
    engine, drawn = sample.engine, sample.engine.drawn()
    weights, replayed = engine.expansions(units), engine.predict(units)
    every = _dependence(engine, drawn)
    mean = float(np.average(every, weights=engine.expansions(drawn) * np.maximum(_cycles(engine, drawn), 1.0)))
    errors = {}
    for column, name in enumerate(engine.counters):
        compared = Compared(
            weights * np.array([kept[unit].get(name, 0.0) for unit in units.tolist()]),
            weights * replayed[:, column],
            np.array([chances[unit] for unit in units.tolist()]),
            _dependence(engine, units),
            mean,
            len(drawn),
        )
        errors[name] = replay_error(compared, confidence)
    return ReplayCheck(errors, cycles, run_ups=len(units))


def _dependence(engine: BaseEngine, units: NDArray[np.int64]) -> NDArray[np.float64]:
    """Of simulated units, by their reads from DRAM; 1 where the host does not count these."""
    if READS not in engine.counters:
        return np.ones(len(units))
    reads = engine.predict(units)[:, engine.counters.index(READS)]
    return dependence(np.nan_to_num(reads), _cycles(engine, units))


def _cycles(engine: BaseEngine, units: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.nan_to_num(engine.predict(units)[:, engine.counters.index("cycles")])


def first_number(config: ReplayConfig, relative_error: float, confidence: float) -> int:
    """Run-ups that a run begins with: as many as the configuration says, or the fewest that the error budget allows."""
    if config.check == "auto":
        return first_run_ups(relative_error, confidence, MOST_RUN_UPS)
    return config.check


def shortest_list(config: ReplayConfig) -> int:
    """Launches that a list needs for run-ups."""
    return LEAST_SHARE * (AUTO_RUN_UPS if config.check == "auto" else config.check)


def why_not_checked(setup: Setup) -> str:
    """Reason why the error of replay cannot be estimated in this run; empty where it can."""
    if not setup.host.can_replay:
        return "this simulator does not restore the state between launches"
    if setup.host.not_replayed:
        return f"with {setup.host.not_replayed} a full run keeps state that is not replayed"
    if setup.host.process_count > 1 or setup.host.concurrent:
        return "launches of several applications have no real state of their own"
    if setup.host.predictor[0] > 0 and not has_courses(setup):
        return "branch predictors learn during the whole run, which run-ups cannot tell"
    if setup.config.replay.check == 0:
        return "replay.check is 0"
    if setup.frame is None:
        return "the launches were not known beforehand"
    if setup.frame.population.listed is not None:
        return "the launches between those that were traced are not known, so neither is the state that they leave"
    if setup.frame.population.size < shortest_list(setup.config.replay) and not has_courses(setup):
        return "the list is too short for run-ups"
    return ""


def has_courses(setup: Setup) -> bool:
    """True if predictions tell how far launches are apart in equally likely courses of the list (MacSim's cycles)."""
    from kernelpoint.fast_model.predictions import OF_TOTAL  # here, because it needs the native reader

    predictions = None if setup.frame is None else setup.frame.design.predictions
    return predictions is not None and OF_TOTAL in predictions and setup.budget.counter == "cycles"


def check_without_run_ups(setup: Setup) -> ReplayCheck:
    """The error of replay as far as it is known in a run that makes no run-ups."""
    reason = why_not_checked(setup)
    if reason or not has_courses(setup) or not _states_a_bound_on_some(setup):
        return ReplayCheck(reason=reason)
    from kernelpoint.fast_model import COURSES
    from kernelpoint.fast_model.predictions import OF_TOTAL

    assert setup.frame is not None, "has_courses says that there is one"
    predictions = setup.frame.design.predictions or {}
    error = error_of_courses(predictions["cycles"], predictions[OF_TOTAL], COURSES, setup.budget.confidence)
    return ReplayCheck({"cycles": error}, assumption=OF_COURSES)


def _states_a_bound_on_some(setup: Setup) -> bool:
    return setup.budget.bound != "none" and not setup.is_full_run


def needs_run_ups(setup: Setup) -> bool:
    """True if the run begins with run-ups: it states a bound, skips launches, and can replay them."""
    return _states_a_bound_on_some(setup) and not has_courses(setup) and not why_not_checked(setup)


class Replays:
    """State that launches of each process begin with; lists are read at the first use.

    Args:
        host: the simulator, with the state that it can restore.
        memory: bytes of packed footprints that are kept, shared by the processes.
        log: told of traces that cannot be read.
    """

    def __init__(self, host: HostInfo, memory: int, log: Callable[[str], None]) -> None:
        self._host = host
        self._log = log
        self._memory = memory // max(host.process_count, 1)
        self._lists: dict[int, Replay] = {}

    def before(self, process: int, launch: int) -> Replayed:
        """The touches of the launches before one.

        Raises:
            HostError: the host cannot replay, or the list has no such launch.
        """
        if not self._host.can_replay:
            raise HostError("kp_replay_before: this host stated no state_lines, or no trace list on disk")
        if process not in self._lists:
            self._lists[process] = self._open(process)
        try:
            return self._lists[process].before(launch)
        except IndexError as error:
            raise HostError(f"kp_replay_before: {error}") from error

    def _open(self, process: int) -> Replay:
        # here, because a run that replays nothing does not need the native reader
        from kernelpoint.traces.replay import Replay, StateInfo

        host, path = self._host, self._host.list_paths[process]
        assert path is not None, "can_replay says that there is a list"
        state = StateInfo(
            host.state_lines,
            host.residency,
            host.copies_fill,
            host.counts_ctas,
            host.keeps_rows,
            host.keeps_l1,
            host.predictor,
        )
        return Replay(path, state, self._memory, log=self._log, trained=self._trained(path))

    def _trained(self, path: str) -> bytes:
        """States of the cores that were recorded with the list's predictions."""
        from kernelpoint.traces import launch_paths
        from kernelpoint.traces.trained import load_trained, predictions_folder, trained_key
        from kernelpoint.workload import fingerprint

        if self._host.predictor[0] == 0:
            return b""
        paths = launch_paths(path)
        key = trained_key(fingerprint((len(paths),), paths), self._host.residency, self._host.predictor)
        return load_trained(key, predictions_folder(), self._log)

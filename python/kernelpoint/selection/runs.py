"""Runs over the traced launches of a selection, and a larger selection where a run ends too early."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from kernelpoint.config import Config
from kernelpoint.errors import ConfigError, PlanError, TraceError
from kernelpoint.estimation import Design, Engine, StrataSampling, TwoPhaseDesign
from kernelpoint.estimation.constants import SLOW_EXCESS
from kernelpoint.planning.making import PlanInputs, check_origin
from kernelpoint.planning.plan import Plan
from kernelpoint.policies.contract import Policy
from kernelpoint.policies.registry import load_policy
from kernelpoint.profiles.names import base_key, full_key
from kernelpoint.program import Program
from kernelpoint.progress import Log
from kernelpoint.randomness import generator
from kernelpoint.repeated import Repeated, Texts, first_of_each
from kernelpoint.selection.output import write_output
from kernelpoint.selection.selection import Selection, engine_of
from kernelpoint.traces import read_header, read_trace_list
from kernelpoint.workload import Available, Need, predicted, program_of, usable, why_unassisted, with_predictor
from kernelpoint.workload.host_info import HostInfo

NEXT = "next"  # folder beside a selection for the one that continues it
SHOWN = 3  # launches that a message names


def selected(config: Config, policy: type[Policy], host: HostInfo, log: Log) -> Plan:
    """Plan of a run of which only selected launches were traced: all launches, those with traces marked.

    Raises:
        ConfigError: a key cannot be combined with a selection, or the simulator does not name exactly one trace list.
        PlanError: the selection was made for another run.
        TraceError: the list does not agree with the selection, or a launch of the first pass (round of sampling) has no trace.
    """
    assert config.selection is not None
    for key in ("plan", "profile"):
        if (value := getattr(config, key)) is not None:
            raise ConfigError(f"{key}: got {value!r}; a selection already contains its plan: remove `{key}:` or `selection:`")
    if config.clusters == "online":
        raise ConfigError("clusters: got 'online'; a selection already contains its strata (groups of launches); allowed: auto")
    path = host.list_paths[0]
    if host.process_count > 1 or path is None:
        problem = f"this one runs {host.process_count} applications" if host.process_count > 1 else "this one names none"
        raise ConfigError(
            f"selection: {config.selection} needs a simulator of one application that names its trace list; {problem}"
        )
    selection = Selection.load(config.selection)
    program = replace(selection.program, seed=config.seed)
    inputs = PlanInputs.of(config, policy, program)
    check_origin(config.selection, selection.origin, inputs.origin, log)
    least = {"allowance": policy(config).least_allowance(program), "slow_excess": 0.0 if policy.assumes_tail else SLOW_EXCESS}
    for name, least_value in least.items():
        if (stated := getattr(selection.strata, name)) < least_value:
            raise PlanError(
                f"{config.selection}: `{name}` is {stated}; a selection of `policy: {config.policy}` and `assume: "
                f"{config.assume}` has at least {least_value}, so this file was changed; make it again"
            )
    listed, traces = listed_launches(selection, path)
    lacking = np.setdiff1d(engine_of(selection.strata, config).drawn(), listed)
    if len(lacking):
        numbers = ", ".join(str(n) for n in np.asarray(program.numbers)[lacking[:SHOWN]].tolist())
        more = f" and {len(lacking) - SHOWN:,} more" if len(lacking) > SHOWN else ""
        raise TraceError(
            f"{path}: {len(lacking):,} launches that have to be simulated first have no trace: the tracer's numbers "
            f"{numbers}{more}; trace them with the script beside the selection"
        )
    of_launch = np.full(program.size, -1, dtype=np.int32)
    of_launch[listed] = traces.numbers
    log(
        f"kernelpoint: {len(listed):,} of {program.size:,} launches are traced: replay and the fast model see only these, "
        "so data that the others leave in caches is missing"
    )
    program = replace(program, traces=Texts(traces.distinct, of_launch), listed=listed, lists=(path,))
    plan = replace(inputs.with_design(selection.design, program, log), origin=selection.origin)
    traced = with_predictor(program_of(host, config.seed), config.fast_model, host, log)
    if Need.MODEL not in policy.inputs(Available(traces=True, model=True)) or config.fast_model == "off":
        return plan
    reason = why_unassisted(config, traced)
    if reason is None and traced.predictor is not None:
        predictions = predicted(traced, log).predictions
        assert predictions is not None
        phase = first_phase(selection.strata.with_latency(host.launch_latency), config, plan.program, predictions)
        if phase is not None:
            origin = {**plan.origin, "fast_model": traced.predictor.dependencies()}
            return replace(plan, first_phase=phase, origin=origin)
        reason = "it cannot predict launches that have to be drawn"
    log(f"kernelpoint: the estimate does not use the fast model's predictions: {reason}")
    return plan


def first_phase(design: Design, config: Config, program: Program, predictions: Repeated) -> TwoPhaseDesign | None:
    """Two-phase design, with the traced launches as the first sample and their predictions as covariates; None if a stratum
    (group sampled separately) or an always simulated launch has no prediction.

    Args:
        design: design by which the traced launches were drawn.
        program: all launches, with the traced ones in `listed`.
        predictions: predictions of the traced launches, in their order.
    """
    assert program.listed is not None
    observed, row = np.zeros(program.size, dtype=bool), np.full(program.size, -1)
    row[program.listed] = np.arange(predictions.size)
    observed[program.listed] = predictions["cycles"] > 0.0
    first = StrataSampling(design, load_policy(config.policy).budget_for(config), "mean")
    first.restrict_to(observed)
    if not observed[first.drawn()].all() or bool(((first.sizes == 0) & (design.sizes > 0)).any()):
        return None
    u = generator(config.seed, "second sample").random(program.size)
    groups = np.unique(program.kernels, return_inverse=True)[1].ravel()
    covariates = usable(predictions.take(np.maximum(row, 0)), observed)
    return TwoPhaseDesign(first, observed, covariates, groups, u, config.assume)


def write_next(config: Config, host: HostInfo, grown: Engine) -> tuple[Path, int]:
    """Write a further selection beside one whose traces did not suffice to meet the error budget. Returns its file, and the
    number of launches to trace in addition.

    Args:
        grown: engine with the sample sizes of the pass (round of sampling) that lacks traces.

    Raises:
        PlanError, ConfigError: the selection cannot be written.
    """
    path = Path(config.selection or "")
    selection = Selection.load(path)
    traced = selection.traced.copy()
    traced[grown.sampling.with_spare(selection.spare)] = True
    further = replace(selection, traced=traced)
    added = np.setdiff1d(further.numbers, selection.numbers)
    lists = host.list_paths[0] or ""
    earlier = Path(lists) if Path(lists).is_dir() else Path(lists).parent
    written = write_output(path.parent / NEXT, further, added, earlier.resolve())
    return written[0], len(added)


# ---- traces of a list --------------------------------------------------------------------------------------------------


def listed_launches(selection: Selection, path: str) -> tuple[np.ndarray, Texts]:
    """Index in the selection of each launch of a trace list, int64 [n], and the paths of the traces.

    A trace belongs to the launch with the number in its name (N of `kernel-N`, `Kernel<N>`). Name, grid and block must agree.

    Args:
        selection: all launches, and those to trace.
        path: trace list, or its folder.

    Raises:
        TraceError: names launch and trace. A trace has no number, an unknown one, one that occurs twice or out of order, or
            another name or shape; or a launch of the first pass (round of sampling) has no trace.

    >>> from kernelpoint.selection import read_census
    >>> Path("drawn").mkdir()
    >>> _ = Path("drawn/kernel-1.traceg").write_bytes(Path("traces/kernel-1.traceg").read_bytes())
    >>> census = read_census(Path("times.csv"), "accelsim", lambda line: None)
    >>> design = Design(np.zeros(6, int), np.ones(1, int), np.full(6, 0.5))
    >>> listed_launches(Selection(census, design, {}, traced=np.arange(6) < 1), "drawn")
    (array([0]), Texts(['drawn/kernel-1.traceg']))
    """
    listed, program = read_trace_list(path), selection.program
    numbers, listed_numbers = np.asarray(program.numbers), np.asarray(listed.numbers)
    if not np.array_equal(numbers, np.arange(program.size) + numbers[:1]):
        return _repeated(selection, path, listed)
    first_number = int(numbers[0])
    launches = listed_numbers - first_number
    for row in np.flatnonzero((listed_numbers < 0) | (launches < 0) | (launches >= program.size))[:1].tolist():
        raise TraceError(
            f"{listed.traces[row]}: its launch number {int(listed_numbers[row])} is not in the tracer's census (list "
            f"of launches) {program.source}, which has {first_number} to {first_number + program.size - 1}"
        )
    distinct, first = np.unique(launches, return_index=True)
    if len(distinct) < len(launches):
        row = int(np.setdiff1d(np.arange(len(launches)), first)[0])
        raise TraceError(f"{path}: launch {int(launches[row])} ({listed.traces[row]}) is in the list twice; name it once")
    if len(back := np.flatnonzero(np.diff(launches) < 0)):
        row = int(back[0]) + 1
        raise TraceError(
            f"{path}: launch {int(launches[row])} ({listed.traces[row]}) comes after launch {int(launches[row - 1])}; "
            "sort the list in the order of the program"
        )
    for launch, trace in zip(launches.tolist(), listed.traces, strict=True):
        _check(selection, launch, trace)
    return launches.astype(np.int64), listed.traces


def _repeated(selection: Selection, path: str, listed: Program) -> tuple[np.ndarray, Texts]:
    """Launches of the census for each trace of a list, for a program with CUDA graphs, whose list repeats traces."""
    numbers = np.asarray(selection.program.numbers)
    launches = np.flatnonzero(np.isin(numbers, np.asarray(listed.numbers)))
    if not np.array_equal(numbers[launches], np.asarray(listed.numbers)):
        raise TraceError(
            f"{path}: the list has {listed.size:,} launches, but the program runs these traces {len(launches):,} "
            "times, in its own order: write its list with `kernelpoint file expand LIST --selection FILE`"
        )
    for trace, place in zip(listed.traces.distinct, first_of_each(listed.traces.numbers).tolist(), strict=True):
        _check(selection, int(launches[place]), trace)
    return launches.astype(np.int64), listed.traces


def _check(selection: Selection, launch: int, trace: str) -> None:
    census = selection.program
    shape = read_header(trace)
    name, grid, block = census.names[launch], tuple(census.grid[launch].tolist()), tuple(census.block[launch].tolist())
    same_name = not name or full_key(name) == full_key(shape.kernel_name)
    same_name = same_name or base_key(name) == base_key(shape.kernel_name)
    if not same_name or (any(grid) and (grid, block) != (shape.grid, shape.block)):
        raise TraceError(
            f"{trace}: this trace is of {shape.kernel_name}, grid {shape.grid}, block {shape.block}; launch {launch} "
            f"of the census (list of launches) {census.source} is {name}, grid {grid}, block {block}: the program ran "
            "differently, so make census and traces again with the same input"
        )

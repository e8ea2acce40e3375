"""Designs drawn before launches are traced: the selection, the run over it, and a larger selection where it ends too early."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from kernelpoint.config import Config
from kernelpoint.errors import ConfigError
from kernelpoint.estimation import Design, Engine, ErrorBudget, StrataSampling, TwoPhaseDesign
from kernelpoint.planning.plan import Plan
from kernelpoint.planning.planning import Planning, check_origin
from kernelpoint.policies.contract import Policy
from kernelpoint.policies.registry import load_policy
from kernelpoint.program import Program
from kernelpoint.progress import Log
from kernelpoint.randomness import generator
from kernelpoint.repeated import Repeated, Texts
from kernelpoint.selection import Selection, listed_launches, write_output
from kernelpoint.selection.selection import check_drawn
from kernelpoint.workload import Available, Need, predicted, program_of, usable, why_unassisted, with_predictor
from kernelpoint.workload.host_info import HostInfo

NEXT = "next"  # folder beside a selection for the one that continues it


def draw(census: Program, config: Config, spare: float, log: Log) -> tuple[Selection, np.ndarray]:
    """Select launches of a census for tracing; returns the selection and the launches of its first pass, int64 [n].

    The policy makes its design as for a run with a profile and no traces: from names, shapes and neighbours; times,
    where they are known, are the covariate.

    Args:
        spare: draws traced in each stratum over those of the first pass.

    Raises:
        ConfigError: the policy needs traces. PolicyError: it lacks another input.
    """
    policy, program = load_policy(config.policy), replace(census, seed=config.seed, to_trace=True)
    planning = Planning.of(config, policy, program, "--profile")
    design = _strata(planning.make(log))
    engine = _engine(design, config)
    traced = np.zeros(program.size, dtype=bool)
    traced[engine.sampling.with_spare(spare)] = True
    return Selection(program, design, planning.origin, traced, spare), engine.drawn()


def _strata(plan: Plan) -> Design:
    """Make the design from a census, before there are traces."""
    assert isinstance(plan.design, Design)  # only traces are predicted
    return plan.design


def selected(config: Config, policy: type[Policy], host: HostInfo, log: Log) -> Plan:
    """Plan of a run of a selection: all launches of the census, some of which have traces.

    Raises:
        ConfigError: another key does not go with a selection, or the host names no list, or several.
        PlanError: the selection was made for another run.
        TraceError: list and census do not agree, or a launch of the first pass has no trace.
    """
    assert config.selection is not None
    _check_keys(config)
    path = host.list_paths[0]
    if host.process_count > 1 or path is None:
        problem = (
            f"this one runs {host.process_count} applications" if host.process_count > 1 else "this one names none"
        )
        raise ConfigError(
            f"selection: {config.selection} needs a simulator of one application that names its trace list; {problem}"
        )
    selection = Selection.load(Path(config.selection))
    program = replace(selection.program, seed=config.seed)
    drawn = _engine(selection.design, config).drawn()
    planning = Planning.of(config, policy, program)
    check_origin(config.selection, selection.origin, planning.origin, log)
    listed, traces = listed_launches(selection, path)
    check_drawn(selection, drawn, listed, path)
    of_launch = np.full(program.size, -1, dtype=np.int32)
    of_launch[listed] = traces.numbers
    log(
        f"kernelpoint: {len(listed):,} of {program.size:,} launches are traced: replay and the fast model see only these, "
        "so data that the others leave in caches is missing"
    )
    program = replace(program, traces=Texts(traces.distinct, of_launch), listed=listed, lists=(path,))
    plan = replace(planning.with_design(selection.design, program, log), origin=selection.origin)
    return _with_model(plan, config, policy, host, log)


def _with_model(plan: Plan, config: Config, policy: type[Policy], host: HostInfo, log: Log) -> Plan:
    """Add the fast model's predictions of the traced launches to a plan, if the policy uses them."""
    traced = with_predictor(program_of(host, config.seed), config.fast_model, host, log)
    if Need.MODEL not in policy.inputs(Available(traces=True, model=True)) or config.fast_model == "off":
        return plan
    reason = why_unassisted(config, traced)
    if reason is None and traced.predictor is not None:
        predictions = predicted(traced, log).predictions
        assert predictions is not None
        phase = first_phase(_strata(plan), config, plan.program, predictions)
        if phase is not None:
            origin = {**plan.origin, "fast_model": traced.predictor.identity()}
            return replace(plan, first_phase=phase, origin=origin)
        reason = "it cannot predict launches that have to be drawn"
    log(f"kernelpoint: the estimate does not use the fast model's predictions: {reason}")
    return plan


def first_phase(design: Design, config: Config, program: Program, predictions: Repeated) -> TwoPhaseDesign | None:
    """The traced launches as a first sample with predictions; None if a stratum or a take-all launch has no prediction.

    Args:
        program: of the census, with `listed`; predictions: of the listed launches, in their order.
    """
    assert program.listed is not None
    observed, row = np.zeros(program.size, dtype=bool), np.full(program.size, -1)
    row[program.listed] = np.arange(predictions.size)
    observed[program.listed] = predictions["cycles"] > 0.0
    wanted = ErrorBudget(config.error_budget.relative_error, config.error_budget.confidence)
    first = StrataSampling(design, wanted, "mean")
    first.restrict_to(observed)
    if not observed[first.drawn()].all() or bool(((first.sizes == 0) & (design.sizes > 0)).any()):
        return None
    u = generator(config.seed, "second sample").random(program.size)
    groups = np.unique(program.kernels, return_inverse=True)[1].ravel()
    covariates = usable(predictions.take(np.maximum(row, 0)), observed)
    return TwoPhaseDesign(first, observed, covariates, groups, u, config.assume)


def write_next(config: Config, host: HostInfo, grown: Engine) -> tuple[Path, int]:
    """Write the next selection beside one whose traces did not suffice; returns its file and the number of launches added.

    Args:
        grown: with the sizes of the pass that could not begin.

    Raises:
        PlanError, ConfigError: it cannot be written there.
    """
    path = Path(config.selection or "")
    selection = Selection.load(path)
    further = selection.with_traced(grown.sampling.with_spare(selection.spare))
    added = np.setdiff1d(further.numbers, selection.numbers)
    lists = host.list_paths[0] or ""
    earlier = Path(lists) if Path(lists).is_dir() else Path(lists).parent
    written = write_output(path.parent / NEXT, further, added, earlier.resolve())
    return written[0], len(added)


def _check_keys(config: Config) -> None:
    for key in ("plan", "profile"):
        if (value := getattr(config, key)) is not None:
            raise ConfigError(
                f"{key}: got {value!r}; a selection contains its design, so name none beside `selection:`"
            )
    if config.clusters == "online":
        raise ConfigError("clusters: got 'online'; a selection contains its strata; allowed: auto")


def _engine(design: Design, config: Config) -> Engine:
    """Make the engine of a design, which defines the order of draws."""
    budget = config.error_budget
    return Engine(design, ErrorBudget(budget.relative_error, budget.confidence), "mean")

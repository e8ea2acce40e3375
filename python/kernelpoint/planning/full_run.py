"""Runs in which every launch is simulated although a sample was asked for, because that is cheaper, and exact.

Each launch then begins with the state that the one before it left, and nothing is estimated: the total is that of the full run
to the last cycle. Only for simulators with a model of their cores: there a plan costs most, and so does the error of replay.
The question is asked twice: before a plan is made, and of the plan.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from kernelpoint.config import Config
from kernelpoint.estimation import AssistedDesign, Design, Engine, ErrorBudget, Method
from kernelpoint.fast_model.predictions import OF_TOTAL
from kernelpoint.planning.forecast import CHEAP_SHARE
from kernelpoint.planning.making import PlanInputs
from kernelpoint.planning.plan import Plan, hash_design
from kernelpoint.planning.rehearsal import made_up, ranged, rehearse
from kernelpoint.policies.contract import Policy
from kernelpoint.program import Program
from kernelpoint.progress import Log
from kernelpoint.simulators import simulator
from kernelpoint.traces import scan_launches
from kernelpoint.workload.host_info import HostInfo

# Model: processor time that a plan and the least sample take, in seconds
LEAST_SECONDS = 5.0
LEAST_SHARE = 0.3  # of all predicted cycles in the first pass; below that a sample pays, whatever follows


def full_plan(config: Config, policy: type[Policy], host: HostInfo, program: Program, log: Log) -> Plan | None:
    """Plan that simulates every launch, if this takes less than LEAST_SECONDS; else None.

    The time is that of the simulator's costs for the instructions of the traces. A policy that the user chose is used as it is.
    """
    described = simulator(host.simulator)
    if config.policy.name != "kernelpoint" or config.plan is not None or not program.has_traces:
        return None
    if described.cores is None or described.costs is None:
        return None
    scan = scan_launches(program.traces, log=log)
    instructions = scan.count(described.costs.instructions).astype(float)
    seconds = described.costs.seconds(len(instructions), float(instructions.sum()), is_full_run=True)
    if scan.errors or seconds >= LEAST_SECONDS:
        return None
    log(
        f"kernelpoint: a full run takes about {seconds:.2g} s of processor time, which a plan and a sample would take as well: "
        "every launch is simulated"
    )
    inputs = PlanInputs.of(config, policy, program)
    return inputs.with_design(Design.take_all(program.u), program.with_contents_of(scan), log)


def plan_in_full(
    plan: Plan,
    host: HostInfo,
    budget: ErrorBudget,
    estimate: Method,
    begun_with: Mapping[str, str | None] | None,
    log: Log,
) -> Plan | None:
    """Plan of a full run in place of a sampled run whose sample would cost about as much; else None.

    Args:
        plan, host, budget, estimate: plan, simulator, error budget and estimator of the sampled run.
        begun_with: hashes in the journal of a resumed run, which stays a sampled or a full run; None for a new run.
    """
    if simulator(host.simulator).cores is None or plan.program.listed is not None:
        return None
    design = Design.take_all(plan.design.u)
    of_design = hash_design(design)
    if begun_with is not None:
        is_whole = begun_with.get("design") == of_design
    else:
        is_whole = of_design == plan.hashes["design"] or _costs_as_much(plan, budget, estimate, log)
    return replace(plan, design=design) if is_whole else None


def _costs_as_much(plan: Plan, budget: ErrorBudget, estimate: Method, log: Log) -> bool:
    """True if the sample is expected to cost CHEAP_SHARE of a full run, by two rehearsals of it (rehearsal.py)."""
    design = plan.design
    if plan.broken or not isinstance(design, AssistedDesign) or OF_TOTAL not in design.computed:
        return False
    work = np.asarray(design.computed["cycles"], dtype=float)
    first = Engine(design, budget).wanted()
    if len(first) == plan.program.size:
        return True
    if work[first].sum() < LEAST_SHARE * work.sum() or budget.counter != "cycles":
        return False
    results = made_up({"cycles": np.maximum(work, 1.0)}, design.labels, plan.program.seed)
    drawn = rehearse(design, budget, estimate, results)
    costs = [float(work[units].sum() / work.sum()) for units in drawn]
    share = min(1.0, float(np.mean(ranged(costs[0], max(costs)))))
    if share < CHEAP_SHARE:
        return False
    log(
        f"kernelpoint: an error budget of {100 * budget.relative_error:g} % would take about {100 * share:.0f} % of the "
        "cycles of a full run: every launch is simulated"
    )
    return True

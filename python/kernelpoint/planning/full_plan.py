"""The plan of a list that is simulated in less time than a plan for a sample takes: every launch."""

from __future__ import annotations

import numpy as np

from kernelpoint.config import Config
from kernelpoint.estimation import Design
from kernelpoint.planning.plan import Plan
from kernelpoint.planning.planning import Planning
from kernelpoint.policies.contract import Policy
from kernelpoint.progress import Log
from kernelpoint.simulators import simulator
from kernelpoint.traces import scan_launches
from kernelpoint.workload import Population
from kernelpoint.workload.host_info import HostInfo

# Model: processor time that a plan and the least sample take, in seconds
LEAST_SECONDS = 5.0


def full_plan(config: Config, policy: type[Policy], host: HostInfo, population: Population, log: Log) -> Plan | None:
    """A plan that simulates every launch, where the list takes less than LEAST_SECONDS; else None.

    The time is that of the simulator's costs for the instructions of the traces. A policy that the user chose is used as it is.
    """
    one = simulator(host.simulator)
    if config.policy.name != "kernelpoint" or config.plan is not None or not population.has_traces:
        return None
    if one.cores is None or one.costs is None:
        return None
    scan = scan_launches(population.paths, log=log)
    instructions = np.asarray(getattr(scan, one.costs.instructions), dtype=float)
    seconds = one.costs.seconds(len(instructions), float(instructions.sum()), is_full_run=True)
    if scan.errors or seconds >= LEAST_SECONDS:
        return None
    log(
        f"kernelpoint: a full run takes about {seconds:.2g} s of processor time, which a plan and a sample would take as well: "
        "every launch is simulated"
    )
    return Plan(Design.take_all(population.u), Planning.of(config, policy, population).origin)

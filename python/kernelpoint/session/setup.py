"""From a configuration and a host to a run that is ready to begin; everything that can be refused is refused here."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from kernelpoint import __version__
from kernelpoint.admission import Finding, ListFiles, admit, check_kinds, findings_of, withdrawing
from kernelpoint.admission.simulable import check_architectures
from kernelpoint.config import Config
from kernelpoint.errors import ConfigError
from kernelpoint.estimation import ErrorBudget, Method
from kernelpoint.fast_model.configuration import architecture_of
from kernelpoint.journal import HostRecord, RunRecord
from kernelpoint.journal.earlier import EarlierResults, read_earlier
from kernelpoint.planning.making import full_plan, plan_for
from kernelpoint.planning.plan import Plan
from kernelpoint.planning.range_targets import check_range_targets
from kernelpoint.policies.contract import Policy
from kernelpoint.policies.registry import load_policy
from kernelpoint.pool import Pool
from kernelpoint.program import Program
from kernelpoint.progress import Log
from kernelpoint.ranges import Ranges, ranges_for
from kernelpoint.ratios import ACTIVE_CYCLES, RATIOS, check_counter
from kernelpoint.selection.runs import selected
from kernelpoint.simulators import simulators
from kernelpoint.workload import program_for
from kernelpoint.workload.host_info import HostInfo


@dataclass(frozen=True)
class Setup:
    """Everything that is fixed when a run opens.

    Attributes:
        plan: launches and sampling design; None if the launches are not known yet.
        ranges: parts of the program (layers, phases) with estimates of their own, if the configuration names any.
        command: command line of the simulator, if known.
        is_full_run: True if every launch is simulated in program order, each with the caches that the one before it left.
        findings: defects in lists and traces that the input checks found.
        earlier: results of an earlier run that are used again.
    """

    config: Config
    host: HostInfo
    policy: type[Policy]
    budget: ErrorBudget
    estimate: Method
    plan: Plan | None
    command: tuple[str, ...] = ()
    is_full_run: bool = False
    ranges: Ranges | None = None
    findings: tuple[Finding, ...] = ()
    earlier: EarlierResults = field(default_factory=EarlierResults)

    @property
    def withdrawing(self) -> list[Finding]:
        """Defects of the input because of which the run states no error bound."""
        return withdrawing(self.findings, self.config.accept)

    def record(self) -> RunRecord:
        """First record of the journal. A process with an unknown number of launches has 0 there."""
        host, plan = self.host, self.plan
        record = RunRecord(
            kernelpoint=__version__,
            config=self.config.recorded(),
            bound=self.budget.bound,
            estimate=self.estimate,
            launches=list(host.launch_counts if plan is None else plan.program.counts),
            hashes={"simulator_config": host.config_hash},
            host=HostRecord(host.simulator, host.version, list(host.list_paths), host.configuration),
            command=list(self.command) or None,
        )
        if plan is None:
            from kernelpoint.encoder import checkpoint_hash

            record.hashes["checkpoint"], record.online = checkpoint_hash(self.config.encoder.checkpoint), {}
            return record
        record.hashes = {**plan.hashes, **record.hashes}
        record.plan, record.strata = plan.path, plan.strata_record
        return record


def prepare(config: Config, host: HostInfo, log: Log, begun_with: str | None = None, pool: Pool | None = None) -> Setup:
    """Read the trace lists, and make or load the sampling plan of a run.

    Args:
        begun_with: path of the plan in the journal of a resumed run, or None.
        pool: worker processes that read traces and predict; None: this process does so.

    Raises:
        ConfigError: the policy, the error budget and the simulator cannot be combined.
        TraceError: a trace list cannot be read, or contains code for an unknown architecture.
        PlanError: the plan or the selection that the user named was made for another run.
        PolicyError: an input of the policy is missing.
    """
    policy = load_policy(config.policy)
    if policy.projects(config) and (not host.can_stop or host.concurrent):
        why = "lets kernel launches overlap" if host.concurrent else "cannot stop a launch inside"
        raise ConfigError(f"policy.project: got True, but this simulator {why}; allowed: False")
    budget = budget_of(config, policy, host)
    if config.replay.state == "empty" and not host.can_replay:
        raise ConfigError(
            "replay.state: got 'empty'; allowed with a trace list and a simulator that can restore its state: "
            + ", ".join([*(simulator.title for simulator in simulators()), "kernelpoint-host"])
        )
    unknown = config.selection is None and _needs_census(config, policy, host)
    plan = None if unknown else _plan(config, policy, host, log, begun_with, pool)
    if plan is None and config.ranges is not None:
        raise ConfigError(
            f"ranges: got {config.ranges!r}, but this simulator names no trace list before the run; leave `ranges:` "
            "out, or name a trace list"
        )
    ranges = None
    if plan is not None and config.ranges is not None:
        ranges = ranges_for(config.ranges, plan.program, log)
    check_range_targets(config, policy, ranges)
    if plan is not None:
        check_architectures(host.simulator, host.architectures, plan.program)
    full = config.policy.name == "all" and config.replay.state == "real"
    findings = () if plan is None else admitted(plan.program, config, host, log)
    estimate = policy.estimate
    setup = Setup(config, host, policy, budget, estimate, plan, is_full_run=full, ranges=ranges, findings=findings)
    return setup if config.results_from is None else replace(setup, earlier=_earlier(setup, config.results_from, log))


def admitted(program: Program, config: Config, host: HostInfo, log: Log) -> tuple[Finding, ...]:
    """Check the lists and traces of a run, print each defect once, and return the findings.

    Raises:
        AdmissionError: a defect is too large for the run.
        ConfigError: the key `accept` names a kind of defect that no check reports.
    """
    check_kinds(config.accept, "accept")
    architecture = architecture_of(host.simulator, host.configuration, host.config_hash)
    return admit(findings_of(ListFiles(program, architecture)), config.accept, log)


def _earlier(setup: Setup, path: str, log: Log) -> EarlierResults:
    """Results of the journal that `results_from` names."""
    begins_alike = setup.host.restores_state or setup.host.stateless
    is_this_journal = Path(path).resolve() == Path(setup.config.journal).resolve()
    if setup.is_full_run or setup.plan is None or is_this_journal or not begins_alike:
        raise ConfigError(
            f"results_from: got {path!r}; allowed: the journal of another run, if this run is sampled, names a trace "
            "list, and its simulator restores caches and predictors before each simulated launch"
        )
    earlier = read_earlier(path, setup.record(), setup.host.counters)
    log(f"{len(earlier.of_launch):,} launches have results in {path}; those that this run draws are not simulated again")
    return earlier


def _plan(config: Config, policy: type[Policy], host: HostInfo, log: Log, begun_with: str | None, pool: Pool | None) -> Plan:
    if config.selection is not None:
        return selected(config, policy, host, log)
    program, full = program_for(config, host, log, pool), None
    if pool is None and begun_with is None and may_run_in_full(config, policy):
        full = full_plan(config, policy, host, program, log)
    return full or plan_for(config, policy, program, log, begun_with, pool)


def _needs_census(config: Config, policy: type[Policy], host: HostInfo) -> bool:
    """True if the run is online: the user asked for it, or the launches are unknown beforehand."""
    if config.clusters == "online" and not policy.online:
        raise ConfigError(
            f"clusters: got 'online', but policy {config.policy} needs all launches beforehand; set `clusters: auto`"
        )
    if config.clusters == "online" and (named := [k for k in ("plan", "profile") if getattr(config, k) is not None]):
        raise ConfigError(
            f"{named[0]}: got {getattr(config, named[0])!r}; it needs a plan made before the run, which "
            f"`clusters: online` does not make; remove {named[0]}, or set `clusters: auto`"
        )
    is_named = config.plan is not None or config.profile is not None or host.descriptions is not None
    is_counted = host.has_no_traces and all(host.launch_counts)
    unknown = not (is_named or is_counted) and all(path is None for path in host.list_paths)
    screened = config.clusters == "online" or (policy.online and unknown)
    if screened and host.process_count > 1 and not all(host.launch_counts):
        raise ConfigError("clusters: got 'online', for which a simulator of several processes has to state launch_counts")
    return screened


def counts_latency(config: Config) -> int:
    """Factor (0 or 1) of the constant launch latency in the total of a run: 1 if the latency is added without being simulated,
    0 if the simulator simulates it.

    >>> from kernelpoint.config import parse_config
    >>> [counts_latency(parse_config({"version": 1, "policy": policy})) for policy in ("random", "all")]
    [1, 0]
    """
    is_full_run = config.policy.name == "all"
    return int(config.launch_latency == "skip" or (config.launch_latency == "auto" and not is_full_run))


def budget_of(config: Config, policy: type[Policy], host: HostInfo) -> ErrorBudget:
    """Error budget of a run, with defaults of the sampling policy and the simulator for targets that the user did not set.

    Raises:
        ConfigError: the counter of the budget does not add up over launches.
        HostError: the simulator states the names of its counters, and the budget's is not among them.
    """
    wanted = config.error_budget
    targets = (wanted.counter, *wanted.further)
    for name in targets if host.counters is not None else ():
        check_counter(name, host.counters or ())
    of_cycles = [name for name in targets if {"cycles", ACTIVE_CYCLES} & {*RATIOS.get(name, (name,))}]
    if host.concurrent and of_cycles and config.policy.name != "all":
        raise ConfigError(
            f"error_budget.counter: got {of_cycles[0]!r}, but this simulator lets kernel launches overlap, so the sum "
            "over launches is not its total; allowed: a counter that adds up, or a simulator that runs launches one "
            "after another"
        )
    return policy.budget_for(config)


def may_run_in_full(config: Config, policy: type[Policy]) -> bool:
    """True if a full run would state everything that this sampled run states, so that it may replace the sampled run."""
    return not policy.projects(config) and config.replay.total == "run" and config.replay.state == "real"

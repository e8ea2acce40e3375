"""From a configuration file and a host to a run that is ready to begin; everything that can be refused is refused here."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from kernelpoint import __version__
from kernelpoint.config import Config
from kernelpoint.errors import ConfigError, HostError
from kernelpoint.estimation import Bound, Design, ErrorBudget
from kernelpoint.policies.contract import Need, Policy
from kernelpoint.policies.population import Population
from kernelpoint.policies.registry import load_policy
from kernelpoint.session.host_info import HostInfo

Log = Callable[[str], None]


@dataclass(frozen=True)
class Run:
    """Everything about a run that is fixed before its first launch."""

    config: Config
    host: HostInfo
    population: Population
    design: Design
    budget: ErrorBudget
    hashes: dict[str, str]
    broken: dict[int, str] = field(default_factory=dict)  # units whose trace could not be read, and why

    def record(self) -> dict[str, Any]:
        """The journal's first record."""
        return {
            "type": "run",
            "version": 1,
            "kernelpoint": __version__,
            "config": self.config.model_dump(),
            "bound": self.budget.bound,
            "host": {
                "simulator": self.host.simulator,
                "version": self.host.version,
                "lists": list(self.host.list_paths),
            },
            "launches": list(self.population.counts),
            "hashes": self.hashes,
        }

    def labels(self, unit: int) -> str:
        """What else a decision record says of a launch, as JSON: its cluster and stream where they are known."""
        parts = ""
        stratum = int(self.design.strata[unit])
        if self.design.clusters is not None and stratum >= 0:
            parts += f',"cluster":{int(self.design.clusters[stratum])}'
        if self.population.scan is not None:
            parts += f',"stream":"{self.population.scan.stream_hash(unit)}"'
        return parts


def prepare(config: Config, host: HostInfo, log: Log) -> Run:
    """Read the lists, make the population and let the policy make its design.

    Raises:
        ConfigError: policy, budget and host do not go together.
        TraceError: a trace list cannot be read.
        PolicyError: the policy lacks an input.
    """
    policy_class = load_policy(config.policy)
    budget = _budget(config, policy_class, host)
    paths = [_list_of(host, process) for process in range(host.process_count)]
    population = Population(
        counts=tuple(_count(host, p, paths[p]) for p in range(host.process_count)),
        seed=config.seed,
        paths=tuple(str(path) for per_process in paths for path in per_process or ()),
    )
    broken: dict[int, str] = {}
    if Need.TRACES in policy_class.needs:
        population, broken = _scan(population, policy_class, log)
    design = policy_class(config).design(population)
    return Run(
        config=config,
        host=host,
        population=population,
        design=_take_all(design, broken),
        budget=budget,
        hashes={"list": _hash_lists(population), "simulator_config": host.config_hash, "design": hash_design(design)},
        broken=broken,
    )


def hash_design(design: Design) -> str:
    """Identifies the frozen part of a run: strata, first sizes, permanent random numbers."""
    digest = hashlib.blake2b(digest_size=16)
    for part in (design.strata, design.first_sizes, design.u):
        digest.update(np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()


def _budget(config: Config, policy: type[Policy], host: HostInfo) -> ErrorBudget:
    wanted = config.error_budget
    bound: Bound = wanted.bound
    if bound not in policy.bounds:
        if "bound" in wanted.model_fields_set:
            allowed = ", ".join(policy.bounds)
            raise ConfigError(f"error_budget.bound: got {bound!r}; policy {config.policy} allows: {allowed}")
        bound = policy.bounds[0]
    if host.concurrent and wanted.counter == "cycles" and config.policy != "all":
        raise ConfigError(
            "error_budget.counter: got 'cycles', but this host lets kernel launches overlap, so the sum over launches is "
            "not the simulator's total; allowed: a counter that adds up, or a host that runs launches one after another"
        )
    return ErrorBudget(
        relative_error=wanted.relative_error,
        confidence=wanted.confidence,
        counter=wanted.counter,
        scope=wanted.scope,
        bound=bound,
    )


def _list_of(host: HostInfo, process: int) -> list[str] | None:
    path = host.list_paths[process]
    if path is None:
        return None
    from kernelpoint.traces import launch_paths  # needs the native reader, which a run without lists does not

    return launch_paths(path)


def _count(host: HostInfo, process: int, paths: list[str] | None) -> int:
    told = host.launch_counts[process]
    if paths is None:
        if told <= 0:
            raise ConfigError(
                f"process {process}: neither its trace list nor its number of launches is known; the host has to give one"
            )
        return told
    if told and told != len(paths):
        raise HostError(
            f"process {process}: the host counts {told} launches, its list {host.list_paths[process]} has {len(paths)}"
        )
    return len(paths)


def _scan(population: Population, policy: type[Policy], log: Log) -> tuple[Population, dict[int, str]]:
    if len(population.paths) != population.size:
        raise ConfigError(
            f"policy {policy.__module__.rsplit('.', 1)[-1]} reads traces, but there is no trace list on disk"
        )
    from kernelpoint.traces import scan_launches

    scan = scan_launches(population.paths, log=log)
    return replace(population, scan=scan), dict(scan.errors)


def _take_all(design: Design, broken: dict[int, str]) -> Design:
    """The failure rule: a launch that could not be read leaves its stratum and is simulated."""
    if not broken:
        return design
    strata = design.strata.copy()
    strata[sorted(broken)] = -1
    return replace(design, strata=strata)


def _hash_lists(population: Population) -> str:
    """Identifies the launches: number and file names in order, wherever the folder lies."""
    digest = hashlib.blake2b(repr(population.counts).encode(), digest_size=16)
    for path in population.paths:
        digest.update(Path(path).name.encode() + b"\n")
    return digest.hexdigest()

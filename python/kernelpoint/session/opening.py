"""From a configuration and a host to a run that is ready to begin; everything that can be refused is refused here."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kernelpoint import __version__
from kernelpoint.config import Config
from kernelpoint.errors import ConfigError, HostError
from kernelpoint.estimation import Design, ErrorBudget, Method
from kernelpoint.policies.contract import Policy
from kernelpoint.policies.population import Population
from kernelpoint.policies.registry import load_policy
from kernelpoint.session.host_info import HostInfo
from kernelpoint.session.inside import check_inside_kernel
from kernelpoint.session.plan import Plan
from kernelpoint.session.planning import plan_for
from kernelpoint.session.profiling import with_profile
from kernelpoint.session.ratios import RATIOS

Log = Callable[[str], None]


@dataclass(frozen=True)
class Run:
    """Everything about a run that is fixed before its first launch."""

    config: Config
    host: HostInfo
    population: Population
    plan: Plan
    plan_path: str | None
    budget: ErrorBudget
    estimate: Method
    hashes: dict[str, str]

    @property
    def design(self) -> Design:
        """The frozen sampling design."""
        return self.plan.design

    def record(self) -> dict[str, Any]:
        """The journal's first record."""
        host = {"simulator": self.host.simulator, "version": self.host.version, "lists": list(self.host.list_paths)}
        return {
            "type": "run",
            "version": 1,
            "kernelpoint": __version__,
            "config": self.config.model_dump(),
            "bound": self.budget.bound,
            "estimate": self.estimate,
            "host": host,
            "plan": self.plan_path,
            "launches": list(self.population.counts),
            "hashes": self.hashes,
            "strata": strata_record(self.design),
        }

    def labels(self, unit: int) -> str:
        """What else a decision record says of a launch, as JSON: its cluster and stream where they are known."""
        parts = ""
        stratum = int(self.design.strata[unit])
        if self.design.clusters is not None and stratum >= 0:
            parts += f',"cluster":{int(self.design.clusters[stratum])}'
        if self.plan.stream_ids is not None and self.plan.stream_ids[unit] >= 0:
            parts += f',"stream":"{self.plan.stream_hashes[self.plan.stream_ids[unit]]}"'
        return parts


def prepare(config: Config, host: HostInfo, log: Log, begun_with: str | None = None) -> Run:
    """Read the lists, make the population and make or load its plan; a resumed run has one that it was `begun_with`.

    Raises:
        ConfigError: policy, budget and host do not go together.
        TraceError: a trace list cannot be read.
        PlanError: the named plan is not of this run.
        PolicyError: the policy lacks an input.
    """
    policy = load_policy(config.policy)
    budget = budget_for(config, policy, host)
    check_inside_kernel(config, host)
    population = with_profile(population_of(host, config.seed), config, log)
    plan, path = plan_for(config, policy, population, log, begun_with)
    hashes = {
        "list": hash_lists(population),
        "traces": plan.origin["traces"],
        "simulator_config": host.config_hash,
        "design": hash_design(plan.design),
        **({"checkpoint": plan.origin["checkpoint"]} if "checkpoint" in plan.origin else {}),
    }
    return Run(config, host, population, plan, path, budget, policy.estimate_for(config), hashes)


def population_of(host: HostInfo, seed: int) -> Population:
    """The launches of all processes, from their lists or from the numbers that the host gives."""
    paths = [_list_of(host, process) for process in range(host.process_count)]
    return Population(
        counts=tuple(_count(host, process, found) for process, found in enumerate(paths)),
        seed=seed,
        paths=tuple(str(path) for found in paths for path in found or ()),
    )


def hash_design(design: Design) -> str:
    """Identifies the frozen part of a run: everything that the design fixes."""
    digest = hashlib.blake2b(digest_size=16)
    parts = (
        design.strata,
        design.first_sizes,
        design.u,
        design.x,
        design.cost,
        design.clusters,
        design.chosen,
        design.domains,
    )
    for part in parts:
        digest.update(b"none" if part is None else np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()


def strata_record(design: Design) -> dict[str, Any]:
    """Units, total of the covariate and cluster of each stratum: with the decisions, all that an estimate needs of a design."""
    strata, x, covariate = np.asarray(design.strata), design.x, None
    if x is not None:
        covariate = np.bincount(strata + 1, weights=x, minlength=len(design.first_sizes) + 1)[1:].tolist()
    clusters = None if design.clusters is None else np.asarray(design.clusters).tolist()
    return {"units": design.sizes.tolist(), "covariate": covariate, "clusters": clusters}


def budget_for(config: Config, policy: type[Policy], host: HostInfo) -> ErrorBudget:
    """The error budget of a run; ConfigError where the host's launches do not add up to what it is put on."""
    wanted = config.error_budget
    if host.concurrent and "cycles" in RATIOS.get(wanted.counter, (wanted.counter,)) and config.policy != "all":
        raise ConfigError(
            f"error_budget.counter: got {wanted.counter!r}, but this host lets kernel launches overlap, so the sum over "
            "launches is not the simulator's total; allowed: a counter that adds up, or a host that runs launches one after "
            "another"
        )
    return ErrorBudget(
        relative_error=wanted.relative_error,
        confidence=wanted.confidence,
        counter=wanted.counter,
        scope=wanted.scope,
        bound=policy.bound_for(config),
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


def hash_lists(population: Population) -> str:
    """Identifies the launches: number and file names in order, wherever the folder lies."""
    digest = hashlib.blake2b(repr(population.counts).encode(), digest_size=16)
    for path in population.paths:
        digest.update(Path(path).name.encode() + b"\n")
    return digest.hexdigest()

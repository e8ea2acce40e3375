"""The launches of all processes, from their lists or from the numbers that a host gives."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kernelpoint.config import Config
from kernelpoint.errors import ConfigError, HostError
from kernelpoint.pool import Pool
from kernelpoint.progress import Log
from kernelpoint.workload.described import with_descriptions
from kernelpoint.workload.host_info import HostInfo
from kernelpoint.workload.inputs import with_profile
from kernelpoint.workload.population import Population
from kernelpoint.workload.predictions import with_model_source

if TYPE_CHECKING:
    from kernelpoint.traces import TraceList


def population_for(config: Config, host: HostInfo, log: Log, pool: Pool | None = None) -> Population:
    """The launches of all processes, with the sources of a plan's inputs: the fast model, and the profile that is named.

    Args:
        pool: workers that read, embed and predict instead of this process.

    Raises:
        TraceError: a trace list cannot be read.
        ConfigError, ProfileError: the fast model's configuration, or the profile, is refused.

    >>> from kernelpoint.config import parse_config
    >>> config = parse_config({"version": 1, "policy": "random"}, "keys")
    >>> population_for(config, HostInfo("mine", list_paths=("traces/kernelslist.g",)), print).has_traces
    True
    """
    population = replace(population_of(host, config.seed), pool=pool)
    population = with_descriptions(population, host.descriptions, host.is_deterministic)
    population = with_model_source(population, config.fast_model, host, log)
    return with_profile(population, config, log)


def population_of(host: HostInfo, seed: int) -> Population:
    """The launches of all processes, from their lists or from the numbers that the host gives.

    >>> population_of(HostInfo("mine", process_count=2, list_paths=(None, None), launch_counts=(3, 2)), seed=0).size
    5
    """
    lists = [_list_of(host, process) for process in range(host.process_count)]
    return Population(
        counts=tuple(_count(host, process, found) for process, found in enumerate(lists)),
        seed=seed,
        paths=tuple(path for found in lists if found is not None for path in found.paths),
        copies=tuple(found.copies for found in lists if found is not None) if None not in lists else (),
    )


def _list_of(host: HostInfo, process: int) -> TraceList | None:
    path = host.list_paths[process]
    if path is None:
        return None
    from kernelpoint.traces import read_trace_list  # needs the native reader, which a run without lists does not

    return read_trace_list(path)


def _count(host: HostInfo, process: int, found: TraceList | None) -> int:
    told = host.launch_counts[process]
    if found is None:
        if told <= 0:
            raise ConfigError(
                f"process {process}: neither its trace list nor its number of launches is known; the simulator has to give one"
            )
        return told
    if told and told != len(found.paths):
        raise HostError(
            f"process {process}: the host counts {told} launches, its list {host.list_paths[process]} has {len(found.paths)}"
        )
    return len(found.paths)

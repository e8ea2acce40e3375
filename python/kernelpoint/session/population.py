"""The launches of all processes, from their lists or from the numbers that a host gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from kernelpoint.config import Config
from kernelpoint.errors import ConfigError, HostError
from kernelpoint.pool import Pool
from kernelpoint.session.host_info import HostInfo
from kernelpoint.workload import Population, with_descriptions, with_model_source, with_profile

Log = Callable[[str], None]


def population_for(config: Config, host: HostInfo, log: Log, pool: Pool | None = None) -> Population:
    """The launches of all processes, with the sources of a plan's inputs: the fast model, and the profile that is named.

    Args:
        pool: workers that read, embed and predict instead of this process.

    Raises:
        TraceError: a trace list cannot be read.
        ConfigError, ProfileError: the fast model's configuration, or the profile, is refused.
    """
    population = replace(population_of(host, config.seed), pool=pool)
    population = with_descriptions(population, host.descriptions)
    population = with_model_source(population, config.fast_model, host, log)
    return with_profile(population, config, log)


def population_of(host: HostInfo, seed: int) -> Population:
    """The launches of all processes, from their lists or from the numbers that the host gives."""
    paths = [_list_of(host, process) for process in range(host.process_count)]
    return Population(
        counts=tuple(_count(host, process, found) for process, found in enumerate(paths)),
        seed=seed,
        paths=tuple(str(path) for found in paths for path in found or ()),
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

"""`kernelpoint plan`: read every launch once, embed, cluster, and fix the first draw, before any simulator starts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console

from kernelpoint.config import Config, load_config, parse_config
from kernelpoint.errors import ConfigError
from kernelpoint.policies.registry import load_policy
from kernelpoint.session.host_info import HostInfo
from kernelpoint.session.planning import make_plan, origin_of
from kernelpoint.session.setup import population_of
from kernelpoint.workload import Available, Need, check_available, complete, with_profile


def plan(
    traces: Annotated[Path, typer.Argument(help="A kernelslist.g, or a folder of kernel-N.traceg files.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the plan (.kpplan).")],
    config: Annotated[
        Path | None, typer.Option(help="The run's configuration; its policy, encoder and seed count.")
    ] = None,
    policy: Annotated[str, typer.Option(help="The policy, where no configuration is given.")] = "kernelpoint",
    profile: Annotated[
        Path | None, typer.Option(help="Times or counters of every launch, where no configuration is given.")
    ] = None,
) -> None:
    """Read every launch once, embed, cluster, and fix the first draw."""
    if not output.parent.is_dir() or output.is_dir():
        raise ConfigError(f"--output: cannot write {output}; give a file in a folder that exists")
    console = Console(stderr=True, markup=False)
    settings = load_config(config) if config else _options(policy, profile)
    chosen = load_policy(settings.policy)
    population = population_of(HostInfo(simulator="plan", list_paths=(str(traces),)), settings.seed)
    population = with_profile(population, settings, console.print)
    origin = origin_of(settings, chosen, population)
    available = Available.of(population)
    option = "`profile:`" if config else "--profile"
    check_available(settings.policy.name, chosen.inputs(available), available, option)
    population = complete(population, frozenset({Need.TRACES}), settings.encoder, console.print)  # names, for reports
    made = make_plan(settings, chosen, population, origin, console.print)
    made.save(output)
    strata = len(made.design.first_sizes)
    drawn = int(np.sum(made.design.first_sizes)) + int(np.sum(np.asarray(made.design.strata) < 0))
    clusters = int(made.cluster_of_unit().max()) + 1
    Console(markup=False).print(
        f"{output}: {population.size:,} launches, {len(made.stream_hashes):,} streams, {clusters:,} clusters, "
        f"{strata:,} strata; the first pass simulates {drawn:,} launches",
        soft_wrap=True,
    )


def _options(policy: str, profile: Path | None) -> Config:
    """The configuration that the options stand for."""
    return parse_config({"version": 1, "policy": policy, "profile": str(profile) if profile else None}, "options")

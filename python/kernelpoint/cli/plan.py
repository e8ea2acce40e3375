"""`kernelpoint plan`: read every launch once, embed, cluster, and fix the first sample, before any simulator starts."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelpoint.errors import ConfigError

if TYPE_CHECKING:
    from kernelpoint.api import Plan
    from kernelpoint.config import Config
    from kernelpoint.pool import Pool


def plan(
    traces: Annotated[Path, typer.Argument(help="A kernelslist.g, or a folder of kernel-N.traceg files.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the plan (.kpplan).")],
    config: Annotated[
        Path | None,
        typer.Option("--config", "-c", help="The run's configuration: its policy, encoder and seed are used."),
    ] = None,
    policy: Annotated[str, typer.Option(help="The policy, where no configuration is given.")] = "kernelpoint",
    profile: Annotated[
        Path | None, typer.Option(help="Times or counters of every launch, where no configuration is given.")
    ] = None,
    gpu: Annotated[
        list[str] | None,
        typer.Option(
            help="The simulated GPU, as the simulator takes it, so that the fast model predicts as in the run: "
            "gpgpusim.config and trace.config, params.in, or v100 and rtx of the embedded host; once for each file."
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(min=1, max=65_536, help="Workers that read, embed and predict; default: threads of this process."),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            help="Where the workers are: a file in dask-jobqueue's configuration (Slurm, PBS, ...), or the address of a Dask "
            "scheduler."
        ),
    ] = None,
) -> None:
    """Read every launch once, embed, cluster, and fix the first sample; forecast runs at several budgets.

    The plan also enters the cache, where a run of the same list, GPU, policy and seed finds it.

    Example: kernelpoint plan traces/kernelslist.g -o run.kpplan --config kernelpoint.yaml --gpu gpgpusim.config
    """
    from kernelpoint.api import Plan
    from kernelpoint.cli.console import Console
    from kernelpoint.config import load_config
    from kernelpoint.estimation import Engine
    from kernelpoint.policies.registry import load_policy
    from kernelpoint.session.host_info import HostInfo
    from kernelpoint.session.planning import keep_plan
    from kernelpoint.session.setup import budget_of
    from kernelpoint.workload.forecast import sentences

    if not output.parent.is_dir() or output.is_dir():
        raise ConfigError(f"--output: cannot write {output}; give a file in a folder that exists")
    console = Console(stderr=True)
    settings = load_config(config) if config else _options(policy, profile)
    option = "`profile:`" if config else "--profile"
    with _pool(workers, cluster, console.print) as pool:
        made = Plan.from_config(traces, settings, gpu or [], console.print, option, pool)
    if not gpu and (made.forecast or "fast_model" in made.origin):
        console.print(_guessed(made))
    made.save(output)
    keep_plan(made, console.print)
    strata = made.design.label_count
    budget = budget_of(settings, load_policy(settings.policy), HostInfo(simulator="plan"))
    drawn = len(Engine(made.design, budget).drawn())
    clusters = "" if made.design.clusters is None else f"{int(made.cluster_of_unit().max()) + 1:,} clusters, "
    stdout = Console(soft_wrap=True)
    stdout.print(
        f"{output}: {len(made.design.labels):,} launches, {len(made.stream_hashes):,} streams, {clusters}"
        f"{strata:,} strata; the first pass simulates {drawn:,} launches"
    )
    for line in sentences(made.forecast, len(made.design.labels), time.process_time()):
        stdout.print(line)


def _guessed(made: Plan) -> str:
    """Warning if no GPU was named, so that the predictions are of a guessed one."""
    name = made.origin.get("fast_model", {}).get("configuration", "the shipped GPU nearest to the traces")
    return (
        f"kernelpoint plan: warning: no --gpu was given, so the predictions are those of {name}, a guess; a run on another "
        "simulated GPU plans anew. Name it with --gpu, as the simulator takes it"
    )


@contextlib.contextmanager
def _pool(workers: int | None, cluster: str | None, say: Callable[[str], None]) -> Iterator[Pool | None]:
    """The workers that were asked for; None for this process."""
    if workers is None and cluster is None:
        yield None
        return
    from kernelpoint.coordinator.engine import open_engine

    engine = open_engine(workers, cluster, 0, lambda line: say(f"kernelpoint: {line}"))
    try:
        yield engine
    finally:
        engine.close()


def _options(policy: str, profile: Path | None) -> Config:
    """The configuration made from the command line's options."""
    from kernelpoint.config import parse_config

    return parse_config({"version": 1, "policy": policy, "profile": str(profile) if profile else None}, "options")

"""`kernelpoint plan`: read every launch once, embed, cluster, and fix the first sample, before any simulator starts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from kernelpoint.errors import ConfigError


def plan(
    traces: Annotated[Path, typer.Argument(help="A kernelslist.g, or a folder of kernel-N.traceg files.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the plan (.kpplan), or with --clusters CSV, here.")
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option("--config", "-c", help="The run's configuration: its policy, encoder and seed are used."),
    ] = None,
    policy: Annotated[str, typer.Option(help="The policy, where no configuration is given.")] = "kernelpoint",
    profile: Annotated[
        Path | None, typer.Option(help="Times or counters of every launch, where no configuration is given.")
    ] = None,
    checkpoint: Annotated[
        str, typer.Option(help="builtin, or a file of `kernelpoint lab train`, where no configuration is given.")
    ] = "builtin",
    seed: Annotated[int, typer.Option(min=0, help="The seed, where no configuration is given.")] = 0,
    accept: Annotated[
        list[str] | None, typer.Option(help="A kind of finding that does not refuse the input; once for each.")
    ] = None,
    clusters: Annotated[
        bool,
        typer.Option("--clusters", help="Only show the clusters that the policy makes without the fast model."),
    ] = False,
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
    """Plan a sampled run: read every launch once, predict, draw the first sample, and forecast the cost at several error
    budgets.

    Prints defects of the traces, as `kernelpoint check` does. Exit codes: 3 the input is refused; 4 no error budget can be met,
    because too many traces cannot be read.

    The plan is stored in the cache, where a run of the same list, GPU, policy and seed finds it; -o also writes it to a file.

    Example: kernelpoint plan traces/kernelslist.g --config kernelpoint.yaml --gpu gpgpusim.config
    """
    from kernelpoint.cli.planning import made_plan, save, show_clusters  # not for --help
    from kernelpoint.config import load_config, parse_config

    if output is not None and (not output.parent.is_dir() or output.is_dir()):
        raise ConfigError(f"--output: cannot write {output}; give a file in a folder that exists")
    keys = {"version": 1, "policy": policy, "seed": seed, "profile": profile and str(profile)}
    keys["encoder"] = {"checkpoint": checkpoint}
    settings = load_config(config) if config else parse_config(keys, "options")
    settings = replace(settings, accept=[*settings.accept, *(accept or [])])
    if clusters:
        settings = replace(settings, fast_model="off")
    made = made_plan(traces, settings, gpu or [], "`profile:`" if config else "--profile", workers, cluster)
    if clusters:
        show_clusters(made, output)
    else:
        save(made, output, settings, named_gpu=bool(gpu))

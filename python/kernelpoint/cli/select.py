"""`kernelpoint select`: draw the launches to trace, before any is traced."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from kernelpoint.admission import admitted_profile, check_kinds
from kernelpoint.cli.console import log, say
from kernelpoint.config import load_config, parse_config
from kernelpoint.errors import ConfigError
from kernelpoint.progress import elapsed_time
from kernelpoint.selection import draw, read_census, tracers, tracing_costs, write_output
from kernelpoint.selection.census import with_profile
from kernelpoint.selection.lists import join_lists


def select(
    census: Annotated[
        list[Path],
        typer.Argument(
            help="A launch census (stats_ctx_0x... of Accel-Sim's tracer, kernel_names.txt of MacSim's), one for each CUDA "
            "context; or a profile in its place. With --join, folders of traces, each of one tracer run."
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the selection and the tracer's input.")],
    profile: Annotated[
        Path | None, typer.Option(help="Times or counters of the launches (nsys, ncu, PyTorch), beside a census.")
    ] = None,
    config: Annotated[
        Path | None, typer.Option("--config", "-c", help="The run's configuration: policy, seed, error budget.")
    ] = None,
    relative_error: Annotated[float, typer.Option(help="The error budget, where no configuration is given.")] = 0.01,
    seed: Annotated[int, typer.Option(help="Same seed, same launches, where no configuration is given.")] = 0,
    spare: Annotated[
        float, typer.Option(min=1.0, help="Launches traced for each launch of the first pass, in every stratum.")
    ] = 2.0,
    tracer: Annotated[
        str | None, typer.Option(help="accelsim or macsim: whose numbers the launches of a profile have.")
    ] = None,
    accept: Annotated[
        list[str] | None, typer.Option(help="A kind of finding that does not refuse the input; once for each.")
    ] = None,
    join: Annotated[
        bool, typer.Option(help="Choose nothing: write one list, with links to the traces of several tracer runs.")
    ] = False,
) -> None:
    """Choose the launches to trace from a census or a profile, and write the tracer's input.

    Of each stratum (names, shapes, neighbours) the launches of the first pass are traced,
    and spare ones for later passes. Forecasts launches, disk space and simulation time. The folder
    gets selection.kpselect for the run, the tracer's files, and trace.sh, which runs the tracer.

    Example: kernelpoint select stats_ctx_0x5d0 -o drawn --relative-error 0.05
    """
    if join:
        launches = join_lists(census, output)
        say(f"{output}: {launches:,} launches of {len(census)} tracer runs")
        return
    if tracer is not None and tracer not in tracers():
        raise ConfigError(f"--tracer: got {tracer!r}; allowed: {', '.join(tracers())}")
    if profile is not None and len(census) > 1:
        raise ConfigError(
            f"--profile: got {len(census)} censuses (lists of launches, one for each CUDA context); allowed with a "
            "profile: one. Call `kernelpoint select` for each"
        )
    if not math.isfinite(spare):
        raise ConfigError(f"--spare: got {spare}; allowed: a number of 1 or more")
    stems = [path.stem for path in census]
    if twice := sorted({stem for stem in stems if stems.count(stem) > 1}):
        raise ConfigError(f"{twice[0]}: two censuses have this name, so their launches would share a folder; rename one file")
    keys = {"version": 1, "policy": "kernelpoint", "seed": seed, "error_budget": {"relative_error": relative_error}}
    settings = load_config(config) if config else parse_config(keys, "options")
    check_kinds(accept or (), "--accept")
    settings = replace(settings, accept=[*settings.accept, *(accept or ())])
    for path in census:
        with elapsed_time(f"reading {path.name}", log):
            counted = read_census(path, tracer, log, settings.accept)
        if profile is not None:
            with elapsed_time(f"reading {profile.name}", log):
                times = admitted_profile(profile, settings.accept, log, prefix="")
                counted = with_profile(counted, times, log, settings.accept)
        with elapsed_time("drawing", log):
            selection, drawn = draw(counted, settings, spare, log)
        files = write_output(output if len(census) == 1 else output / path.stem, selection)
        for line in tracing_costs(counted, drawn, selection.traced):
            log(line)
        for file in files:
            say(file)

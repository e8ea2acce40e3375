"""`kernelpoint file init`: a commented configuration file, and the next commands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kernelpoint.cli.console import say
from kernelpoint.config.reference import commented_yaml
from kernelpoint.errors import ConfigError, did_you_mean
from kernelpoint.simulators import simulators

HOST = ("kernelpoint-host -trace kernelslist.g -config v100 -kernel_sampling {file}",)


def init(
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write.")] = Path("kernelpoint.yaml"),
    simulator: Annotated[
        str, typer.Option(help="Show the next steps of this simulator: accelsim, macsim or host.")
    ] = "accelsim",
    expert: Annotated[bool, typer.Option("--expert", help="Write every key, not those for every day alone.")] = False,
) -> None:
    """Write a commented configuration file.

    Example: kernelpoint file init --simulator macsim
    """
    steps = {**{each.name: each.next_steps for each in simulators()}, "host": HOST}
    if simulator not in steps:
        raise ConfigError(f"--simulator: got {simulator!r}{did_you_mean(simulator, steps)}; allowed: {', '.join(steps)}")
    try:
        with output.open("x", encoding="utf-8") as file:
            file.write(commented_yaml(expert))
    except FileExistsError:
        raise ConfigError(f"{output} exists; nothing was written. Name another file with -o, or remove it") from None
    lines = [*(line.format(file=output) for line in steps[simulator]), "kernelpoint report run.kpjournal"]
    say(f"wrote {output}. Next:\n" + "\n".join(f"  {line}" for line in lines))

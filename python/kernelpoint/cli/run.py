"""`kernelpoint run`: one run of a simulator on many processes or machines."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Simulator = Annotated[
    list[str], typer.Argument(help="The simulator's command, behind --.", metavar="-- SIMULATOR OPTIONS...")
]


def run(
    command: Simulator,
    config: Annotated[
        Path | None,
        typer.Option("--config", "-c", help="The configuration, where the simulator's command names none."),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Simulators at once; default: as many as cores and memory allow.")
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            help="A file in dask-jobqueue's configuration (Slurm, PBS, ...), or the address of a Dask scheduler."
        ),
    ] = None,
) -> None:
    """Simulate one run with many simulators at once: on this machine, on a batch system, on a Dask cluster.

    Example: kernelpoint run -c kernelpoint.yaml --workers 16 -- accel-sim.out -trace kernelslist.g -config gpgpusim.config
    """
    from kernelpoint.coordinator.engine import open_engine
    from kernelpoint.coordinator.run import run as run_all

    def say(line: str) -> None:
        typer.echo(line, err=True)

    def open_workers(memory: int):  # type: ignore[no-untyped-def]
        return open_engine(workers, cluster, memory, lambda line: say(f"kernelpoint: {line}"))

    raise typer.Exit(run_all(command, str(config) if config else None, open_workers, say))

"""`kernelpoint run`: one run of a simulator, or a sweep of them, on many processes or machines."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelpoint.cli.console import say, show
from kernelpoint.errors import ConfigError
from kernelpoint.extras import needs_extra

if TYPE_CHECKING:
    from kernelpoint.coordinator.simulations import DaskPool


def run(
    command: Annotated[list[str], typer.Argument(help="The simulator's command, after --.", metavar="-- SIMULATOR OPTIONS...")],
    config: Annotated[
        Path | None,
        typer.Option("--config", "-c", help="The configuration, if the simulator's command names none."),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(min=1, max=65_536, help="Simulators at once; default: as many as cores and memory allow."),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(help="A file in dask-jobqueue's configuration (Slurm, PBS, ...), or the address of a Dask scheduler."),
    ] = None,
    sweep: Annotated[
        list[str] | None,
        typer.Option(
            help="Configurations of the simulated GPU to compare: files, each in the place of {} in the command; "
            "or a YAML file with a list of values for each option."
        ),
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Of a sweep: write the table as a page here.")] = None,
) -> None:
    """Simulate one run with many simulator processes: on this machine, on a batch system, or on a Dask cluster.

    Example: kernelpoint run -c kernelpoint.yaml --workers 16 -- accel-sim.out -trace kernelslist.g -config gpgpusim.config
    """
    with needs_extra("Dask"):
        import_module("distributed")
    from kernelpoint.coordinator.run import run as run_all

    more, command = _split(command, sys.argv)
    if more and not sweep:
        raise ConfigError(
            f"got {more[0]!r} before --; allowed there: options of kernelpoint; the simulator's command follows --"
        )
    if output is not None and not sweep:
        raise ConfigError("--output: allowed only with --sweep; `kernelpoint report` writes the page of one run")

    def opened(memory: int) -> DaskPool:
        from kernelpoint.coordinator.dask_pool import open_pool

        return open_pool(workers, cluster, memory, lambda line: say(f"kernelpoint: {line}"))

    path = str(config) if config else None
    if not sweep:
        raise typer.Exit(run_all(command, path, opened, say))
    from kernelpoint.coordinator.sweep import run_sweep
    from kernelpoint.files import write_output
    from kernelpoint.report.pairs import sweep_page, sweep_table

    rows = run_sweep(command, [*sweep, *more], path, opened, say)
    show(sweep_table(rows))
    if output is not None:
        write_output(output, sweep_page(rows))


def _split(words: list[str], line: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split words at --: files of a shell pattern after --sweep, and the simulator's command.

    >>> _split(["b.config", "sim", "-x"], ["kernelpoint", "run", "--sweep", "a.config", "b.config", "--", "sim", "-x"])
    (['b.config'], ['sim', '-x'])
    """
    if "--" not in line:
        return [], words
    behind = len(line) - list(line).index("--") - 1
    return words[: len(words) - behind], words[len(words) - behind :]

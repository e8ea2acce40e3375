"""`kernelpoint demo`: one workload simulated in full and sampled, one table, one page of pictures."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from kernelpoint.cli.console import say, show
from kernelpoint.cli.host import program
from kernelpoint.errors import HostError, JournalError
from kernelpoint.files import open_output, write_output
from kernelpoint.journal import Run, load_run
from kernelpoint.pages.numbers import error, factor, number, percent, share
from kernelpoint.pages.tables import Column, Row, Table
from kernelpoint.progress import duration
from kernelpoint.report.page import html_page
from kernelpoint.report.result import FullRun, result_of
from kernelpoint.session.verdict import SAMPLING_ERROR, verdict

CONFIGURATION = """\
version: 1
policy: {policy}
error_budget: {{relative_error: {budget}, confidence: 0.95}}
journal: {journal}
resume: never
seed: 0
"""
NEXT = f"""
Your own traces, with the embedded host:
  {Path(sys.executable).parent}/kernelpoint file init --simulator host
  {Path(sys.executable).parent}/kernelpoint-host -trace kernelslist.g -config v100 -kernel_sampling kernelpoint.yaml
Your own simulator: {Path(sys.executable).parent}/kernelpoint patch accelsim CHECKOUT
"""


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for traces, journals and the report.")] = Path(
        "out/demo"
    ),
    launches: Annotated[int, typer.Option(help="Launches of the synthesised workload, about.", min=100)] = 3000,
    budget: Annotated[float, typer.Option(help="Relative error allowed.", min=0.0001, max=0.5)] = 0.01,
    policy: Annotated[str, typer.Option(help="The sampling policy.")] = "kernelpoint",
    gpu: Annotated[str, typer.Option(help="The simulated GPU: v100, rtx, or a file.")] = "v100",
) -> None:
    """Simulate a synthesised workload in full and sampled, and write a report.

    Example: kernelpoint demo --launches 1000 --budget 0.02
    """
    output.mkdir(parents=True, exist_ok=True)
    traces = _traces(output, launches)
    say("2. The full run: every launch is simulated.")
    full, full_seconds = _simulate(output, traces, gpu, "all", budget)
    plan_seconds = _plan(output, traces, policy, budget, gpu)
    say("4. The sampled run: the same command with another policy.")
    sampled, seconds = _simulate(output, traces, gpu, policy, budget)
    truth = FullRun.beside(sampled, full)
    show(_table(full, sampled, truth, full_seconds, seconds, plan_seconds))
    of_truth = truth.sentence()
    say(f"Sampled run: {verdict(sampled.ended())}.\n{of_truth[0].upper()}{of_truth[1:]}.")
    page = output / "report.html"
    write_output(page, html_page(result_of(sampled, full)))
    say(f"Pictures: {page}")
    say(NEXT)
    say("The embedded host is not validated against hardware: its cycles show the method, not a GPU.")


def _traces(output: Path, launches: int) -> Path:
    """Trace list of the demo's workload; it is written if an earlier demo has not done so."""
    from kernelpoint_lab.commands.synth import synth

    folder = output / f"transformer-decode-{launches}"
    if not (folder / "workload.json").exists():  # written last
        say(f"1. Writing {launches:,} launches of a transformer that decodes tokens.")
        synth("transformer-decode", folder, launches=launches, force=True)
    return folder / "kernelslist.g"


def _plan(output: Path, traces: Path, policy: str, budget: float, gpu: str) -> float:
    """Plan the demo's run, and return the seconds that this takes; the sampled run uses the plan."""
    from kernelpoint.config import load_config
    from kernelpoint.fast_model.configuration import configuration_of_host
    from kernelpoint.session.setup import prepare
    from kernelpoint.workload.host_info import HostInfo

    config = load_config(_configuration(output, policy, budget))
    started = time.monotonic()
    say("3. Planning: reading every launch once, predicting with a fast model of another GPU.")
    host = HostInfo("kernelpoint-host", config_hash=configuration_of_host(gpu).hash, list_paths=(str(traces),))
    prepare(config, host, lambda line: say(f"   {line}"))
    return time.monotonic() - started


def _configuration(output: Path, policy: str, budget: float) -> Path:
    path = output / f"{policy}.yaml"
    write_output(path, CONFIGURATION.format(policy=policy, budget=budget, journal=output / f"{policy}.kpjournal"))
    return path


def _simulate(output: Path, traces: Path, gpu: str, policy: str, budget: float) -> tuple[Run, float]:
    """Simulate the demo's workload; returns the run, and its wall time in seconds."""
    config = _configuration(output, policy, budget)
    command = [str(program()), "-trace", str(traces), "-config", gpu, "-kernel_sampling", str(config)]
    started = time.monotonic()
    log, pipe = output / f"{policy}.log", subprocess.PIPE
    with (
        open_output(log) as file,
        subprocess.Popen(command, stdout=pipe, stderr=subprocess.STDOUT, text=True) as process,
    ):
        for line in process.stdout or ():
            file.write(line)
            if line.startswith("kernelpoint: "):
                say(f"   {line.rstrip()}")
    seconds = time.monotonic() - started
    if process.returncode:
        raise HostError(f"the simulation with policy {policy} ended with exit code {process.returncode}; its output: {log}")
    return load_run(output / f"{policy}.kpjournal"), seconds


def _table(full: Run, sampled: Run, truth: FullRun, full_seconds: float, seconds: float, plan_seconds: float) -> Table:
    f, s, with_plan = full.ended(), sampled.ended(), seconds + plan_seconds
    if s.estimate is None or f.estimate is None or s.cycle_speedup is None:
        raise JournalError(
            f"{sampled.path}: the demonstration failed: this run or the full run ended without an estimate; see the logs "
            "beside this file"
        )
    name = "bound on sampling error only" if s.bound_scope == SAMPLING_ERROR else "stated bound"
    bound = "none" if s.relative_half_width is None else f"± {percent(s.relative_half_width)} at {share(s.confidence)}"
    rows = [
        ("launches", number(f.launches), number(s.launches)),
        ("simulated", number(f.simulated), number(s.simulated)),
        ("passes", number(f.passes), number(s.passes)),
        ("total cycles", number(f.estimate), number(s.estimate)),
        ("error", "", error(truth.error)),
        ("  non-sampling error", "", error(truth.non_sampling_error)),
        (name, "exact", bound),
        ("cycle speedup", "1.0x", factor(s.cycle_speedup)),
        ("one launch per sequence, no bound", "", factor(s.one_per_stream_speedup)),
        ("wall time, planning included", duration(full_seconds), duration(with_plan)),
        ("  wall speedup", "1.0x", factor(full_seconds / with_plan)),
        ("wall time, plan in the cache", duration(full_seconds), duration(seconds)),
        ("  wall speedup", "1.0x", factor(full_seconds / seconds)),
    ]
    columns = (Column("", str), Column("full", str), Column(f"sampled ({sampled.policy})", str))
    return Table(columns, [Row(row) for row in rows], "The same workload, simulated in full and sampled")

"""The report of a run as one self-contained HTML page."""

from __future__ import annotations

import shlex
from datetime import datetime
from pathlib import Path

from kernelpoint.journal import Run
from kernelpoint.pages.page import Chart, Facts, Page, Text, Verdict
from kernelpoint.report.charts import charts
from kernelpoint.report.result import Result
from kernelpoint.report.tables import counter_table, finding_table, kernel_table, range_table
from kernelpoint.report.text import answers, caveats
from kernelpoint.session.verdict import EXACT, NOTHING, TOTAL_ERROR, verdict
from kernelpoint.simulators import options_of, simulator

SECTIONS = {
    "share": (
        "Where the cycles are",
        "Estimated cycles of each kernel. Click a bar, a mark or a row of the table to single out a kernel on the whole page.",
    ),
    "timeline": (
        "Simulated launches along the run",
        "Program order from left to right. Grey: the kernel has launches there. Blue: a launch that was simulated. "
        "Drag to move, scroll to zoom.",
    ),
    "passes": (
        "How the bound shrank",
        "The stated interval at the end of each pass. The run ends when the interval is within the error budget, which is the "
        "green band about the last estimate. Dashed: the full run's total, where it is given.",
    ),
    "map": (
        "Which launches are alike",
        "Each dot is one instruction sequence. Near dots are alike to the encoder. Larger dots stand for more launches.",
    ),
}

USUAL_FOLDERS = ("traces", "NO_ARGS")  # named so for every workload by tracers and their scripts


def html_page(result: Result) -> str:
    """HTML page with the report of a finished run."""
    run, made = result.run, charts(result)
    cycles, *others = (Chart(name, *texts, made.get(name)) for name, texts in SECTIONS.items())
    note = result.note or result.forecast
    blocks = [
        _verdict(result),
        Text([note]) if note else None,
        _facts(run),
        cycles,
        kernel_table(result),
        finding_table(run.ended().findings),
        *others,
        range_table(run),
        counter_table(run, result.truth),
        Text(caveats(run.ended()), "Assumptions, and what the bound does not cover"),
    ]
    title = f"{_workload(run)} on {_simulator(run)}"
    return Page(title, blocks, f"KernelPoint, {run.path.name}").html()


def _verdict(result: Result) -> Verdict:
    """First block of the page: the answer to "can I trust this number"."""
    s, truth = result.run.ended(), result.truth
    lines = [] if truth is None else [f"F{truth.sentence()[1:]}."]
    lines += [f"Degraded: {reason}" for reason in s.degraded[:3]]
    figure, _, claim = verdict(s).replace("+-", "±").partition("; ")
    has_interval = s.bound_scope not in (EXACT, NOTHING) and s.relative_half_width is not None
    interval = (s.relative_half_width or 0.0, s.relative_error) if has_interval else None
    colour = "warn"
    if s.estimate is None or s.bound_scope == NOTHING or (truth is not None and truth.inside is False):
        colour = "bad"
    elif (s.bound_scope == EXACT and not s.restarts) or (s.bound_scope == TOTAL_ERROR and s.met):
        colour = "good"
    return Verdict(figure, claim, lines, answers(result), interval, colour)


def _facts(run: Run) -> Facts:
    written = datetime.fromtimestamp(run.path.stat().st_mtime)
    values = {
        "policy, seed": f"{run.policy}, {run.setting('seed')}",
        "workload": _workload(run),
        "simulator": _simulator(run),
        "simulated GPU (hash)": _gpu(run),
        "KernelPoint, journal written": f"{run.header.kernelpoint}, {written:%Y-%m-%d %H:%M}",
    }
    return Facts(values, shlex.join(run.header.command or []))


def _workload(run: Run) -> str:
    """Name of the workload, from the folders of its trace lists; else the journal's name."""
    paths = [Path(name) for name in run.header.host.lists if name]
    folders = [path.parent if path.suffix in (".g", ".txt") else path for path in paths]
    names = [next((part for part in reversed(f.parts) if part not in USUAL_FOLDERS), f.name) for f in folders]
    return ", ".join(dict.fromkeys(name for name in names if name)) or run.path.stem


def _simulator(run: Run) -> str:
    host = run.header.host
    title = "the embedded host" if host.simulator == "kernelpoint-host" else simulator(host.simulator).title
    name = title or host.simulator
    version = f"version {host.version}" if host.version.isdecimal() else host.version
    return f"{name} ({version})" if version else name or "a simulator"


def _gpu(run: Run) -> str:
    """Name and SMs of the simulated GPU, from its configuration, and the hash that identifies it."""
    host = run.header.host
    options = {k: v.lstrip("= ").split(" ")[0] for k, v in options_of(host.configuration).items()}
    sms = options.get("sms") or simulator(host.simulator).sms(options)
    words = [options.get("name", ""), f"{sms} SMs" if sms else ""]
    text, config_hash = " ".join(filter(None, words)), (run.hashes.get("simulator_config") or "")[:12]
    return f"{text} ({config_hash})" if text and config_hash else text or config_hash or "-"

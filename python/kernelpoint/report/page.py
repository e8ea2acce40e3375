"""The report of a run as one self-contained HTML page: nothing is loaded from elsewhere."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from datetime import datetime
from html import escape
from pathlib import Path

from kernelpoint.journal import EstimateRecord, Run
from kernelpoint.report.charts import charts
from kernelpoint.report.full_run import FullRun, sentence
from kernelpoint.report.html import document, javascript, section, table
from kernelpoint.report.kernels import kernel_table, signed
from kernelpoint.report.ranges import range_tree
from kernelpoint.report.sentences import WEAK_NOTE, computed, is_weak, number, percent, sentences, total
from kernelpoint.report.view import RunView
from kernelpoint.session.earlier_run import options_of
from kernelpoint.session.verdict import EXACT, NOTHING, TOTAL_ERROR, open_launch, verdict

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

SIMULATORS = {"accelsim": "Accel-Sim", "macsim": "MacSim", "kernelpoint-host": "the embedded host"}
USUAL_FOLDERS = ("traces", "NO_ARGS")  # Accel-Sim's tracer and scripts name them so for every workload


def html_page(run: Run, view: RunView, note: str = "") -> str:
    """The whole page of a finished run; `note` names missing parts."""
    title = f"{_workload(run)} on {_simulator(run)}"
    specs = charts(view)
    drawn = specs if javascript() else {}
    top = f'<p class="soft">KernelPoint, {escape(run.path.name)}</p><h1>{escape(title)}</h1>'
    body = [top, _verdict(run, view), f"<p>{escape(note)}</p>" if note else "", _facts(run)]
    for name, (heading, caption) in SECTIONS.items():
        if name in drawn:
            body.append(section(name, heading, caption))
        if name == "share":
            body.append(kernel_table(view))
    body.append(range_tree(run))
    body += ["<h2>Every counter</h2>", counter_table(run, view.truth), _notes(run)]
    return document(title, "".join(body), specs)


def _verdict(run: Run, view: RunView) -> str:
    """The answer to "can I trust this number", first on the page."""
    s = run.ended()
    passes = "one pass" if s.passes == 1 else f"{s.passes} passes"
    lines = [f"{s.simulated:,} of {s.launches:,} kernel launches were simulated in {passes}."]
    if view.truth is not None:
        text = sentence(view.truth)
        lines.append(f"{text[0].upper()}{text[1:]}.")
    lines += [f"{text[0].upper()}{text[1:]}." for text in open_launch(s)]
    lines += [f"Degraded: {reason}" for reason in s.degraded[:3]]
    lines += [f"Not covered: {text}" for text in s.not_covered]
    text = "".join(f"<p>{escape(line)}</p>" for line in lines)
    figure, _, claim = verdict(s).replace("+-", "±").partition("; ")
    return (
        f'<div class="verdict {_trust(run, view)}"><b>{escape(figure)}</b><strong>{escape(claim)}</strong>{text}</div>'
    )


def _trust(run: Run, view: RunView) -> str:
    """Colour of the verdict: good, warn or bad."""
    s = run.ended()
    if s.estimate is None or s.bound_scope == NOTHING or (view.truth is not None and view.truth.inside is False):
        return "bad"
    return "good" if (s.bound_scope == EXACT and not s.restarts) or (s.bound_scope == TOTAL_ERROR and s.met) else "warn"


def _facts(run: Run) -> str:
    s = run.ended()
    written = datetime.fromtimestamp(run.path.stat().st_mtime)
    facts = {
        "cycle speedup": f"{s.cycle_speedup:.3g}x" if s.cycle_speedup else "-",
        "one launch per sequence (no bound)": f"{s.one_per_stream_speedup:.3g}x" if s.one_per_stream_speedup else "-",
        "error budget": f"{100 * s.relative_error:g} % at {100 * s.confidence:g} %",
        "policy, seed": f"{run.policy}, {run.setting('seed')}",
        "workload": _workload(run),
        "simulator": _simulator(run),
        "simulated GPU (hash)": _gpu(run),
        "KernelPoint, journal written": f"{run.header.kernelpoint}, {written:%Y-%m-%d %H:%M}",
    }
    cells = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in facts.items())
    if run.header.command:
        line = shlex.join(run.header.command)
        cells += f'<div class="wide"><dt>the simulator\'s command</dt><dd><code>{escape(line)}</code></dd></div>'
    return f"<dl>{cells}</dl>"


def _workload(run: Run) -> str:
    """The folders of the trace lists, those that every workload has left out; else the journal's name."""
    paths = [Path(name) for name in run.header.host.lists if name] if run.header.host else []
    folders = [path.parent if path.suffix in (".g", ".txt") else path for path in paths]
    names = [next((part for part in reversed(f.parts) if part not in USUAL_FOLDERS), f.name) for f in folders]
    return ", ".join(dict.fromkeys(name for name in names if name)) or run.path.stem


def _simulator(run: Run) -> str:
    if (host := run.header.host) is None:
        return "a simulator"
    name = SIMULATORS.get(host.simulator, host.simulator)
    version = f"version {host.version}" if host.version.isdecimal() else host.version
    return f"{name} ({version})" if version else name


def _gpu(run: Run) -> str:
    """Name and SMs of the simulated GPU, from its configuration, and the hash that identifies it."""
    host = run.header.host
    told = {k: v.lstrip("= ").split(" ")[0] for k, v in options_of(host.configuration if host else "").items()}
    clusters, cores = told.get("-gpgpu_n_clusters", ""), told.get("-gpgpu_n_cores_per_cluster", "")
    per_cluster = str(int(clusters) * int(cores)) if clusters.isdecimal() and cores.isdecimal() else ""
    sms = told.get("sms") or told.get("num_sim_cores") or per_cluster
    words = [told.get("name", ""), f"{sms} SMs" if sms else ""]
    text, identity = " ".join(filter(None, words)), (run.hashes.get("simulator_config") or "")[:12]
    return f"{text} ({identity})" if text and identity else text or identity or "-"


def counter_table(run: Run, truth: FullRun | None = None) -> str:
    """HTML table of every counter's estimate, beside the full run where there is one; uncertain ones in grey."""
    totals = None if truth is None else truth.totals
    rows = [_estimate(name, row, totals) for name, row in run.estimates().items()]
    weak = any(is_weak(row) for row in run.estimates().values())
    note = f'<p class="soft">{escape(WEAK_NOTE.format("Grey"))}</p>' if weak else ""
    head = ["counter", "estimated total", "half-width", "computed", "simulated"]
    head += ["full run", "error"] if totals is not None else []
    return table(head, rows) + note


def _estimate(name: str, row: EstimateRecord, totals: Mapping[str, float] | None) -> str:
    kind, parts = ' class="weak"' if is_weak(row) else "", escape(name).replace("_", "_<wbr>")
    numbers = [total(row), percent(row.relative_half_width), computed(row), number(row.simulated)]
    if totals is not None:
        truth = totals.get(name)
        error = None if not truth or row.estimate is None else row.estimate / truth - 1.0
        numbers += [number(truth), signed(error, "+")]
    return f"<tr{kind}><td>{parts}</td>{''.join(f'<td>{text}</td>' for text in numbers)}</tr>"


def _notes(run: Run) -> str:
    items = "".join(f"<li>{escape(line)}</li>" for line in sentences(run)[1:])
    return f'<h2>Assumptions and sources</h2><ul class="soft">{items}</ul>'

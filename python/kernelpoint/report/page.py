"""The report of a run as one self-contained HTML page: no script, no font, no picture from elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

from kernelpoint.journal import Run, SummaryRecord
from kernelpoint.report.pictures import bound_as_it_shrinks, clusters_by_share, embedding_map, launches_along_the_run
from kernelpoint.report.sentences import sentences
from kernelpoint.report.svg import short
from kernelpoint.report.view import RunView
from kernelpoint.session.verdict import SAMPLING_ERROR, verdict

WIDE, NARROW = 860, 360  # pictures are drawn twice, so that text stays readable on a phone

STYLE = """
:root { --ink: #1d2129; --soft: #5c6470; --paper: #fff; --line: #d5d9e0; --card: #f5f7fa; --blue: #2a78d6; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8eaee; --soft: #a3abb8; --paper: #16191f; --line: #3a404b; --card: #20242c; --blue: #62a4f0; }
}
body { margin: 0 auto; max-width: 900px; padding: 20px; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: .2em 0; } h2 { font-size: 1.15rem; margin: 1.8em 0 .2em; }
p { margin: .4em 0; } .soft { color: var(--soft); font-size: .92rem; }
.numbers { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 10px; margin: 16px 0; }
.numbers div { background: var(--card); border-radius: 8px; padding: 10px 14px; }
.numbers b { display: block; font-size: 1.45rem; font-variant-numeric: tabular-nums; }
.numbers span { color: var(--soft); font-size: .85rem; }
svg { width: 100%; height: auto; display: block; } svg text { font: 13px system-ui, sans-serif; fill: var(--soft); }
svg text.strong { fill: var(--ink); font-weight: 600; }
.narrow { display: none; } @media (max-width: 620px) { .wide { display: none; } .narrow { display: block; } }
.axis { stroke: var(--soft); } .grid { stroke: var(--line); } .band { fill: var(--blue); fill-opacity: .18; }
.whisker { stroke: var(--blue); stroke-width: 2; } .truth { stroke: #d1453b; stroke-width: 1.5; stroke-dasharray: 6 4; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; font-variant-numeric: tabular-nums; }
.scroll { overflow-x: auto; } th, td { text-align: right; white-space: nowrap;
  padding: 4px 10px; border-bottom: 1px solid var(--line); }
th:first-child, td:first-child { text-align: left; }
"""


def html_page(run: Run, view: RunView, note: str = "") -> str:
    """The whole page of a finished run; `note` says what the page lacks."""
    title = f"KernelPoint: {run.path.stem}"
    sections = [
        _picture_section(
            "Which launches behave alike",
            "Each dot is one instruction stream; its place comes from the encoder, so near dots do nearly the same. Colours "
            "are clusters, larger dots stand for more launches.",
            lambda width: embedding_map(view, width),
        ),
        _picture_section(
            "What was simulated along the run",
            "One row per cluster, program order from left to right. Pale: the cluster has launches there. Full marks: "
            "launches that were simulated; all others were skipped and are estimated from them.",
            lambda width: launches_along_the_run(view, width),
        ),
        _picture_section(
            "How the bound shrank",
            f"The interval after each pass, around the final estimate. The green band is the error budget of "
            f"{100 * view.budget:g} %: the run ends once the interval fits inside. Very wide intervals are cut off.",
            lambda width: bound_as_it_shrinks(view, width),
        ),
        _picture_section(
            "Where the cycles are",
            "The largest clusters by share of the estimated total; in brackets launches simulated of launches there are.",
            lambda width: clusters_by_share(view, width),
        ),
    ]
    lead = f"<h1>{escape(title)}</h1>{_lead(run, view)}" + (f"<p>{escape(note)}</p>" if note else "")
    body = f"{lead}{_numbers(run, view)}{''.join(sections)}{_counters(run)}{_notes(run)}"
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head>'
        f"<body>{body}</body></html>\n"
    )


def _lead(run: Run, view: RunView) -> str:
    s = run.ended()
    if s.estimate is None:
        return "<p>This run states no estimate.</p>"
    sentence = f"<b>{escape(verdict(s))}</b>. {s.simulated:,} of {s.launches:,} kernel launches were simulated."
    if view.truth:
        error = 100 * (s.estimate / view.truth - 1)
        sentence += f" The full run took {view.truth:,.0f}: the estimate is off by {error:+.3f} %."
    return f"<p>{sentence}</p>"


def _numbers(run: Run, view: RunView) -> str:
    s = run.ended()
    boxes = [
        (f"{s.simulated:,} / {s.launches:,}", "launches simulated"),
        (f"{s.cycle_speedup:.3g}x" if s.cycle_speedup else "-", "cycle speedup"),
        (f"{100 * (s.relative_half_width or 0):.2g} %" if s.half_width is not None else "none", _name_of_bound(s)),
        (str(s.passes), "passes over the list"),
        (str(view.clusters), "clusters"),
    ]
    if s.one_per_stream_speedup:
        boxes.append((f"{s.one_per_stream_speedup:.3g}x", "one-per-stream speedup"))
    cells = "".join(f"<div><b>{escape(value)}</b><span>{escape(name)}</span></div>" for value, name in boxes)
    return f'<div class="numbers">{cells}</div>'


def _name_of_bound(summary: SummaryRecord) -> str:
    return "bound on sampling error only" if summary.covers == SAMPLING_ERROR else "stated bound"


def _picture_section(title: str, caption: str, draw: Callable[[int], str]) -> str:
    wide = draw(WIDE)
    if not wide:
        return ""
    pictures = f'<div class="wide">{wide}</div><div class="narrow">{draw(NARROW)}</div>'
    return f'<h2>{escape(title)}</h2><p class="soft">{escape(caption)}</p>{pictures}'


def _counters(run: Run) -> str:
    rows = ""
    for name, row in run.estimates().items():
        width = "-" if row.half_width is None else f"{100 * (row.relative_half_width or 0):.3f} %"
        total, simulated = ("-" if value is None else short(value) for value in (row.estimate, row.simulated))
        rows += f"<tr><td>{escape(name)}</td><td>{total}</td><td>{width}</td><td>{simulated}</td></tr>"
    head = "<tr><th>counter</th><th>estimated total</th><th>half-width</th><th>simulated</th></tr>"
    return f'<h2>Every counter</h2><div class="scroll"><table>{head}{rows}</table></div>'


def _notes(run: Run) -> str:
    items = "".join(f"<li>{escape(line)}</li>" for line in sentences(run))
    return f'<h2>Small print</h2><ul class="soft">{items}</ul>'

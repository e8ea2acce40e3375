"""The comparison as one self-contained HTML page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from kernelpoint.comparison.summary import Line
from kernelpoint.comparison.text import HEADINGS, LEGEND, cells
from kernelpoint.comparison.workload import Workload
from kernelpoint.report.page import STYLE
from kernelpoint.report.svg import Scale, circle, colour, line, picture, text

LEAST_ERROR = 1e-5  # drawn for anything smaller: the axis is logarithmic


def html_page(workloads: Sequence[Workload], lines: Sequence[Line], total: Sequence[Line]) -> str:
    """The whole page."""
    rows = sum(line.runs for line in lines)
    body = (
        "<h1>KernelPoint: sampling methods compared</h1>"
        f"<p>{len(workloads)} workloads, {rows:,} runs. Every run plans without the results, draws launches, looks up "
        "what the full run gave for them, and estimates the total of all launches.</p>"
        f"{_scatter_section(total)}{_section('Over all workloads', total)}"
        + "".join(_section(w.name, [line for line in lines if line.workload == w.name], w) for w in workloads)
        + f'<h2>Small print</h2><ul class="soft">{"".join(f"<li>{escape(item)}</li>" for item in LEGEND)}</ul>'
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>KernelPoint: comparison</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head>'
        f"<body>{body}</body></html>\n"
    )


def _section(title: str, lines: Sequence[Line], workload: Workload | None = None) -> str:
    about = ""
    if workload is not None:
        notes = "; ".join([f"{workload.size:,} launches, {workload.total:,.0f} {workload.counter}", *workload.notes])
        about = f'<p class="soft">{escape(notes)}</p>'
    head = "".join(f"<th>{escape(heading)}</th>" for heading in HEADINGS)
    body = ""
    for item in lines:
        parts = [escape(part) for part in cells(item)]
        if not item.runs:
            parts[-1] = f'<span class="soft">{parts[-1]}</span>'
            body += f'<tr><td>{parts[0]}</td><td>{parts[1]}</td><td colspan="{len(HEADINGS) - 2}">{parts[2]}</td></tr>'
        else:
            body += "<tr>" + "".join(f"<td>{part}</td>" for part in parts) + "</tr>"
    return f'<h2>{escape(title)}</h2>{about}<div class="scroll"><table><tr>{head}</tr>{body}</table></div>'


def _scatter_section(total: Sequence[Line]) -> str:
    points = [item for item in total if item.runs and item.harmonic > 0]
    if not points:
        return ""
    caption = (
        "Up and to the left is better: few cycles simulated, small error. One dot per policy and budget, over all workloads on "
        "which the policy ran; both axes are logarithmic."
    )
    pictures = f'<div class="wide">{_scatter(points, 860)}</div><div class="narrow">{_scatter(points, 360)}</div>'
    return f'<h2>Error against cycle speedup</h2><p class="soft">{escape(caption)}</p>{pictures}'


def _scatter(points: Sequence[Line], width: int) -> str:
    height = 380
    errors = [math.log10(max(item.error_mean, LEAST_ERROR)) for item in points]
    speeds = [math.log10(item.harmonic) for item in points]
    x = Scale(math.floor(min(errors)), math.ceil(max(errors)) or 1, 70, width - 20)
    y = Scale(0, max(1, math.ceil(max(speeds))), height - 46, 16)
    parts = [line(x.start, y.start, x.end, y.start), line(x.start, y.start, x.start, y.end)]
    for power in range(int(x.low), int(x.high) + 1):
        parts.append(text(x(power), height - 28, f"{100 * 10.0**power:g} %", "middle"))
        parts.append(line(x(power), y.start, x(power), y.end, "grid"))
    for power in range(int(y.high) + 1):
        parts.append(text(x.start - 8, y(power) + 4, f"{10**power:,}x", "end"))
        parts.append(line(x.start, y(power), x.end, y(power), "grid"))
    parts.append(text((x.start + x.end) / 2, height - 8, "mean error of the total", "middle"))
    names = list(dict.fromkeys(item.policy for item in points))
    labelled: set[str] = set()
    for item, error, speed in zip(points, errors, speeds, strict=True):
        numbers = f"{item.harmonic:.1f}x, error {100 * item.error_mean:.3f} %"
        tip = f"{item.policy}, budget {100 * item.relative_error:g} %: {numbers}"
        parts.append(circle(x(error), y(speed), 6, colour(names.index(item.policy)), tip))
        if item.policy not in labelled:
            parts.append(text(x(error) + 9, y(speed) - 6, item.policy, cls="strong"))
            labelled.add(item.policy)
    return picture(width, height, parts, "Error against cycle speedup of each policy")

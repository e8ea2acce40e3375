"""The comparison as one self-contained HTML page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from kernelpoint.comparison.summary import Line
from kernelpoint.comparison.text import HEADINGS, LEGEND, cells, refusals, share
from kernelpoint.comparison.workload import Workload
from kernelpoint.report.page import STYLE
from kernelpoint.report.svg import Scale, circle, colour, line, picture, text

WIDE = """
body { max-width: 1320px; } .wide { max-width: 860px; } li { margin: .2em 0; } ul { padding-left: 1.2em; }
th, td { padding: 4px 7px; } th { white-space: normal; vertical-align: bottom; }
td:first-child, th:first-child { position: sticky; left: 0; background: var(--paper); }
"""  # thirteen columns; the policy stays in view on a phone
LEAST_ERROR = 1e-5  # drawn for anything smaller: the axis is logarithmic


def html_page(workloads: Sequence[Workload], lines: Sequence[Line], total: Sequence[Line]) -> str:
    """The whole page."""
    rows = sum(line.runs for line in lines)
    body = (
        "<h1>KernelPoint: sampling methods compared</h1>"
        f"<p>{len(workloads)} workloads, {rows:,} runs. Every run plans from what is known beforehand (rows marked *: from the "
        "very times that they are judged on), chooses launches, looks up what the full run gave for them, and estimates the "
        "total of all launches.</p>"
        f"{_scatter_section(total)}{_section('Over all workloads', total)}"
        + "".join(_section(w.name, [line for line in lines if line.workload == w.name], w) for w in workloads)
        + f'<h2>Small print</h2><ul class="soft">{"".join(f"<li>{escape(item)}</li>" for item in LEGEND)}</ul>'
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>KernelPoint: comparison</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}{WIDE}</style></head>'
        f"<body>{body}</body></html>\n"
    )


def _section(title: str, lines: Sequence[Line], workload: Workload | None = None) -> str:
    about = ""
    if workload is not None:
        notes = "; ".join([f"{workload.size:,} launches, {workload.total:,.0f} {workload.counter}", *workload.notes])
        about = f'<p class="soft">{escape(notes)}</p>'
    head = "".join(f"<th>{escape(heading)}</th>" for heading in HEADINGS)
    rows = (cells(item) for item in lines if item.runs)
    body = "".join("<tr>" + "".join(f"<td>{escape(part)}</td>" for part in row) + "</tr>" for row in rows)
    refused = "".join(f"<li>{escape(reason)}</li>" for reason in refusals(lines))
    return f'<h2>{escape(title)}</h2>{about}<div class="scroll"><table><tr>{head}</tr>{body}</table></div>' + (
        f'<ul class="soft">{refused}</ul>' if refused else ""
    )


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
        tip = f"{item.policy}, budget {share(item.relative_error)}: {numbers}"
        parts.append(circle(x(error), y(speed), 6, colour(names.index(item.policy)), tip))
        if item.policy not in labelled:
            left = x(error) > width - 110  # a name that would leave the picture stands on the other side of its dot
            parts.append(
                text(x(error) + (-9 if left else 9), y(speed) - 6, item.policy, "end" if left else "start", "strong")
            )
            labelled.add(item.policy)
    return picture(width, height, parts, "Error against cycle speedup of each policy")

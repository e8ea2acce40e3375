"""The four pictures of a report: the embedding map, the launches along the run, the bound, the clusters' shares."""

from __future__ import annotations

import math

import numpy as np

from kernelpoint.report.svg import Scale, bar, circle, colour, line, path, picture, short, text
from kernelpoint.report.view import RunView

ROWS = 12  # clusters with a colour and a row of their own; the rest is drawn together
COLUMNS = 240  # time steps of the strip picture
CUT = 12  # intervals wider than this many error budgets are drawn cut off


def embedding_map(view: RunView, width: int) -> str:
    """Each dot is a stream: near dots look alike to the encoder, equal colours are one cluster, size is its launches."""
    if view.stream_map is None or not len(view.stream_map):
        return ""
    height = min(width * 0.62, 420)
    low, high = view.stream_map.min(axis=0), view.stream_map.max(axis=0)
    x = Scale(low[0], high[0], 22, width - 22)
    y = Scale(low[1], high[1], height - 22, 22)
    parts = []
    for stream in np.argsort(-view.stream_launches, kind="stable"):
        count = int(view.stream_launches[stream])
        radius = 3 + 2.2 * math.log10(max(count, 1))
        rank = int(view.rank_of_cluster[view.stream_cluster[stream]])
        tip = f"{view.stream_names[stream]}: {count:,} launches, cluster {int(view.stream_cluster[stream])}"
        where = view.stream_map[stream]
        parts.append(circle(x(where[0]), y(where[1]), radius, colour(rank), tip, 0.75))
    return picture(width, height, parts, "Map of the streams' embeddings, coloured by cluster")


def launches_along_the_run(view: RunView, width: int) -> str:
    """A row per cluster: pale where it has launches, a full mark where one was simulated."""
    rows = min(ROWS, view.clusters) + (1 if view.clusters > ROWS else 0)
    step, top = 22, 8
    height = top + rows * step + 26
    left = 8
    x = Scale(0, view.launches, left, width - 8)
    parts = []
    row_of = np.minimum(view.rank_of_cluster[view.cluster_of_launch], ROWS)
    cell = max((width - 16) / COLUMNS, 1)
    for row in range(rows):
        units = np.flatnonzero(row_of == row)
        y = top + row * step
        counts = np.bincount((units * COLUMNS) // max(view.launches, 1), minlength=COLUMNS)
        for column in np.flatnonzero(counts):
            opacity = 0.18 + 0.3 * counts[column] / counts.max()
            parts.append(bar(left + column * cell, y, cell + 0.3, step - 6, colour(row), "", round(float(opacity), 2)))
        for unit in units[view.simulated[units]]:
            parts.append(bar(x(unit) - 0.8, y - 1, 1.8, step - 4, colour(row), f"launch {unit}: simulated"))
    parts += _bottom_axis(x, height - 24, view.launches)
    return picture(width, height, parts, "Launches along the run by cluster; simulated ones are marked")


def bound_as_it_shrinks(view: RunView, width: int) -> str:
    """The estimate and its interval after each pass, as a difference from the final estimate in per cent."""
    looks = [look for look in view.looks if look.half_width is not None]
    if not looks or not view.estimate:
        return ""
    height, left = 230, 58
    relative = [100 * (look.estimate / view.estimate - 1) for look in looks]
    widths = [100 * (look.half_width or 0.0) / view.estimate for look in looks]
    truth = None if view.truth is None else 100 * (view.truth / view.estimate - 1)
    widest = max(abs(r) + w for r, w in zip(relative, widths, strict=True))
    reach = min(max(widest, abs(truth or 0), 130 * view.budget), CUT * 100 * view.budget)
    widths = [min(w, reach) for w in widths]
    last = max(look.simulated for look in looks)
    x = Scale(0, last * 1.04, left, width - 12)
    y = Scale(-1.08 * reach, 1.08 * reach, height - 30, 10)
    parts = [
        bar(
            left,
            y(100 * view.budget),
            width - 12 - left,
            y(-100 * view.budget) - y(100 * view.budget),
            "#1c9a6c",
            "",
            0.12,
        )
    ]
    parts += [
        line(left, y(t), width - 12, y(t), "grid") + text(left - 6, y(t) + 4, f"{t:+.3g} %", "end") for t in y.ticks()
    ]
    upper = [(x(k.simulated), y(r + w)) for k, r, w in zip(looks, relative, widths, strict=True)]
    lower = [(x(k.simulated), y(r - w)) for k, r, w in zip(looks, relative, widths, strict=True)]
    if len(looks) > 1:
        parts.append(path(upper + lower[::-1], "band", closed=True))
    for (px, high), (_, low) in zip(upper, lower, strict=True):
        parts += [line(px, high, px, low, "whisker"), circle(px, (high + low) / 2, 3.5, "#2a78d6")]
    if truth is not None:
        parts.append(
            line(left, y(truth), width - 12, y(truth), "truth") + text(width - 14, y(truth) - 5, "full run", "end")
        )
    parts += _bottom_axis(x, height - 28, last, "launches simulated")
    return picture(width, height, parts, "The interval of the estimate after each pass")


def clusters_by_share(view: RunView, width: int) -> str:
    """Share of the estimated cycles of the largest clusters, with launches and how many of them were simulated."""
    order = np.argsort(view.rank_of_cluster)[:ROWS]
    step = 38
    height = len(order) * step + 6
    x = Scale(0, max(float(view.share[order].max()), 1e-9) if len(order) else 1.0, 8, width - 70)
    parts = []
    for row, cluster in enumerate(order):
        y = row * step
        share = float(view.share[cluster])
        name = view.cluster_names[cluster]
        room = int(width / 8.2)
        caption = f"{name if len(name) <= room - 26 else name[: room - 27] + '…'}"
        caption += f"  ({int(view.cluster_simulated[cluster]):,} of {int(view.cluster_launches[cluster]):,})"
        parts.append(text(8, y + 13, caption))
        parts.append(bar(8, y + 18, x(share) - 8, 12, colour(row), f"{name}: {100 * share:.2f} % of the cycles"))
        parts.append(text(x(share) + 6, y + 28, f"{100 * share:.1f} %", cls="strong"))
    return picture(width, height, parts, "Clusters by share of estimated cycles")


def _bottom_axis(x: Scale, y: float, last: float, name: str = "launch index") -> list[str]:
    parts = [line(x.start, y, x.end, y)]
    for tick, anchor in ((0.0, "start"), (last / 2, "middle"), (last, "end")):
        parts.append(text(x(tick), y + 16, short(tick) if tick != last / 2 else f"{name}", anchor))
    return parts

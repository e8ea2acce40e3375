"""The charts of a run as figures for a paper: PDF and SVG, drawn with Matplotlib (extra `figures`)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelpoint.extras import needs_extra
from kernelpoint.files import open_output_bytes
from kernelpoint.journal import Run
from kernelpoint.report.charts import BLUE, GREY, ROWS, VERMILION, kernel_colours
from kernelpoint.report.view import OTHERS, Kernel, RunView, view_run
from kernelpoint.report.write import plan_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH = 3.4  # inches: a column of a page of two
ROW, FRAME = 0.16, 0.5  # inches: of a kernel, and of the axis below
LONGEST = 26  # letters of a kernel's name
STYLE: Any = {
    "font.size": 7,
    "axes.linewidth": 0.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.major.width": 0.5,
    "ytick.major.width": 0.5,
    "pdf.fonttype": 42,  # letters that a publisher's checks accept
    "svg.fonttype": "none",  # letters stay text
    "svg.hashsalt": "kernelpoint",  # the same run gives the same bytes
}


def write_figures(run: Run, folder: Path, full_run: Run | None = None) -> list[Path]:
    """Write the figures of a finished run; returns the files.

    Raises:
        JournalError: the run has not ended; else as draw_figures.
    """
    return draw_figures(view_run(run, plan_of(run)[0], full_run), folder)


def draw_figures(view: RunView, folder: Path) -> list[Path]:
    """Write figures as `NAME.pdf` and `NAME.svg`, as wide as a column of a page of two; returns the files.

    share: estimated cycles of each kernel; timeline: launches of each kernel along the run, and which were simulated; passes:
    the stated interval after each pass; map: embeddings of the streams. A figure without data is left out.

    Raises:
        OSError: the folder cannot be made or written.
        SetupError: the extra `figures` is not installed.
    """
    with needs_extra("--figures"):
        import matplotlib
        from matplotlib.figure import Figure
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    with matplotlib.rc_context(STYLE):
        for name, draw in DRAWN.items():
            figure = Figure(figsize=(WIDTH, 2.2), layout="constrained")
            if not draw(view, figure):
                continue
            for kind, date in (("pdf", "CreationDate"), ("svg", "Date")):
                path = folder / f"{name}.{kind}"
                with open_output_bytes(path) as file:
                    figure.savefig(file, format=kind, metadata={date: None})
                files.append(path)
    return files


def _share(view: RunView, figure: Figure) -> bool:
    """Bars, the largest on top."""
    kernels, rest = view.kernels[:ROWS], view.kernels[ROWS:]
    if not kernels:
        return False
    shares = [*(k.share for k in kernels), *([sum(k.share for k in rest)] if rest else [])]
    axes = _rows(figure, kernels, f"{OTHERS} ({len(rest)})" if rest else None)
    axes.barh(range(len(shares)), [100.0 * share for share in shares], color=BLUE, height=0.7)
    axes.set_xlabel("share of the estimated cycles (%)")
    return True


def _timeline(view: RunView, figure: Figure) -> bool:
    """Grey where a kernel has launches, a blue mark where one was simulated."""
    kernels = view.kernels[:ROWS]
    if not kernels:
        return False
    row = np.minimum(view.kernel_of_launch, len(kernels))
    axes = _rows(figure, kernels, OTHERS if len(view.kernels) > ROWS else None)
    step = max(1, view.launches // 1000)
    for number in np.unique(row).tolist():
        places = np.unique(np.flatnonzero(row == number) // step) * step
        axes.broken_barh([(place, step) for place in places.tolist()], (number - 0.35, 0.7), color=GREY, lw=0)
    drawn = np.flatnonzero(view.simulated)
    axes.vlines(drawn, row[drawn] - 0.45, row[drawn] + 0.45, color=BLUE, lw=0.8)
    axes.set_xlim(0, view.launches)
    axes.set_xlabel("launch index (blue: simulated)")
    return True


def _passes(view: RunView, figure: Figure) -> bool:
    """The estimate with its interval after each pass, and the full run's total where it is known."""
    looks = [(number, look) for number, look in enumerate(view.looks, start=1) if look.half_width is not None]
    if not looks:
        return False
    axes = figure.add_subplot()
    numbers, ends = zip(*looks, strict=True)
    widths = [end.half_width for end in ends]
    axes.errorbar(numbers, [end.estimate for end in ends], yerr=widths, fmt="o", ms=3, lw=1, capsize=2, color=BLUE)
    if view.truth is not None:
        axes.axhline(view.truth.total, color=VERMILION, lw=1, ls="--", label="full run")
        axes.legend(frameon=False)
    axes.set_xticks(numbers)
    axes.set_xlim(0.5, numbers[-1] + 0.5)
    axes.set_xlabel("pass")
    axes.set_ylabel(f"estimated {view.counter}")
    return True


def _map(view: RunView, figure: Figure) -> bool:
    """A dot for each stream, as large as it has launches; the largest kernels by colour."""
    if view.stream_map is None or not len(view.stream_map):
        return False
    axes = figure.add_subplot()
    x, y = np.asarray(view.stream_map, dtype=float).T
    sizes = 4.0 + 6.0 * np.log1p(view.stream_launches)
    colour_of = kernel_colours(view)
    groups = np.array([name if name in colour_of else OTHERS for name in view.stream_names])
    for name, colour in colour_of.items():
        own = groups == name
        axes.scatter(x[own], y[own], s=sizes[own], color=colour, label=_cut(name), lw=0)
    axes.set_axis_off()
    figure.legend(loc="outside lower center", frameon=False, markerscale=0.8)
    figure.set_figheight(3.2)
    return True


DRAWN: dict[str, Callable[[RunView, Figure], bool]] = {
    "share": _share,
    "timeline": _timeline,
    "passes": _passes,
    "map": _map,
}


def _rows(figure: Figure, kernels: list[Kernel], last: str | None) -> Any:
    """Axes with a row for each kernel, the first on top."""
    names = [_cut(kernel.name) for kernel in kernels] + ([last] if last else [])
    figure.set_figheight(FRAME + ROW * len(names))
    axes = figure.add_subplot()
    axes.set_yticks(range(len(names)), names, parse_math=False)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(names) - 0.5, -0.5)
    return axes


def _cut(name: str) -> str:
    """A name short enough for a column.

    >>> _cut("ampere_sgemm_128x64_tn"), _cut("cutlass_80_tensorop_s1688gemm_128x128_16x5_nt_align4")
    ('ampere_sgemm_128x64_tn', 'cutlass_80_te…x5_nt_align4')
    """
    if len(name) <= LONGEST:
        return name
    return f"{name[: LONGEST // 2]}…{name[1 - LONGEST // 2 :]}"

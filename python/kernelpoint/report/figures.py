"""The charts of a run as figures for a paper: PDF and SVG (extra `report`)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kernelpoint.extras import needs_extra
from kernelpoint.files import write_output
from kernelpoint.journal import Run
from kernelpoint.report.charts import charts
from kernelpoint.report.view import RunView, view_run
from kernelpoint.report.write import plan_of

WIDTH = 326  # pixels, of which an inch has 96: a column of a page of two
LETTERS = 26  # of a kernel's name
SIZE = 9.5  # pixels, of letters: 7 points
STYLE: dict[str, Any] = {
    "font": "sans-serif",
    "view": {"stroke": None},
    "axis": {"grid": False, "labelFontSize": SIZE, "titleFontSize": SIZE, "titleFontWeight": "normal"},
    "legend": {"labelFontSize": SIZE},
}


def write_figures(run: Run, folder: Path, full_run: Run | None = None) -> list[Path]:
    """Write the figures of a finished run; returns the files.

    Raises:
        JournalError: the run has not ended; else as draw_figures.
    """
    return draw_figures(view_run(run, plan_of(run)[0], full_run), folder)


def draw_figures(view: RunView, folder: Path) -> list[Path]:
    """Write the charts of a run's page; a chart without data is left out. Arguments and errors as draw_specs."""
    return draw_specs(charts(view, LETTERS), folder)


def draw_specs(specs: Mapping[str, Any], folder: Path) -> list[Path]:
    """Write Vega-Lite charts as `NAME.pdf` and `NAME.svg`, as wide as a column of a page of two; returns the files.

    Raises:
        OSError: the folder cannot be made or written.
        SetupError: the extra `report` is not installed.
    """
    with needs_extra("--figures"):
        import vl_convert
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for name, spec in specs.items():
        paper = {**spec, "width": WIDTH, "autosize": {"type": "fit-x", "contains": "padding"}, "padding": 2}
        paper["config"] = STYLE
        for kind, convert in (("pdf", vl_convert.vegalite_to_pdf), ("svg", vl_convert.vegalite_to_svg)):
            files.append(folder / f"{name}.{kind}")
            write_output(files[-1], convert(paper))
    return files

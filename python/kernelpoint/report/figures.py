"""The charts of a run as figures for a paper: PDF and SVG (extra `report`)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kernelpoint.extras import needs_extra
from kernelpoint.files import write_output
from kernelpoint.report.charts import charts
from kernelpoint.report.view import RunView

WIDTH = 326  # pixels, of which an inch has 96: a column of a page of two
PANEL = 120  # pixels of one of two panels beside each other, without their axis
LETTERS = 26  # of a kernel's name
SIZE = 9.5  # pixels, of letters: 7 points
STYLE: dict[str, Any] = {
    "font": "sans-serif",
    "view": {"stroke": None},
    "axis": {"grid": False, "labelFontSize": SIZE, "titleFontSize": SIZE, "titleFontWeight": "normal"},
    "legend": {"labelFontSize": SIZE},
}


def draw_figures(view: RunView, folder: Path) -> list[Path]:
    """Write the charts of a run's page as files. A chart without data is left out. Arguments and errors as in draw_specs."""
    return draw_specs(charts(view, LETTERS), folder)


def draw_specs(specs: Mapping[str, Any], folder: Path) -> list[Path]:
    """Write Vega-Lite charts as `NAME.pdf` and `NAME.svg`, as wide as a column of a two-column page; returns the files.

    Raises:
        OSError: the folder cannot be made or written.
        SetupError: the extra `report` is not installed.
    """
    with needs_extra("--figures"):
        import vl_convert
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for name, spec in specs.items():
        paper = {**spec, "padding": 2, "config": STYLE}
        if "facet" in spec:  # panels have the width, two in a row
            paper["spec"] = {**spec["spec"], "width": PANEL, "height": PANEL}
        else:
            paper |= {"width": WIDTH, "autosize": {"type": "fit-x", "contains": "padding"}}
        for kind, convert in (("pdf", vl_convert.vegalite_to_pdf), ("svg", vl_convert.vegalite_to_svg)):
            files.append(folder / f"{name}.{kind}")
            write_output(files[-1], convert(paper))
    return files

"""Files of a run for a paper: its charts (PDF, SVG), a table of kernels (LaTeX), a sentence on the estimate, and BibTeX."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kernelpoint.extras import needs_extra
from kernelpoint.files import write_output
from kernelpoint.journal import Run
from kernelpoint.pages.numbers import factor, half_width, number, percent, share
from kernelpoint.pages.page import Spec
from kernelpoint.pages.tables import Column, Table, rows_of
from kernelpoint.report.charts import charts
from kernelpoint.report.result import Result
from kernelpoint.report.tables import largest_kernels
from kernelpoint.session.verdict import EXACT, NOTHING, SAMPLING_ERROR

ROWS = 10  # kernels with a row of their own
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
KERNELS = (
    Column("Kernel", str, of="name"),
    Column("Launches", of="launches"),
    Column("Simulated", of="simulated"),
    Column("Cycles", of="cycles.estimate"),
    Column("Half-width", of="cycles.half_width"),
    Column("Share", percent, of="share"),
)
BIBTEX = """\
@software{{kernelpoint,
  title = {{KernelPoint: sampled {{GPU}} simulation with measured error bounds}},
  author = {{{{The KernelPoint developers}}}},
  version = {{{version}}},
  year = {{2026}},
}}
"""


def write_paper(result: Result, folder: Path) -> list[Path]:
    """Write files for a paper: charts (PDF and SVG), `kernels.tex` (if the kernels have names), `sentence.txt` and
    `kernelpoint.bib`. Returns the files.

    Raises:
        OSError: a file cannot be written.
        SetupError: the extra `report` is not installed.
    """
    texts = {
        "kernels.tex": kernels_table(result).latex() if result.kernels else "",
        "sentence.txt": f"{sentence_of(result.run)}\n",
        "kernelpoint.bib": BIBTEX.format(version=result.run.header.kernelpoint),
    }
    figures = draw(charts(result, LETTERS), folder)
    files = [folder / name for name, text in texts.items() if text]
    for path in files:
        write_output(path, texts[path.name])
    return [*figures, *files]


def draw(made: Mapping[str, Spec], folder: Path) -> list[Path]:
    """Draw charts as `NAME.pdf` and `NAME.svg`, as wide as a column of a two-column page. Returns the files.

    Args:
        made: Vega-Lite chart by name.
        folder: folder of the files, made if it is missing.

    Raises:
        OSError: the folder cannot be made or written.
        SetupError: the extra `report` is not installed.
    """
    with needs_extra("--figures"):
        import vl_convert
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for name, chart in made.items():
        paper = {**chart, "padding": 2, "config": STYLE}
        if "facet" in paper:  # panels have the width, two in a row
            paper["spec"] |= {"width": PANEL, "height": PANEL}
        else:
            paper |= {"width": WIDTH, "autosize": {"type": "fit-x", "contains": "padding"}}
        for kind, convert in (("pdf", vl_convert.vegalite_to_pdf), ("svg", vl_convert.vegalite_to_svg)):
            files.append(folder / f"{name}.{kind}")
            write_output(files[-1], convert(paper))
    return files


def sentence_of(run: Run) -> str:
    """Sentence on a run for a paper: number of simulated launches, estimated total, its bound, and the errors that the bound
    covers.

    >>> import kernelpoint as kp
    >>> sentence_of(kp.simulate("traces/kernelslist.g", "run.kpjournal", policy="all"))
    'All 6 launches were simulated; the total is 15,170 cycles.'
    """
    s = run.ended()
    total = f"{number(s.estimate)} {s.counter}"
    if s.bound_scope == EXACT:
        return f"All {s.launches:,} launches were simulated; the total is {total}."
    sampled = (
        f"{s.simulated:,} of {s.launches:,} kernel launches were simulated with KernelPoint {run.header.kernelpoint} "
        f"(policy {run.policy}, seed {run.setting('seed')}), {factor(s.cycle_speedup)} fewer cycles than a full run"
    )
    if s.bound_scope == NOTHING or s.relative_half_width is None:
        return f"{sampled}; the estimated total is {total}, without a bound."
    errors = "of sampling" if s.bound_scope == SAMPLING_ERROR else "of sampling and replay"
    return (
        f"{sampled}; the estimated total is {total} ± {half_width(s.relative_half_width)} at {share(s.confidence)} "
        f"confidence. The bound covers the error {errors} against a full simulation, not the simulator's own."
    )


def kernels_table(result: Result) -> Table:
    """Table of the kernels with the most cycles; all other kernels are one row."""
    return Table(KERNELS, rows_of(KERNELS, largest_kernels(result, ROWS)))

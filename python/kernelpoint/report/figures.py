"""The charts of a run as figures for a paper: PDF and SVG."""

from __future__ import annotations

import json
from pathlib import Path

from kernelpoint.extras import needs_extra
from kernelpoint.journal import Run
from kernelpoint.report.charts import charts
from kernelpoint.report.view import view_run
from kernelpoint.report.write import plan_of

WIDTH = 420  # pixels of the plot; its labels come on top


def write_figures(run: Run, folder: Path, full_run: Run | None = None) -> list[Path]:
    """Write the charts of the run's page as `NAME.pdf` and `NAME.svg`; returns the files.

    Raises:
        JournalError: the run has not ended.
        OSError: the folder cannot be made or written.
        SetupError: the extra `report` is not installed.
    """
    with needs_extra("--figures"):
        import vl_convert

    folder.mkdir(parents=True, exist_ok=True)
    plan, _ = plan_of(run)
    specs = charts(view_run(run, plan, full_run))
    files = []
    for name, spec in specs.items():
        text = json.dumps(spec | {"width": WIDTH})
        for kind, content in (("pdf", vl_convert.vegalite_to_pdf(text)), ("svg", vl_convert.vegalite_to_svg(text))):
            path = folder / f"{name}.{kind}"
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
            files.append(path)
    return files

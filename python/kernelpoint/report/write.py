"""From a journal to a report page on disk."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kernelpoint.errors import ConfigError, PlanError
from kernelpoint.estimation import Design
from kernelpoint.files import write_output
from kernelpoint.journal import Run
from kernelpoint.randomness import permanent_random_numbers
from kernelpoint.report.page import html_page
from kernelpoint.report.view import view_run
from kernelpoint.workload.forecast import compared
from kernelpoint.workload.plan import Plan


def write_page(run: Run, path: Path, full_run: Run | None = None) -> None:
    """Write the HTML report of a finished run.

    Args:
        run: the sampled run.
        path: the page to write.
        full_run: a run of the same list with `policy: all`; its total is drawn beside the estimate.

    Raises:
        JournalError: the run has not ended, or the full run is of other traces or another simulated GPU.
        ConfigError: the page cannot be written there.
    """
    page = page_of(run, full_run)
    try:
        write_output(path, page)
    except OSError as error:
        raise ConfigError(f"--output: cannot write {path}: {error.strerror}") from None


def page_of(run: Run, full_run: Run | None = None) -> str:
    """The HTML report of a finished run; arguments and errors as write_page."""
    plan, note = plan_of(run)
    s = run.ended()
    expected = compared(plan.forecast, s.relative_error, s.simulated, s.cycle_speedup)
    return html_page(run, view_run(run, plan, full_run), note or expected or "")


def plan_of(run: Run) -> tuple[Plan, str]:
    """The plan of a run; without one, a single cluster of all launches, and a note if the run had more."""
    counts, seed, path = run.launches, run.setting("seed"), run.frozen.plan
    u = np.concatenate([permanent_random_numbers(seed, process, count) for process, count in enumerate(counts)])
    note = ""
    if path:
        try:
            return Plan.load(path, u), note
        except PlanError as error:
            note = f"The clusters are not shown, for the run's plan cannot be read any more: {error}"
    design = Design(strata=np.zeros(len(u), dtype=np.int32), first_sizes=np.ones(1, dtype=np.int64), u=u)
    return Plan(design=design, origin={}), note

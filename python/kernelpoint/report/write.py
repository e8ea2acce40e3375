"""From a journal to a report page on disk."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kernelpoint.errors import ConfigError, JournalError, PlanError
from kernelpoint.estimation import Design
from kernelpoint.journal import Run
from kernelpoint.randomness import permanent_random_numbers
from kernelpoint.report.page import html_page
from kernelpoint.report.view import view_run
from kernelpoint.session.plan import Plan


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
    run.ended()
    truth = _truth(run, full_run) if full_run else None
    plan, note = plan_of(run)
    page = html_page(run, view_run(run, plan, truth), note)
    try:
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"--output: cannot write {path}: {error.strerror}") from None


def plan_of(run: Run) -> tuple[Plan, str]:
    """The plan that a run used; one cluster of all launches, and a note where that is not what was, if there is no plan."""
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


def _truth(run: Run, full_run: Run) -> float:
    for key in ("traces", "simulator_config"):
        if run.hashes.get(key) != full_run.hashes.get(key):
            raise JournalError(
                f"{full_run.path}: not a run of the same launches on the same simulated GPU ({key} differs)"
            )
    counter = run.ended().counter
    total = full_run.estimates().get(counter)
    if full_run.ended().skipped or total is None or total.simulated is None:
        raise JournalError(f"{full_run.path}: not a full run of counter {counter}")
    return total.simulated

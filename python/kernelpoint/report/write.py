"""From a journal to a report page on disk."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kernelpoint.errors import ConfigError, JournalError, PlanError
from kernelpoint.estimation import Design
from kernelpoint.randomness import permanent_random_numbers
from kernelpoint.report.page import html_page
from kernelpoint.report.run import RunReport
from kernelpoint.report.view import view_run
from kernelpoint.session.journal import frozen_record
from kernelpoint.session.plan import Plan


def write_page(run: RunReport, path: Path, full_run: RunReport | None = None) -> None:
    """Write the HTML report of a finished run.

    Args:
        run: the sampled run.
        path: the page to write.
        full_run: a run of the same list with `policy: all`; its total is drawn beside the estimate.

    Raises:
        JournalError: the run has not ended, or the full run is of other traces or another simulated GPU.
        ConfigError: the page cannot be written there.
    """
    if not run.ended:
        raise JournalError(f"{run.path}: the run has not ended; a page needs its summary")
    truth = _truth(run, full_run) if full_run else None
    plan, note = plan_of(run)
    page = html_page(run, view_run(run, plan, truth), note)
    try:
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"--output: cannot write {path}: {error.strerror}") from None


def plan_of(run: RunReport) -> tuple[Plan, str]:
    """The plan that a run used; one cluster of all launches, and a note where that is not what was, if there is no plan."""
    first = frozen_record(run.records)
    counts, seed, path = first["launches"], first["config"]["seed"], first.get("plan")
    u = np.concatenate([permanent_random_numbers(seed, process, count) for process, count in enumerate(counts)])
    note = ""
    if path:
        try:
            return Plan.load(path, u), note
        except PlanError as error:
            note = f"The clusters are not shown, for the run's plan cannot be read any more: {error}"
    design = Design(strata=np.zeros(len(u), dtype=np.int32), first_sizes=np.ones(1, dtype=np.int64), u=u)
    return Plan(design=design, origin={}), note


def _truth(run: RunReport, full_run: RunReport) -> float:
    ours, theirs = frozen_record(run.records)["hashes"], frozen_record(full_run.records)["hashes"]
    for key in ("list", "traces", "simulator_config"):
        if ours.get(key) != theirs.get(key):
            raise JournalError(
                f"{full_run.path}: not a run of the same launches on the same simulated GPU ({key} differs)"
            )
    counters = full_run.estimates()
    if full_run.summary["skipped"] or run.summary["counter"] not in counters:
        raise JournalError(f"{full_run.path}: not a full run of counter {run.summary['counter']}")
    return float(counters[run.summary["counter"]]["simulated"])

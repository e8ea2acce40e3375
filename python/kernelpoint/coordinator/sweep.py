"""`kernelpoint run --sweep`: one plan and one seed on many simulated GPUs, compared with the first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import NamedTuple

from kernelpoint.config import Config, load_config
from kernelpoint.coordinator.command import with_option
from kernelpoint.coordinator.introduction import ask, check
from kernelpoint.coordinator.points import Point, points_of
from kernelpoint.coordinator.run import OpenEngine, Say, Workers, run_one
from kernelpoint.errors import ConfigError, JournalError
from kernelpoint.journal import EstimateRecord, Run, load_run
from kernelpoint.paired import compare_runs
from kernelpoint.report.html import document, table

HEADINGS = ("rank", "configuration", "total", "+-", "ratio to the first", "+-", "simulated")
NOTE = (
    "Ratios are of totals, from the launches drawn in both runs, each with its bound at the runs' confidence; a small total is "
    "a fast GPU. A rank marked = is not told from the one before it: the bound of their ratio holds 1."
)


class Ratio(NamedTuple):
    """Total over the first one's, and half-width; nan where none is stated."""

    value: float = math.nan
    half_width: float = math.nan


@dataclass(frozen=True)
class Row:
    """A configuration in the table. total, ratio: with their half-widths; tied: not told from the one ranked before it;
    note: why there is no ratio, or empty.
    """

    name: str
    total: EstimateRecord
    ratio: Ratio
    simulated: str
    rank: int = 0
    tied: bool = False
    note: str = ""


def run_sweep(
    command: Sequence[str], sweep: Sequence[str], config_path: str | None, open_engine: OpenEngine, say: Say
) -> list[Row]:
    """Run every configuration on the same workers; the ranked table.

    Raises:
        KernelPointError: as run.run, for each configuration before anything is simulated.
    """
    points = points_of(command, sweep)
    if len(points) < 2:
        raise ConfigError(f"--sweep {' '.join(sweep)}: got {len(points)} configurations; allowed: 2 or more")
    asked = []
    for point in points:
        whole, path = with_option(point.command, config_path)
        config = load_config(path)
        hello, memory = ask(whole)
        check(config, hello)
        asked.append((point, whole, config, hello, memory))
    workers = Workers(lambda: open_engine(max(memory for *_, memory in asked)))
    journals, plan = [], None
    try:
        for point, whole, config, hello, _ in asked:
            say(f"kernelpoint: configuration {point.name}")
            own = _config_of(config, point, plan)
            journals.append(run_one(whole, own, hello, workers, say).journal.path)
            plan = plan or load_run(journals[0]).header.plan
    finally:
        workers.close()
    return ranked([point.name for point in points], [load_run(path) for path in journals])


def _config_of(config: Config, point: Point, plan: str | None) -> Config:
    """The configuration of one point: a journal of its own, and the plan of the first."""
    journal = Path(config.journal)
    own = {"journal": str(journal.with_name(f"{journal.stem}.{point.name}{journal.suffix}"))}
    return config.model_copy(update=own if plan is None else {**own, "plan": plan})


def ranked(names: Sequence[str], runs: Sequence[Run]) -> list[Row]:
    """The table, smallest total first; where bounds do not tell neighbours apart the rank is marked."""
    counter = str(runs[0].setting("error_budget.counter"))
    rows = []
    for name, run in zip(names, runs, strict=True):
        summary = run.ended()
        ratio, note = (Ratio(1.0, 0.0), "") if run is runs[0] else _ratio(runs[0], run, counter)
        rows.append(
            Row(name, run.estimates()[counter], ratio, f"{summary.simulated:,} of {summary.launches:,}", note=note)
        )
    order = sorted(
        range(len(rows)), key=lambda i: rows[i].ratio.value if math.isfinite(rows[i].ratio.value) else math.inf
    )
    found: list[Row] = []
    for rank, i in enumerate(order, start=1):
        tied = bool(found) and _is_tied(runs[order[rank - 2]], runs[i], counter)
        found.append(Row(**{**rows[i].__dict__, "rank": found[-1].rank if tied else rank, "tied": tied}))
    return found


def _ratio(first: Run, second: Run, counter: str) -> tuple[Ratio, str]:
    """The paired ratio of the totals; nan with the reason where there is none."""
    try:
        rows = compare_runs(first, second).rows
    except JournalError as error:
        return Ratio(), str(error)
    found = next((row.ratio for row in rows if row.counter == counter), None)
    if found is None:
        return Ratio(), f"no ratio of {counter} is stated"
    return Ratio(found.value, found.half_width), ""


def _is_tied(first: Run, second: Run, counter: str) -> bool:
    """True unless the bound of the ratio tells the two apart."""
    ratio, _ = _ratio(first, second, counter)
    return not abs(ratio.value - 1.0) > ratio.half_width


def cells(row: Row) -> tuple[str, ...]:
    """A row as text, under HEADINGS."""
    return (
        f"{row.rank}{' =' if row.tied else ''}",
        row.name,
        _text(row.total.estimate, "{:,.0f}"),
        _text(row.total.half_width, "{:,.0f}"),
        _text(row.ratio.value, "{:.4f}"),
        _text(row.ratio.half_width, "{:.4f}"),
        row.simulated,
    )


def html_page(rows: Sequence[Row]) -> str:
    """The table as a page."""
    body = ("<tr>" + "".join(f"<td>{escape(part)}</td>" for part in cells(row)) + "</tr>" for row in rows)
    notes = "".join(f"<li>{escape(row.name)}: {escape(row.note)}</li>" for row in rows if row.note)
    return document(
        "KernelPoint: sweep",
        f"<h1>Configurations compared</h1>{table(HEADINGS, body)}"
        f'<p class="soft">{escape(NOTE)}</p><ul class="soft">{notes}</ul>',
        {},
    )


def _text(value: float | None, form: str) -> str:
    return form.format(value) if value is not None and math.isfinite(value) else "-"

"""`kernelpoint run --sweep`: one plan and one seed on many simulated GPUs, compared with the first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from kernelpoint.config import Config, load_config
from kernelpoint.coordinator.handshake import ask, check, with_option
from kernelpoint.coordinator.run import OpenEngine, Say, Workers, run_one
from kernelpoint.coordinator.sweep_configs import SweepConfig, sweep_configs
from kernelpoint.coordinator.sweep_table import Ratio, Row
from kernelpoint.errors import ConfigError, JournalError
from kernelpoint.journal import Run, load_run
from kernelpoint.paired import compare_runs


def run_sweep(
    command: Sequence[str], sweep: Sequence[str], config_path: str | None, open_engine: OpenEngine, say: Say
) -> list[Row]:
    """Run every configuration on the same workers; the ranked table.

    Raises:
        KernelPointError: as run.run, for each configuration before anything is simulated.
    """
    points = sweep_configs(command, sweep)
    if len(points) < 2:
        raise ConfigError(f"--sweep {' '.join(sweep)}: got {len(points)} configurations; allowed: 2 or more")
    asked = []
    for point in points:
        whole, path = with_option(point.command, config_path)
        config = load_config(path)
        hello, memory = ask(whole, say)
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


def _config_of(config: Config, point: SweepConfig, plan: str | None) -> Config:
    """The configuration of one point: a journal of its own, and the plan of the first."""
    journal = Path(config.journal)
    own = {"journal": str(journal.with_name(f"{journal.stem}.{point.name}{journal.suffix}"))}
    return config.model_copy(update=own if plan is None else {**own, "plan": plan})


def ranked(names: Sequence[str], runs: Sequence[Run]) -> list[Row]:
    """The table, smallest total first; neighbours whose bounds overlap share a marked rank."""
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
    """True if the interval of the ratio contains 1."""
    ratio, _ = _ratio(first, second, counter)
    return not abs(ratio.value - 1.0) > ratio.half_width

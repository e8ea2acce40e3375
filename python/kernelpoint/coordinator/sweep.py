"""`kernelpoint run --sweep`: one plan and one seed on many simulated GPUs, compared with the first."""

from __future__ import annotations

import glob
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kernelpoint.config import Config, load_config, read_yaml
from kernelpoint.coordinator.handshake import ask, check, with_option
from kernelpoint.coordinator.run import OpenEngine, Workers, run_one
from kernelpoint.errors import ConfigError, JournalError
from kernelpoint.estimate import Estimate
from kernelpoint.journal import Run, load_run
from kernelpoint.pages.numbers import is_finite, number, ratio
from kernelpoint.pages.page import Chart, Page, Verdict
from kernelpoint.pages.tables import Column, Row, Table
from kernelpoint.paired import compare_runs
from kernelpoint.progress import Log
from kernelpoint.simulators import simulators

MOST_POINTS = 10_000  # configurations of one sweep
PLACE = "{}"  # in the simulator's command: where the file of each configuration goes
COLUMNS = (
    Column("configuration", str),
    Column("rank", str),
    Column("total"),
    Column("half-width"),
    Column("ratio to the first", ratio),
    Column("half-width", ratio),
    Column("simulated"),
)
NOTE = (
    "Ratios are of totals, from the launches sampled in both runs, each with its bound at the runs' confidence; a "
    "small total is a fast GPU. A rank marked = is a tie with the one before it: the interval of their ratio contains 1."
)
CAPTION = "The total of each configuration with its stated interval, the smallest first."
BLUE = "#0072B2"
NOT_STATED = Estimate()


@dataclass(frozen=True)
class SweepRow:
    """Row of a sweep's table: one configuration of the simulated GPU and its estimate.

    Attributes:
        total: of the counter of the error budget.
        ratio: of the total to the first configuration's; nan where none is stated.
        simulated: number of launches.
        note: reason for a missing ratio, or empty.
        tied: equal to the one ranked before it, within the bound.
    """

    name: str
    total: Estimate
    ratio: Estimate
    simulated: int
    note: str
    rank: int = 0
    tied: bool = False


def run_sweep(
    command: Sequence[str], sweep: Sequence[str], config_path: str | None, open_engine: OpenEngine, say: Log
) -> list[SweepRow]:
    """Run every configuration on the same workers; returns the ranked table.

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
            of_point = _config_of(config, point, plan)
            journals.append(run_one(whole, of_point, hello, workers, say).journal.path)
            plan = plan or load_run(journals[0]).header.plan
    finally:
        workers.close()
    return ranked([point.name for point in points], [load_run(path) for path in journals])


def _config_of(config: Config, point: SweepConfig, plan: str | None) -> Config:
    """The configuration of one point: a journal of its own, and the plan of the first."""
    journal = Path(config.journal)
    keys = {"journal": str(journal.with_name(f"{journal.stem}.{point.name}{journal.suffix}"))}
    return config.model_copy(update=keys if plan is None else {**keys, "plan": plan})


def ranked(names: Sequence[str], runs: Sequence[Run]) -> list[SweepRow]:
    """Rank the runs by total, smallest first. Neighbours are marked as a tie if the interval of their ratio contains 1."""
    counter = str(runs[0].setting("error_budget.counter"))
    rows = []
    for name, run in zip(names, runs, strict=True):
        compared, note = (Estimate.exact(1.0), "") if run is runs[0] else _ratio(runs[0], run, counter)
        rows.append(SweepRow(name, run.estimates()[counter], compared, run.ended().simulated, note))
    values = [row.ratio.estimate if math.isfinite(row.ratio.estimate) else math.inf for row in rows]
    order = sorted(range(len(rows)), key=values.__getitem__)
    placed: list[SweepRow] = []
    for rank, i in enumerate(order, start=1):
        between = _ratio(runs[order[rank - 2]], runs[i], counter)[0] if placed else None
        tied = between is not None and not abs(between.estimate - 1.0) > between.half_width
        placed.append(replace(rows[i], rank=placed[-1].rank if tied else rank, tied=tied))
    return placed


def _ratio(first: Run, second: Run, counter: str) -> tuple[Estimate, str]:
    """The paired ratio of the totals; nan with the reason where there is none."""
    try:
        rows = compare_runs(first, second).rows
    except JournalError as error:
        return NOT_STATED, str(error)
    paired = next((row.ratio for row in rows if row.counter == counter), None)
    return (NOT_STATED, f"no ratio of {counter} is stated") if paired is None else (paired, "")


# ---- the table and its page -------------------------------------------------------------------------------------------


def sweep_table(rows: Sequence[SweepRow]) -> Table:
    """Table of the configurations, fastest simulated GPU first."""
    cells = []
    for row in rows:
        rank = f"{row.rank}{' =' if row.tied else ''}"
        bounded = (row.total.estimate, row.total.half_width, row.ratio.estimate, row.ratio.half_width)
        cells.append(Row((row.name, rank, *bounded, row.simulated)))
    notes = [NOTE, *(f"{row.name}: {row.note}" for row in rows if row.note)]
    return Table(COLUMNS, cells, "Every configuration", notes=notes)


def html_page(rows: Sequence[SweepRow]) -> str:
    """HTML page of a sweep: the fastest configuration, a chart of the totals, the table."""
    chart = Chart("totals", "Totals", CAPTION, _chart(rows))
    return Page("Configurations compared", [_verdict(rows), chart, sweep_table(rows)], "KernelPoint: sweep").html()


def _verdict(rows: Sequence[SweepRow]) -> Verdict:
    """The fastest configuration, or those of the first rank."""
    best = [row for row in rows if row.rank == rows[0].rank]
    total, width = rows[0].total.estimate, rows[0].total.half_width
    if len(best) == 1:
        claim, colour = "has the smallest total; the interval of its ratio to the next one excludes 1.", "cool"
    else:
        claim, colour = "are tied: the intervals of the ratios between neighbours contain 1.", "plain"
    lines = [f"{rows[0].name}: {number(total)} ± {number(width)}, {rows[0].simulated:,} launches simulated."]
    return Verdict(", ".join(row.name for row in best[:5]) + ", ..." * (len(best) > 5), claim, lines, colour=colour)


def _chart(rows: Sequence[SweepRow]) -> dict[str, Any]:
    """A dot and an interval for each configuration, in the order of the table."""
    import altair as alt  # here, because the table in the terminal does without

    stated = [(row.name, row.total.estimate, row.total.half_width) for row in rows if is_finite(row.total.estimate)]
    shown = [(name, total, width if is_finite(width) else 0.0) for name, total, width in stated]
    values = [{"name": n, "total": total, "low": total - w, "high": total + w} for n, total, w in shown]
    base = alt.Chart(alt.InlineData(values=values), width="container", height=alt.Step(22)).encode(
        y=alt.Y("name:N", sort=None, title=None, axis=alt.Axis(labelLimit=260)),
        tooltip=["name:N", alt.Tooltip("total:Q", format=",.0f")],
    )
    scale = alt.Scale(zero=False)
    left = alt.X("low:Q", title="total", scale=scale, axis=alt.Axis(tickCount=6, format="~s"))
    bars = base.mark_rule(strokeWidth=3, color=BLUE).encode(x=left, x2="high:Q")
    dots = base.mark_point(filled=True, size=80, opacity=1.0, color=BLUE).encode(x=alt.X("total:Q", scale=scale))
    return dict(alt.layer(bars, dots).to_dict())


# ---- configurations ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SweepConfig:
    """One configuration of the simulated GPU in a sweep, with its command.

    Attributes:
        name: in tables and in the journal's name.
        command: of the simulator.

    >>> SweepConfig("large-l2", ("simulator", "-config", "large-l2.config")).command[-1]
    'large-l2.config'
    """

    name: str
    command: tuple[str, ...]


def sweep_configs(command: Sequence[str], sweep: Sequence[str]) -> list[SweepConfig]:
    """Configurations of a sweep, in the order of the files or of the grid.

    Args:
        command: of the simulator; PLACE in it stands for a configuration's file.
        sweep: files or patterns of files; or one YAML file that names values for options, all combinations of which are meant.

    Raises:
        ConfigError: there are none, or the command has no place for them.

    >>> [point.command for point in sweep_configs(["sim", "-config", "{}"], ["a.config", "b.config"])]
    [('sim', '-config', 'a.config'), ('sim', '-config', 'b.config')]
    """
    if len(sweep) == 1 and sweep[0].endswith((".yaml", ".yml")) and PLACE not in command:
        return _grid(command, Path(sweep[0]))
    files = [path for pattern in sweep for path in (sorted(glob.glob(pattern)) or [pattern])]
    if PLACE not in command:
        raise ConfigError(
            f"--sweep: the simulator's command has no {PLACE}; put it where the configuration's file goes: -config {PLACE}"
        )
    names = [Path(path).stem for path in files]
    if len(set(names)) < len(names) or {*names} & {simulator.configuration for simulator in simulators()}:
        names = [path.strip("./").replace("/", "-") for path in files]
    return [
        SweepConfig(name, tuple(path if part == PLACE else part for part in command))
        for name, path in zip(names, files, strict=True)
    ]


def _grid(command: Sequence[str], path: Path) -> list[SweepConfig]:
    """All combinations of the values of a YAML file: `-clusters: [40, 80]`."""
    content = read_yaml(path, "--sweep")
    lists = isinstance(content, dict) and content and all(isinstance(v, list) and v for v in content.values())
    if not lists:
        raise ConfigError(
            f"--sweep {path}: expected options of the simulator with a list of values each, e.g. -clusters: [40, 80]"
        )
    if (count := math.prod(map(len, content.values()))) > MOST_POINTS:
        raise ConfigError(f"--sweep {path}: its lists make {count:,} configurations; allowed: at most {MOST_POINTS:,}")
    configs = []
    for values in itertools.product(*content.values()):
        chosen = dict(zip(map(str, content), map(str, values), strict=True))
        options = [
            part for key, value in chosen.items() for part in ([f"{key}={value}"] if key[:2] == "--" else [key, value])
        ]
        name = "-".join(f"{key.lstrip('-')}-{value}" for key, value in chosen.items()).replace("/", "_")
        configs.append(SweepConfig(name, (*command, *options)))
    return configs

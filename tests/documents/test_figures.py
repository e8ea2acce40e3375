"""Figures of the user's pages are those of the evidence shelf, of the code, and of the engine."""

import re

import numpy as np
import pytest
from generated import PAGES, README, RUNS, readme, runs_page
from pages import DOCS, numbers, section, tables

from kernelpoint.encoder.checkpoint import ENCODER_VERSION
from kernelpoint.journal.records import FORMAT_VERSION as JOURNAL_VERSION
from kernelpoint.planning import validation_launches
from kernelpoint.planning.plan import FORMAT_VERSION as PLAN_VERSION


def test_the_tables_of_runs_in_simulators_are_those_of_their_records():
    assert README.read_text() == readme(), "python docs/generated.py"
    assert all(page.read_text() == runs_page(simulator) for simulator, page in PAGES.items()), "python docs/generated.py"


def test_the_front_page_has_the_figures_of_the_readme_s_first_workload():
    row, front = tables(section("README.md"))[1][0], section("docs/index.md")
    shown = [
        row["Launches"],
        *re.findall(r"[\d.]+", row["Simulated"])[:1],
        row["Speedup in cycles"].split("x")[0],
        row["Error"],
    ]
    assert all(text in front for text in shown)


def test_the_comparison_of_the_readme_and_of_the_tutorial_is_that_of_the_evidence():
    measured = {row["Method"]: row for row in tables(section("docs/evidence/methods.md", "Where a promise fails"))[0]}
    for page in ("README.md", "docs/tutorials/comparing.md"):
        shown = tables(section(page))[0]
        assert len(shown) == 3
        for row in shown:
            row = {name: row[name].replace(" in the run", "").replace(" from the profile", "") for name in row}
            of = measured[row["Method"]]
            assert (row["Its bound"], row["Right"], row["Mean error"]) == (of["Bound"], of["Right"], of["Mean error"])
            assert row["Largest"] == of["Largest"] and numbers(row["Simulated"])[0] == numbers(of["Simulated"])[0]
            assert row["Speedup in cycles"] == of["Cycle speedup"]


@pytest.mark.parametrize("simulator", PAGES)
def test_the_readme_says_how_many_bounds_in_a_simulator_were_right(simulator):
    runs = next(t for t in tables(section(f"docs/evidence/{simulator}.md", "Runs")) if "Bound right" in t[0])
    assert len(runs) == sum(len(row["runs"]) for row in RUNS[simulator])
    right = [row["Bound right"] for row in runs].count("yes")
    assert f"{'all' if right == len(runs) else f'{right} of'} {len(runs)} runs" in section("README.md")


def shares(rows, columns=("Right, 5 %", "Right, 1 %", "Right, 0.5 %")):
    """Shares of runs that were right, in per cent: the first number of each cell."""
    return [100 * numbers(row[column])[0] for row in rows for column in columns]


def test_how_often_the_bound_is_right_is_what_the_tables_of_coverage_say():
    coverage = section("docs/evidence/coverage.md")
    every = tables(coverage)
    (by_name,) = [t for t in every if {"Population", "Right, 0.5 %"} <= set(t[0])]
    profiles = [row for row in by_name if re.match(r"(rtx|v100|b200|a100|h100)", row["Population"])]
    (recorded,) = [t for t in every if {"Program", "Launches", "Right, 5 %"} <= set(t[0])]
    (predicted,) = [t for t in every if t[0].get("Model") == "rtx" and len(t) == 12]
    stated = next(t for t in tables(section("docs/bound.md", "Sampling error")))
    seeds = re.search(r"the others (\d+) seeds", coverage)
    assert seeds is not None and stated[0]["Seeds"] == seeds[1]
    from_profiles = shares(profiles) + shares(recorded, ("Right, 5 %", "Right, 1 %"))
    for row, right in zip(stated, (shares(predicted), from_profiles), strict=True):
        assert numbers(row["Runs that were right, by workload"]) == [round(min(right), 1), max(right)]


def test_versions_of_formats_are_those_of_the_code():
    text = section("docs/formats.md")
    assert f"journal `.kpjournal` | JSON Lines, {JOURNAL_VERSION}" in text
    assert f"**Plan**, format {PLAN_VERSION} " in text
    assert f"safetensors, encoder version {ENCODER_VERSION}" in text
    assert f"`.kpjournal`, format version {JOURNAL_VERSION}." in text


def test_the_number_of_validation_launches_is_that_of_the_code():
    for row in tables(section("docs/evidence/replay-error.md", "How many validation launches a run makes"))[0]:
        for budget in numbers(row["Error budget"]):
            made = validation_launches.first_validations(budget / 100, 0.95, validation_launches.MOST_VALIDATED)
            assert numbers(row["Validation launches at first"]) == [made], budget


PAGE = DOCS / "estimator.md"


def test_the_worked_example_gives_the_engine_s_total_and_error():
    (code,) = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    names: dict = {}
    exec(code, names)  # its last lines compare with the engine
    assert abs(names["total"] - names["y"].sum()) <= names["half_width"]
    assert np.isfinite(names["half_width"]) and len(names["drawn"]) == 11


def test_the_page_has_at_most_150_lines():
    assert len(PAGE.read_text(encoding="utf-8").splitlines()) <= 150

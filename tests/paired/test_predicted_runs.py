"""Two runs whose estimates rest on the fast model's predictions, launch by launch."""

import json
from pathlib import Path

import numpy as np
import pytest
from workloads import synthesised

from kernelpoint.errors import JournalError
from kernelpoint.estimation import AssistedDesign, CellSampling, ErrorBudget, Estimate
from kernelpoint.estimation.inference import ratio
from kernelpoint.fast_model.configuration import configuration_of_host
from kernelpoint.journal import load_run
from kernelpoint.paired import compare_runs
from kernelpoint.randomness import generator, permanent_random_numbers
from kernelpoint.report.pairs import kernel_changes

LAUNCHES = 240
YAML = "policy: kernelpoint\nerror_budget: {relative_error: 0.02}\nfast_model: v100"


@pytest.fixture(scope="module")
def traces(tmp_path_factory):
    return synthesised(tmp_path_factory.mktemp("predicted"), "iterative-solver", LAUNCHES, rows=1024)


@pytest.fixture
def pair(run, traces):
    """Journals of two runs, and the results of both: the second GPU is slower, by launches, and never by the same factor."""
    random = generator(3, "two GPUs")
    first = np.round(20000 * random.lognormal(0.0, 0.02, LAUNCHES)).astype(int)
    second = np.round(first * 1.2 * random.lognormal(0.0, 0.01, LAUNCHES)).astype(int)

    def start(name: str, cycles: np.ndarray, yaml: str = YAML, **info: object) -> Path:
        return run(name, cycles, yaml, list_paths=[str(traces)], launch_counts=[LAUNCHES], **info)

    return start, first, second


def test_the_ratio_of_two_predicted_runs_is_bounded_by_what_was_drawn_in_both(pair):
    start, first, second = pair
    a, b = load_run(start("a", first)), load_run(start("b", second))
    comparison = compare_runs(a, b)
    row = comparison.rows[0]
    assert row.ratio.contains(second.sum() / first.sum())
    assert row.difference.contains(second.sum() - first.sum())
    assert 0.0 < row.ratio.half_width < 0.05
    assert comparison.common == min(len(a.results), len(b.results)) < LAUNCHES
    assert any("assumed: " in note for note in comparison.notes) and json.dumps(comparison.record())


def test_predicted_runs_that_lost_launches_are_compared_by_their_own_bounds(pair):
    start, first, second = pair
    lost = frozenset(range(0, LAUNCHES, 10))
    a, b = (load_run(start(name, cycles, lost=lost)) for name, cycles in (("a", first), ("b", second)))
    result = compare_runs(a, b)
    cycles = result.rows[0]
    assert a.ended().lost and cycles.difference.half_width == a.ended().half_width + b.ended().half_width
    assert cycles.ratio.contains(second.sum() / first.sum()) and "A lacks the results of" in result.notes[0]


def test_changes_of_kernels_have_half_widths_that_together_contain_the_change_of_all(pair):
    start, first, second = pair
    changes = kernel_changes(load_run(start("a", first)), load_run(start("b", second)))
    of_kernels = [change.cycles.difference for change in changes]
    whole = sum(of_kernels[1:], of_kernels[0])
    assert len(changes) > 2 and all(change.half_width > 0.0 for change in of_kernels)
    assert abs(whole.estimate - (second.sum() - first.sum())) <= whole.half_width < 0.2 * second.sum()


def test_without_its_plan_a_predicted_run_is_refused(pair):
    start, first, second = pair
    a, b = load_run(start("a", first)), load_run(start("b", second))
    Path(str(a.header.plan)).unlink()
    with pytest.raises(JournalError, match="the plan of this run is needed"):
        compare_runs(a, b)


def test_runs_with_other_budgets_have_other_cells_and_are_refused_by_key(pair):
    start, first, second = pair
    a = load_run(start("a", first))
    b = load_run(start("b", second, YAML.replace("0.02", "0.05")))
    with pytest.raises(JournalError, match=r"error_budget.relative_error"):
        compare_runs(a, b)


def test_runs_that_predicted_for_their_own_gpus_are_refused_with_what_to_do(pair):
    start, first, second = pair
    host = {"simulator": "kernelpoint-host"}
    journals = [
        start(name, cycles, YAML.replace("v100", "auto"), **host, config_hash=configuration_of_host(name).hash)
        for name, cycles in (("v100", first), ("rtx", second))
    ]
    with pytest.raises(JournalError, match=r"(?s)hashes\.design.*give both one model, `fast_model: FILE`"):
        compare_runs(*map(load_run, journals))
    with pytest.raises(JournalError) as other:
        compare_runs(load_run(start("a", first)), load_run(start("b", second, YAML.replace("v100", "rtx"))))
    assert "hashes.design" in str(other.value) and "give both" not in str(other.value)


def ratio_of_both(y: np.ndarray, x: np.ndarray, group: np.ndarray, seed: int) -> Estimate:
    """Ratio of two runs from the cells of a first pass at 1 %. y: float64 [N, 2], results of both."""
    u = permanent_random_numbers(seed, 0, len(x))
    cells, pair = CellSampling(AssistedDesign({"cycles": x}, group, u), ErrorBudget(0.01)), ("A", "B")
    units = cells.drawn()
    cells.results.add(units, pair, y[units])
    cells.begin_comparison(dict.fromkeys(pair, "cycles"))
    return ratio("", pair[::-1], cells.errors, 0.95)


@pytest.mark.parametrize("change", ["one factor", "a factor for each kernel", "scattered"])
def test_the_interval_holds_the_true_ratio_in_repeated_samples(change):
    random = generator(1, f"paired {change}")
    group = np.arange(900) % 6
    x = random.lognormal(8.0, 1.0, 6)[group] * random.lognormal(0.0, 0.4, 900)
    first = x * random.lognormal(0.0, 0.03, 900)
    factor = {
        "one factor": np.full(900, 0.8),
        "a factor for each kernel": random.uniform(0.7, 1.1, 6)[group],
        "scattered": 0.9 * random.lognormal(0.0, 0.05, 900),
    }[change]
    y = np.column_stack([first, factor * first])
    truth = float(y[:, 1].sum() / y[:, 0].sum())
    ratios = [ratio_of_both(y, x, group, seed) for seed in range(100)]
    assert np.mean([ratio.contains(truth) for ratio in ratios]) >= 0.92
    assert np.mean([ratio.half_width for ratio in ratios]) < 0.2

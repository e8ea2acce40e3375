"""Error budgets that name ranges: met, held, refused, resumed."""

import numpy as np
import pytest

from kernelpoint.config import parse_config
from kernelpoint.errors import ConfigError
from kernelpoint.estimation import (
    NO_RANGES,
    AssistedDesign,
    Design,
    Engine,
    ErrorBudget,
    Estimate,
    RangeTargets,
    Tree,
    UnitErrors,
    passes,
)
from kernelpoint.journal import load_run
from kernelpoint.randomness import generator, permanent_random_numbers

BUDGET = "error_budget: [{cycles: 5 %}, {range: decode/*, cycles: 2 %}]"


@pytest.fixture
def table(tmp_path):
    """Prefill, then four layers of decode."""
    rows = [f"{k},{'prefill' if k < 40 else f'decode/layer.{(k - 40) // 40}'}\n" for k in range(200)]
    (tmp_path / "ranges.csv").write_text("launch,path\n" + "".join(rows))
    return tmp_path / "ranges.csv"


def opened(host, table, yaml=BUDGET, more="policy: random"):
    return host.open(f"{more}\n{yaml}\nranges: {table}\njournal: {table.parent / 'run.kpjournal'}")


def run_of(host, table, **keys):
    host.run(opened(host, table, **keys))
    return load_run(table.parent / "run.kpjournal")


def test_one_run_meets_the_budget_of_each_range(host, table):
    loose = run_of(host, table, yaml="error_budget: {cycles: 5 %}")
    (table.parent / "run.kpjournal").unlink()
    run = run_of(host, table)
    summary = run.ended()
    assert summary.met
    assert loose.ended().simulated < summary.simulated < 200
    assert summary.further == {"cycles of decode/*": 0.02}
    assert list(summary.range_targets) == [f"cycles of decode/layer.{k}" for k in range(4)]
    for k in range(4):
        truth = host.cycles[40 + 40 * k : 80 + 40 * k].sum()
        target, stated = summary.range_targets[f"cycles of decode/layer.{k}"], run.ranges[f"decode/layer.{k}"]
        assert target.relative_half_width <= 0.02 * (1 + 1e-9)
        assert abs(target.estimate - truth) <= target.half_width
        assert abs(stated.estimates["cycles"].estimate - truth) <= stated.estimates["cycles"].half_width
    inside = [stated.estimates["cycles"].estimate for path, stated in run.ranges.items() if path.count("/")]
    assert sum(inside) == pytest.approx(run.ranges["decode"].estimates["cycles"].estimate)


def test_the_verdict_and_the_speedup_count_the_launches_of_ranges(host, table):
    run = run_of(host, table)
    from kernelpoint.session.verdict import verdict

    assert "cycles of decode/* +- 2 %" in verdict(run.ended())
    simulated = sum(record.counters["cycles"] for record in run.results.values())
    assert run.ended().cycle_speedup == pytest.approx(run.ended().estimate / simulated)


def test_a_run_that_is_begun_again_goes_on_with_the_targets_of_its_ranges(host, table):
    whole = run_of(host, table)
    lines = whole.path.read_bytes().splitlines(keepends=True)
    for end in (len(lines) // 3, len(lines) - 1):
        whole.path.write_bytes(b"".join(lines[:end]))
        assert run_of(host, table).ended().range_targets == whole.ended().range_targets


def test_a_run_goes_on_to_a_tighter_budget_of_a_range(host, table):
    loose = run_of(host, table).ended()
    tight = run_of(host, table, yaml=BUDGET.replace("2 %", "1 %")).ended()
    assert tight.met and tight.simulated > loose.simulated
    assert all(part.relative_half_width <= 0.01 * (1 + 1e-9) for part in tight.range_targets.values())


@pytest.mark.parametrize(
    "yaml, message",
    [
        ("error_budget: [{range: decoder/*, cycles: 2 %}]", "matches no range"),
        ("error_budget: [{range: decode, ipc: 2 %}]", "'ipc' is a ratio"),
        ("error_budget: [{bound: none}, {range: decode, cycles: 2 %}]", "cannot state an error"),
    ],
)
def test_targets_that_cannot_be_are_refused(host, table, yaml, message):
    with pytest.raises(ConfigError, match=message):
        opened(host, table, yaml=yaml)


def test_a_range_needs_ranges(host, tmp_path):
    with pytest.raises(ConfigError, match="but the run has none"):
        host.open(f"policy: random\n{BUDGET}\njournal: {tmp_path / 'run.kpjournal'}")


@pytest.mark.parametrize("content", [{"range": "decode", "cycles": "2 %"}, [{"range": "decode", "cycles": 0.02}]])
def test_a_budget_of_a_range_alone_leaves_that_of_the_run_as_it_is(content):
    budget = parse_config({"version": 1, "policy": "random", "error_budget": content}).error_budget
    assert (budget.counter, budget.relative_error, budget.ranges) == ("cycles", 0.01, {"decode": {"cycles": 0.02}})


@pytest.mark.parametrize("content", [{"range": "decode"}, {"range": "decode", "cycles": 2}, [{"range": "a"}, 3]])
def test_a_budget_of_a_range_without_an_error_is_refused(content):
    with pytest.raises(ConfigError, match="error_budget"):
        parse_config({"version": 1, "policy": "random", "error_budget": content})


def test_targets_of_ranges_are_held_as_often_as_stated(host, table):
    held = []
    for seed in range(20):
        run = run_of(host, table, more=f"policy: random\nseed: {seed}")
        (table.parent / "run.kpjournal").unlink()
        for k in range(4):
            target = run.ended().range_targets[f"cycles of decode/layer.{k}"]
            held.append(abs(target.estimate - host.cycles[40 + 40 * k : 80 + 40 * k].sum()) <= target.computed_half_width)
    assert np.mean(held) >= 0.95


def test_a_range_shares_the_replay_error_of_the_run_as_the_same_fraction_of_its_own_total():
    targets = RangeTargets({"cycles of decode": ("cycles", Tree(np.array([-1, 0]), np.arange(40) // 36), 1)})
    design = Design(np.zeros(40, int), np.array([40]), np.linspace(0.0, 0.9, 40))
    engine = Engine(design, ErrorBudget(0.05, further={"cycles of decode": 0.02}), ranges=targets)
    for unit in engine.wanted():
        engine.record(int(unit), ("cycles",), [100.0])
    engine.systematic.set({"cycles": Estimate.of(0.01, 0.005)})
    assert engine.look().ranges["cycles of decode"].half_width == pytest.approx(0.015 * 400.0)


@pytest.mark.parametrize("predicted", [True, False])
def test_quarters_of_a_run_share_a_sample_that_is_smaller_than_samples_of_their_own(predicted):
    random, kind, quarter = generator(0, "quarters"), np.arange(4000) % 40, np.arange(4000) // 1000
    x = 100.0 * random.lognormal(0.0, 0.5, 40)[kind]
    y = x * random.lognormal(0.0, 0.1, 40)[kind] * random.lognormal(0.0, 0.02, 4000)
    tree = Tree(np.array([-1, 0, 0, 0, 0]), quarter + 1)
    names = {f"cycles of {k}": ("cycles", tree, k + 1) for k in range(4)}
    targets = RangeTargets(names)

    def run(units, u, budget, ranges):
        group = {"cycles": x[units]}, kind[units], u[units]
        design = AssistedDesign(*group) if predicted else Design(kind[units], np.full(40, 2), u[units])
        engine = Engine(design, budget, ranges=ranges)
        *_, look = passes(engine, ("cycles",), y[units])
        return look, len(engine.drawn())

    held, drawn, alone = [], [], []
    for seed in range(20):
        u = permanent_random_numbers(seed, 0, 4000)
        look, draws = run(slice(None), u, ErrorBudget(0.02, further=dict.fromkeys(names, 0.02)), targets)
        assert look.met and all(part.relative_half_width <= 0.02 * (1 + 1e-9) for part in look.ranges.values())
        errors = [abs(part.estimate - y[quarter == k].sum()) for k, part in enumerate(look.ranges.values())]
        held += [error <= part.computed_half_width for error, part in zip(errors, look.ranges.values(), strict=True)]
        drawn.append(draws)
        if seed < 4:
            alone.append(sum(run(quarter == k, u, ErrorBudget(0.02), NO_RANGES)[1] for k in range(4)))
    assert sum(drawn[:4]) < 0.5 * sum(alone) and np.mean(held) >= 0.95


@pytest.mark.parametrize("draws", [2, 3])
def test_a_range_with_strata_of_its_own_scatters_as_its_standard_error_says(draws):
    kind, tree = np.arange(4000) // 40, Tree(np.array([-1, 0, 0, 0, 0]), np.arange(4000) // 1000 + 1)
    names = {f"cycles of {k}": ("cycles", tree, k + 1) for k in range(4)}
    targets = RangeTargets(names)
    budget, errors = ErrorBudget(1e-6, further=dict.fromkeys(names, 1e-6)), []
    for seed in range(60):
        random = generator(seed, "own strata")
        y = 100.0 * random.lognormal(0.0, 0.5, 100)[kind] * random.lognormal(0.0, 0.3, 4000)
        design = Design(kind, np.full(100, draws), permanent_random_numbers(seed, 0, 4000))
        engine = Engine(design, budget, ranges=targets)
        engine.record_many(engine.wanted(), ("cycles",), y[engine.wanted()][:, None])
        estimates = engine.look().ranges.values()
        errors += [(part.estimate - y[1000 * k :][:1000].sum()) / part.std_error for k, part in enumerate(estimates)]
    assert np.sqrt(np.mean(np.square(errors))) < 1.1


def test_a_range_level_moves_no_result_and_counts_draws_that_are_as_predicted():
    errors = UnitErrors(np.full(6, 2.0), np.array([1.0, 1.0, 0, 0, 0, 0]), np.ones(6), np.zeros(6), np.zeros(6, int))
    results = np.arange(6) < 3
    correction, rest = errors.within(np.ones(6, dtype=bool), results)
    assert correction[results].tolist() == [0.0] * 3
    assert correction.sum() + rest.residuals.sum() == pytest.approx(errors.residuals.sum())

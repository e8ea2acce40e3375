"""Units that can have no result: others are drawn in their place, and the interval holds the total whatever they are."""

import numpy as np
import pytest

from kernelpoint.estimation import (
    AssistedDesign,
    Design,
    Engine,
    ErrorBudget,
    Estimate,
    Look,
    RangeTargets,
    Tree,
    passes,
)

N, GROUPS = 400, 4
BUDGETS = (0.05, 0.01)


def population(seed):
    """Truth, predictions, strata, permanent random numbers, and units without a result, among them slow ones."""
    generator = np.random.default_rng(seed)
    strata = np.arange(N) % GROUPS
    x = 1000.0 * (1 + strata) * generator.uniform(0.9, 1.1, N)
    y = 1.1 * x * generator.uniform(0.97, 1.03, N)
    return y, x, strata.astype(np.int32), generator.random(N), set(generator.choice(N, 6, replace=False).tolist())


def designed(kind, x, strata, u):
    if kind == "assisted":
        return AssistedDesign({"cycles": x, "reads": x}, strata, u)
    covariate = x if kind == "covariate" else None
    return Design(strata, np.full(GROUPS, 3), u, x=covariate, balanced=True)


def run(engine, y, lacking) -> tuple[Look, object]:
    """Simulate what is wanted; units of `lacking` turn out to have no result when they are drawn."""
    while True:
        wanted = set(engine.wanted().tolist())
        for unit in sorted(wanted - lacking):
            engine.record(unit, ("cycles", "reads"), [y[unit], 2.0 * y[unit]])
        if wanted & lacking:
            engine = engine.leaving_out(sorted(wanted & lacking))
            continue
        look = engine.look()
        if look.met or not engine.grow():
            return look, engine


@pytest.mark.parametrize("kind", ["strata", "covariate", "assisted"])
@pytest.mark.parametrize("budget", BUDGETS)
def test_the_interval_holds_the_total_where_drawn_units_have_no_result(kind, budget):
    lacked = inside = 0
    for seed in range(25):
        y, x, strata, u, lacking = population(seed)
        look, engine = run(Engine(designed(kind, x, strata, u), ErrorBudget(budget)), y, lacking)
        imputed = engine.nonresponse()
        lacked += len(imputed)
        total = look.estimates["cycles"]
        inside += total.contains(y.sum())
        assert look.met == (total.half_width <= budget * total.estimate * (1.0 + 1e-9))
        least = budget * total.estimate + sum(values["cycles"].half_width for values in imputed.values())
        assert total.half_width >= least * (1.0 - 1e-9) or len(engine.drawn()) + len(imputed) >= N
        assert set(imputed) <= lacking and not set(engine.wanted().tolist())
        for unit, values in imputed.items():
            cycles = values["cycles"]
            assert cycles.half_width >= cycles.estimate > 0.0, "it may be nothing"
            assert cycles.estimate + cycles.half_width > 0.9 * y[unit]
    assert lacked > 0 and inside >= 23


@pytest.mark.parametrize("kind", ["strata", "covariate", "assisted"])
def test_results_predictions_and_what_has_no_result_add_up_to_the_estimate(kind):
    y, x, strata, u, lacking = population(3)
    look, engine = run(Engine(designed(kind, x, strata, u), ErrorBudget(0.01)), y, lacking)
    values = engine.predict(np.arange(N))
    for unit, lost in engine.nonresponse().items():
        assert np.isnan(values[unit]).all()
        values[unit] = [lost[name].estimate for name in engine.counters]
    assert values.sum(axis=0).tolist() == pytest.approx([look.estimates[c].estimate for c in ("cycles", "reads")])


def test_a_unit_of_which_nothing_is_known_may_be_as_large_as_the_largest():
    y, x, strata, u, _ = population(0)
    strata[7] = -1
    x[7] = 0.0
    _, engine = run(Engine(designed("assisted", x, strata, u), ErrorBudget(0.01)), y, {7})
    cycles = engine.nonresponse()[7]["cycles"]
    assert cycles.estimate + cycles.half_width >= engine.results.of(engine.results.units)[:, 0].max()


def test_a_bound_that_more_draws_do_not_narrow_ends_the_run():
    y, x, strata, u, _ = population(1)
    y[5] = x[5] = 60.0 * y.max()
    look, engine = run(Engine(designed("assisted", x, strata, u), ErrorBudget(0.01)), y, {5})
    assert not look.met and engine.nonresponse() and look.estimates["cycles"].contains(y.sum())
    assert engine.results.count < N / 2 and "1 launch has no result" in look.warnings[0]


@pytest.mark.parametrize("seed", [0, 7, 10, 27])
@pytest.mark.parametrize("error", [Estimate.of(0.0, 0.0), Estimate.of(0.005, 0.01)])
def test_a_run_goes_on_where_units_without_a_result_lower_a_ratio(seed, error):
    """The budget for sampling is a share of the ratio that the run states, not of the larger one before."""
    random = np.random.default_rng(seed)
    strata = (np.arange(3000) % 2).astype(np.int32)
    cycles = np.where(strata == 0, 1000.0, 3000.0) * (1 + 0.35 * random.standard_normal(3000)).clip(0.2, 3)
    instructions = np.where(strata == 0, 20000.0, 3000.0) * (1 + 0.2 * random.standard_normal(3000)).clip(0.2, 3)
    design = Design(strata, np.array([20, 20]), random.random(3000))
    engine = Engine(design, ErrorBudget(0.05, counter="ipc"), ratios={"ipc": ("instructions", "cycles")})
    engine.systematic.set({"cycles": error})
    lacking = [int(unit) for unit in engine.wanted() if strata[unit] == 1][:20]
    first = np.setdiff1d(engine.wanted(), lacking)
    values = np.column_stack([cycles, instructions])
    engine.record_many(first, ("cycles", "instructions"), values[first])
    *_, look = passes(engine.leaving_out(lacking), ("cycles", "instructions"), values)
    ipc = look.ratios["ipc"]
    assert ipc.computed_half_width <= 0.05 * ipc.estimate * (1 + 1e-9)
    assert ipc.contains(instructions.sum() / cycles.sum())


def test_ratios_and_parts_hold_what_has_no_result():
    y, _, strata, u, lacking = population(2)
    tree = Tree(np.array([-1, 0, 0]), 1 + (strata >= 2))
    names = {f"cycles of {k}": ("cycles", tree, k + 1) for k in (0, 1)}
    budget, ratios = ErrorBudget(0.02, further=dict.fromkeys(names, 0.02)), {"reads_per_cycle": ("reads", "cycles")}
    engine = Engine(Design(strata, np.full(GROUPS, 4), u), budget, ratios=ratios, ranges=RangeTargets(names))
    look, engine = run(engine, y, lacking)
    assert engine.nonresponse() and look.ratios["reads_per_cycle"].contains(2.0)
    assert all(part.contains(y[tree.of_unit == k + 1].sum()) for k, part in enumerate(look.ranges.values()))
    assert sum(part.estimate for part in look.ranges.values()) == pytest.approx(look.estimates["cycles"].estimate)


def test_a_journal_finds_the_engine_as_it_was():
    y, x, strata, u, _ = population(4)
    first = Engine(designed("assisted", x, strata, u), ErrorBudget(0.01))
    lacking = {int(first.wanted()[0])}
    look, engine = run(first, y, lacking)
    again = Engine(designed("assisted", x, strata, u), ErrorBudget(0.01)).leaving_out(sorted(lacking))
    again.sampling.restore_pass(engine.sampling.pass_state())
    again.record_many(engine.results.units, ("cycles", "reads"), engine.results.of(engine.results.units))
    assert again.look().estimates["cycles"].estimate == look.estimates["cycles"].estimate

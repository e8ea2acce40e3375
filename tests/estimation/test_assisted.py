"""Model-assisted sampling: cells from predictions alone, an estimate that no prediction can bias, few passes."""

from collections import Counter, deque
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from kernelpoint.errors import ConfigError
from kernelpoint.estimation import AssistedDesign, Engine, ErrorBudget, passes
from kernelpoint.estimation.cells.fit import CellSample, Trust, fit_total
from kernelpoint.estimation.cells.part import Auxiliary
from kernelpoint.estimation.cells.parts import TotalFit
from kernelpoint.estimation.cells.tree import Cells
from kernelpoint.randomness import generator, permanent_random_numbers


def example(seed: int = 0, units: int = 600, noise: float = 0.02) -> tuple[AssistedDesign, np.ndarray]:
    """Six kernels of unlike size, each with a level of its own, and a model that is right up to noise; the truth."""
    random = generator(seed, "assisted test")
    group = random.integers(0, 6, units)
    x = 2000.0 + random.lognormal(6.0, 1.0, 6)[group] * random.lognormal(0.0, 0.7, units)
    y = 500.0 + x * (1.0 + 0.02 * group) * np.exp(noise * random.standard_normal(units))
    return AssistedDesign({"cycles": x}, group, permanent_random_numbers(seed, 0, units)), y


def seeded(design: AssistedDesign, seed: int) -> AssistedDesign:
    """The same design and cells with other permanent random numbers."""
    u = permanent_random_numbers(seed, 0, design.size)
    return replace(design, u=u)


def wrong(name: str, design: AssistedDesign) -> AssistedDesign:
    """The design with predictions made wrong on purpose."""
    x, group, random = design.means["cycles"], np.asarray(design.groups), generator(1, "wrong model")
    made = {
        "shuffled": lambda: random.permutation(x),
        "constant": lambda: np.full(len(x), x.mean()),
        "scattered by 30 %": lambda: x * np.exp(0.3 * random.standard_normal(len(x))),
        "drifting to twice": lambda: x * np.linspace(1.0, 2.0, len(x)),
        "right but for one kernel": lambda: np.where(group == 2, 3.0 * x, x),
        "a third of the truth": lambda: x / 3.0,
    }[name]()
    return AssistedDesign({"cycles": made}, group, design.u)


def sample_of(cells: Cells, n: int, u: np.ndarray, x: np.ndarray, group: np.ndarray) -> tuple[CellSample, np.ndarray]:
    """The sample of n cells by plain loops."""
    members = [cells.order[a:b] for a, b in zip(cells.leaves(n).start, cells.leaves(n).end, strict=True)]
    pure = [int(group[m[0]]) if len({*group[m]}) == 1 else None for m in members]
    draws = Counter(g for g in pure if g is not None)
    repeated = sum(count > 1 for count in draws.values())
    unlike = np.array([(len(m) > 1) / (draws.get(g, 1) * (repeated + 1)) for m, g in zip(members, pure, strict=True)]) * (
        not cells.in_order
    )
    rows = []
    for unit_range in members:
        i = unit_range[np.argmin(u[unit_range])]
        values, labels = x[unit_range], group[unit_range]
        mixed = 1.0 - sum(np.mean(labels == g) ** 2 for g in np.unique(labels))
        rows.append((i, len(values), values.mean(), (values**2).mean(), values.var(), mixed))
    i, N, mean, square, spread, mixed = (np.array(column) for column in zip(*rows, strict=True))
    i = i.astype(int)
    count = int(group.max()) + 1
    columns = N.astype(float), mean, square, spread, mixed, unlike
    return CellSample(x[i], x[i], group[i], i, *columns, float(x.sum()), count), i


def test_a_design_with_other_random_numbers_draws_as_if_it_were_made_with_them():
    design, y = example()
    for seed in range(1, 4):
        u = permanent_random_numbers(seed, 0, design.size)
        alone = AssistedDesign({"cycles": design.means["cycles"]}, design.groups, u)
        samples = []
        for same in (seeded(design, seed), alone):
            *_, _ = passes(engine := Engine(same, ErrorBudget(0.02)), ("cycles",), y)
            samples.append(engine.drawn().tolist())
        assert samples[0] == samples[1]


def test_cells_hold_every_unit_once_and_nest():
    design, _ = example()
    cells = Cells(design.means["cycles"], design.groups, 0.05)
    for n in (cells.first, 13, 40, 41, 600):
        leaves = cells.leaves(n)
        assert len(leaves.node) == n and leaves.units.sum() == 600
        assert (leaves.start[1:] == leaves.end[:-1]).all()
    outer, inner = (
        [set(cells.order[a:b].tolist()) for a, b in zip(cells.leaves(n).start, cells.leaves(n).end, strict=True)]
        for n in (12, 30)
    )
    assert all(any(cell <= whole for whole in outer) for cell in inner)


def test_cells_do_not_depend_on_results_or_on_how_far_the_tree_has_grown():
    x, group = example()[0].means["cycles"], np.asarray(example()[0].groups)
    at_once, in_steps = Cells(x, group, 0.05), Cells(x, group, 0.05)
    at_once.grow(300)
    for n in range(10, 60):
        in_steps.leaves(n)
    for cells in (at_once, in_steps):
        cells.leaves(50)
    parts = [
        [sorted(c.order[a:b].tolist()) for a, b in zip(c.leaves(50).start, c.leaves(50).end, strict=True)]
        for c in (at_once, in_steps)
    ]
    assert parts[0] == parts[1]


def test_units_of_equal_prediction_are_cut_in_order():
    cells = Cells(np.full(8, 3.0), np.zeros(8, int), 0.5)
    leaves = cells.leaves(2)
    assert [sorted(cells.order[a:b].tolist()) for a, b in zip(leaves.start, leaves.end, strict=True)] == [
        [0, 1, 2, 3],
        [4, 5, 6, 7],
    ]


def test_the_sums_of_the_cells_are_those_of_plain_loops():
    design, _ = example()
    x, group = design.means["cycles"], np.asarray(design.groups)
    for part, n in zip(design.parts({"cycles": 0.01}), (20, 4, 3), strict=True):
        part.n = n
        sample, units = part.cell_sample(group, Auxiliary(x, x, np.ones(600, bool)))
        members = part.units
        expected, drawn = sample_of(part.cells, n, design.u[members], x[members], group[members])
        assert units.tolist() == members[drawn].tolist() and sorted(units) == sorted(part.sample())
        for name in ("N", "mean_x", "square", "spread", "mixed"):
            np.testing.assert_allclose(getattr(sample, name), getattr(expected, name), rtol=1e-9, atol=1e-6)


def test_the_slope_of_a_cell_is_the_one_fitted_without_it():
    design, y = example(noise=0.1)
    x, group = design.means["cycles"], np.asarray(design.groups)
    sample, units = sample_of(Cells(x, group, 0.05), 20, design.u, x, group)
    by_hand = sample.X
    for i in range(20):
        rest = np.delete(np.arange(20), i)
        w, r = 1.0 / sample.x[rest] ** 2, (y[units] - sample.x)[rest]
        v, g = sample.x[rest], sample.group[rest]
        for label in np.unique(g):
            part = g == label
            v[part] -= np.average(v[part], weights=w[part])
            r[part] -= np.average(r[part], weights=w[part])
        xx, xr, rr = (w * v * v).sum(), (w * v * r).sum(), (w * r * r).sum()
        k2 = max((rr - xr**2 / xx) / (20 - len(np.unique(sample.group)) - 2), 1e-6)
        slope = xr / (xx + k2 / 0.15**2)
        by_hand += sample.N[i] * (y[units[i]] - sample.x[i] + slope * (sample.mean_x[i] - sample.x[i]))
    several = np.bincount(sample.group)[sample.group] > 1
    assert several.all(), "the oracle counts the groups of the others"
    assert fit_total(y[units], sample, 0.05, Trust()).estimate == pytest.approx(by_hand, rel=1e-9)


@pytest.mark.parametrize("model", ["shuffled", "constant", "scattered by 30 %", "a third of the truth"])
def test_at_a_given_size_no_prediction_biases_the_estimate(model):
    design, y = example(units=200)
    design = wrong(model, design)
    x, group = design.means["cycles"], np.asarray(design.groups)
    cells = Cells(x, group, 0.05)
    estimates = []
    for seed in range(400):
        sample, units = sample_of(cells, 16, permanent_random_numbers(seed, 0, 200), x, group)
        estimates.append(fit_total(y[units], sample, 0.05, Trust()).estimate)
    error = np.mean(estimates) - y.sum()
    assert abs(error) < 3.5 * np.std(estimates) / np.sqrt(400)


@pytest.mark.parametrize(
    "model", ["shuffled", "constant", "scattered by 30 %", "drifting to twice", "right but for one kernel"]
)
def test_a_wrong_model_costs_draws_and_not_coverage(run_passes, model):
    right, y = example()
    held, cost = 0, []
    for design in (wrong(model, right), right):
        spent = []
        for seed in range(25):
            engine = Engine(seeded(design, seed), ErrorBudget(0.05))
            held += run_passes(engine, y)[-1].estimates["cycles"].contains(y.sum())
            spent.append(y[engine.drawn()].sum())
        cost.append(np.mean(spent))
    assert held >= 46  # of 50 at 95 %
    assert cost[0] > 1.5 * cost[1]


def test_results_of_simulated_units_are_given_without_predicting_all_others(run_passes, monkeypatch):
    design, y = example()
    engine = Engine(design, ErrorBudget(0.05))
    run_passes(engine, y)
    drawn = engine.drawn()
    monkeypatch.setattr(TotalFit, "corrected", lambda *_: pytest.fail("predictions were computed"))
    assert engine.predict(drawn).tolist() == y[drawn][:, None].tolist()


def test_the_more_is_assumed_to_be_hidden_the_more_is_drawn():
    design, _ = example()
    draws = [
        sum(Engine(AssistedDesign(design.predictions, design.groups, design.u, assume), ErrorBudget(0.005)).sampling.cells)
        for assume in ("repetitive", "ordinary", "hostile")
    ]
    assert draws[0] <= draws[1] < draws[2]


def test_take_all_units_enter_exactly_and_stand_for_no_other(run_passes):
    design, y = example()
    groups = np.asarray(design.groups).copy()
    groups[:5] = -1
    truth = y.copy()
    truth[:5] = 1e7
    x = design.means["cycles"].copy()
    x[:5] = np.nan
    engine = Engine(AssistedDesign({"cycles": x}, groups, design.u), ErrorBudget(0.05))
    assert set(range(5)) <= set(engine.wanted().tolist())
    look = run_passes(engine, truth)[-1]
    assert look.estimates["cycles"].contains(truth.sum())


def test_a_budget_on_a_rare_counter_needs_its_own_prediction(run_passes):
    random = generator(3, "rare counter")
    design, y = example(units=2000)
    reads = np.where(random.random(2000) < 0.02, random.lognormal(8.0, 0.5, 2000), 0.0)
    truth = reads * np.exp(0.03 * random.standard_normal(2000))
    spent = []
    for predictions in ({"cycles": design.means["cycles"]}, {**design.means, "dram_reads": reads}):
        engine = Engine(AssistedDesign(predictions, design.groups, design.u), ErrorBudget(0.05, counter="dram_reads"))
        *_, look = passes(engine, ("cycles", "dram_reads"), np.column_stack([y, truth]))
        assert look.estimates["dram_reads"].contains(truth.sum())
        spent.append(len(engine.drawn()))
    assert spent[1] < 0.1 * spent[0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"u": np.full(3, 0.5)}, "has length 3"),
        ({"u": np.full(600, 1.0)}, r"\[0, 1\)"),
        ({"predictions": {}}, "design.predictions is empty"),
        ({"predictions": {"cycles": np.full(600, -1.0)}}, "from 0 to 1e60"),
        ({"predictions": {"cycles": np.full(600, 1e308)}}, "from 0 to 1e60"),
        ({"assume": "kind"}, "assume: 'kind' is not allowed"),
    ],
)
def test_designs_that_cannot_be_are_refused(change, message):
    good = {name: getattr(example()[0], name) for name in ("predictions", "groups", "u")}
    with pytest.raises(ConfigError, match=message):
        AssistedDesign(**{**good, **change})


def test_groups_that_are_off_by_a_level_each_are_not_doubted_once_draws_agree_inside_them():
    """Few draws that agree inside their groups do not make up for levels that differ by 30 %; many do."""
    random = generator(0, "levels")
    x = 100.0 * random.lognormal(0.0, 0.3, 4000)
    group = np.arange(4000) % 5
    y = x * np.array([0.7, 0.9, 1.0, 1.2, 1.4])[group] * random.lognormal(0.0, 0.01, 4000)
    doubted = {}
    for draws in (10, 100):
        engine = Engine(AssistedDesign({"cycles": x}, group, random.random(4000)), ErrorBudget(0.01))
        engine.sampling._parts.set(engine.sampling._parts.cells(draws))
        engine.record_many(engine.wanted(), ("cycles",), y[engine.wanted()].reshape(-1, 1))
        engine.look()
        doubted[draws] = engine.sampling._fits["cycles"].fits[0].doubted
    assert doubted == {10: True, 100: False}


def of_passes(x: np.ndarray, y: np.ndarray, group: np.ndarray, eps: float, seeds: int) -> tuple[float, float]:
    """Share of runs whose interval holds the total, and mean number of draws."""
    held, drawn = [], []
    for seed in range(seeds):
        engine = Engine(AssistedDesign({"cycles": x}, group, permanent_random_numbers(seed, 0, len(x))), ErrorBudget(eps))
        *_, look = passes(engine, ("cycles",), y)
        held.append(look.estimates["cycles"].contains(float(y.sum())))
        drawn.append(len(engine.drawn()))
    return float(np.mean(held)), float(np.mean(drawn))


def test_a_group_is_not_taken_to_scatter_as_little_as_others_before_its_own_draws_show_it():
    """All units have one prediction. A group takes more than twice that, one of two values; the others hardly vary."""
    random = generator(0, "one loud group")
    group = random.choice(4, 3000, p=[0.37, 0.26, 0.25, 0.12])
    y = np.array([80.0, 106.0, 81.0, 250.0])[group] * random.lognormal(0.0, 0.003, 3000)
    y[group == 3] *= np.where(random.random(3000) < 0.5, 0.8, 1.2)[group == 3]
    held, _ = of_passes(np.full(3000, 100.0), y, group, 0.02, 20)
    assert held >= 0.95


def test_groups_that_are_off_by_factors_of_their_own_cost_few_draws_more():
    random = generator(0, "factors of groups")
    group = np.arange(6000) % 20
    x = 100.0 * random.lognormal(0.0, 0.02, 6000)
    y = x * np.exp(0.5 * random.standard_normal(20))[group] * random.lognormal(0.0, 0.01, 6000)
    held, drawn = of_passes(x, y, group, 0.01, 10)
    assert held == 1.0 and drawn < 200


@pytest.mark.parametrize("noise", [0.003, 0.02, 0.1])
def test_a_looser_budget_draws_no_more_in_the_mean(noise):
    design, y = example(units=2000, noise=noise)
    drawn = []
    for eps in (0.1, 0.05, 0.02, 0.01, 0.005):
        engines = [Engine(seeded(design, seed), ErrorBudget(eps)) for seed in range(10)]
        for engine in engines:
            deque(passes(engine, ("cycles",), y), maxlen=0)
        drawn.append(np.mean([len(engine.drawn()) for engine in engines]))
    assert drawn == sorted(drawn)


@pytest.mark.parametrize("eps", [0.04, 0.02, 0.01])
def test_kernels_that_are_predicted_to_be_larger_than_the_budget_are_drawn_in_the_first_pass(eps):
    """Large: by their cycles beyond the launch latency, which the simulator states, or the model alone."""
    random = generator(0, "large kernels")
    group = random.integers(0, 30, 3000)
    x = random.lognormal(6.0, 1.0, 30)[group]
    for seed, (latency, stated) in product(range(10), ((0.0, 0.0), (500.0, 500.0), (500.0, 0.0))):
        u = permanent_random_numbers(seed, 0, 3000)
        design = AssistedDesign({"cycles": x + latency, "active_cycles": x}, group, u, latency=stated)
        parts = Engine(design, ErrorBudget(eps)).sampling._parts
        rest = parts.rest.units  # the beginning of the run has cells of its own
        share = np.bincount(group[rest], weights=x[rest]) / (x + latency).sum()
        assert set(np.flatnonzero(share > eps)) <= set(group[parts.rest.sample()])
        if latency and not stated:
            assert parts.rest.cells.first <= 1 + (share > 0.8 * eps).sum()


@pytest.mark.parametrize("eps", [0.02, 0.01])
def test_before_two_draws_have_another_one_of_their_group_a_sample_grows_to_these_alone(eps):
    """Forty groups that are off by levels of their own, which tell nothing of what units of a group scatter by."""
    random = generator(0, "many groups")
    group = random.integers(0, 40, 2000)
    x = random.lognormal(6.0, 1.0, 40)[group]
    y = x * random.lognormal(0.0, 0.1, 40)[group] * random.lognormal(0.0, 0.001, 2000)
    for seed in range(10):
        engine = Engine(AssistedDesign({"cycles": x}, group, permanent_random_numbers(seed, 0, 2000)), ErrorBudget(eps))
        parts, alone = engine.sampling._parts, []
        for _ in passes(engine, ("cycles",), y):
            groups = np.asarray(group)[parts.rest.sample()]
            alone.append(len(groups) - len(np.unique(groups)) < 2)
            enough = parts.with_second_draws()
        assert alone[0] and not alone[1] and parts.rest.n >= enough


def test_the_known_latency_is_no_part_of_what_is_uncertain():
    """9 of 10 cycles are the same for all units: the budget of 1 % allows 10 % of the others."""
    design, y = example(noise=0.03)
    x = design.means["cycles"]
    latency = 9.0 * x.mean()
    drawn = []
    for stated in (0.0, latency):
        whole = AssistedDesign({"cycles": x + latency, "active_cycles": x}, design.groups, design.u, latency=stated)
        engine = Engine(whole, ErrorBudget(0.01))
        *_, look = passes(engine, ("cycles", "active_cycles"), np.column_stack([y + latency, y]))
        total, active = look.estimates["cycles"], look.estimates["active_cycles"]
        assert look.met and total.contains(float((y + latency).sum())) and active.contains(float(y.sum()))
        units = np.arange(600)
        assert engine.predict(units).sum(axis=0) == pytest.approx([total.estimate, active.estimate])
        drawn.append(len(engine.drawn()))
        gap = total.estimate - active.estimate - 600 * latency
    assert gap == pytest.approx(0.0, abs=1e-6 * y.sum()) and drawn[1] < drawn[0]


def test_means_over_leaves_are_those_of_plain_loops_kept_or_not():
    random = np.random.default_rng(3)
    x, group, other = random.random(300), random.integers(0, 4, 300), random.random(300)
    cells = Cells(x, group, 0.5, name="cycles", added=0.25)
    values_by_name = {"cycles": x + 0.25, "cycles x": x, "misses": other, "": other}
    for n in (4, 30, 4):  # the second time leaves have been cut, and units put in another order
        for name, values in values_by_name.items():
            for of in (None, lambda v, g: v * 1.5 + g):
                expected = values if of is None else of(values, group)
                of_leaves = cells.means(n, lambda places, v=values: v[places], name, of)
                units = [cells.order[a:b] for a, b in zip(cells.leaves(n).start, cells.leaves(n).end, strict=True)]
                for means, power in zip(of_leaves, (1, 2), strict=True):
                    np.testing.assert_allclose(means, [(expected[u] ** power).mean() for u in units], rtol=1e-12)

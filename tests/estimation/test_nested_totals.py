"""Totals of parts of a population: they add up, and hold their truths as often as stated."""

import numpy as np
import pytest

from kernelpoint.estimation import (
    AssistedDesign,
    Design,
    Engine,
    ErrorBudget,
    Estimate,
    Tree,
    UnitErrors,
    passes,
    subtotals,
)
from kernelpoint.randomness import generator, permanent_random_numbers

N, LAYERS, KERNELS = 3200, 40, 4
LAYER = np.arange(N) // (N // LAYERS)
TREE = Tree(np.array([-1, 0, 0, *[1] * 20, *[2] * 20]), LAYER + 3)  # a run of two phases of 20 layers
STRATA = np.arange(N) % KERNELS


def truth(trouble):
    y = (100.0 + 300.0 * STRATA) * generator(1, trouble).lognormal(0.0, 0.1, N)
    if trouble == "a slow layer":
        y[LAYER == 7] *= 1.3
    if trouble == "drift":
        y *= np.linspace(0.8, 1.2, N)
    return y


def parts_of(y, seed, predictions=None, bound="sequential"):
    u = permanent_random_numbers(seed, 0, N)
    strata = Design(STRATA, np.full(KERNELS, 8), u)
    design = strata if predictions is None else AssistedDesign(predictions, STRATA, u)
    engine = Engine(design, ErrorBudget(0.02, bound=bound))
    *_, look = passes(engine, ("cycles",), y)
    values, results = engine.predict(np.arange(N))[:, 0], np.isin(np.arange(N), engine.drawn())
    errors = engine.unit_errors("cycles")
    return subtotals(TREE, look.estimates["cycles"], values, results, errors, engine.has_bias), look


def held(trouble, predictions, seeds):
    y = truth(trouble)
    truths = TREE.sums(y)[: TREE.count]
    return np.mean(
        [[part.contains(total) for part, total in zip(parts_of(y, seed, predictions)[0], truths, strict=True)]
         for seed in range(seeds)], axis=0
    )  # fmt: skip


PREDICTED = {"cycles": 0.8 * truth("none") * generator(2, "model").lognormal(0.0, 0.05, N)}


@pytest.mark.parametrize(
    ("trouble", "predictions", "seeds"),
    [("none", None, 60), ("a slow layer", None, 60), ("drift", None, 60), ("none", PREDICTED, 40)],
    ids=["none", "a slow layer", "drift", "predicted"],
)
def test_parts_hold_their_totals_as_often_as_stated(trouble, predictions, seeds):
    share = held(trouble, predictions, seeds)
    assert share[3:].mean() >= 0.95
    assert share[1:3].min() >= 0.93


def test_a_part_is_held_where_nearly_all_units_are_drawn_and_few_are_unlike_the_others():
    y, part_of = np.full(48, 100.0), np.arange(48) // 4
    y[[6, 33]] = 60.0  # one unit each of two parts
    truths, tree, covered = np.bincount(part_of, weights=y), Tree(np.array([-1, *[0] * 12]), part_of + 1), []
    for seed in range(200):
        u = permanent_random_numbers(seed, 0, 48)
        engine = Engine(Design(np.zeros(48, int), np.array([40]), u), ErrorBudget(0.01))
        engine.record_many(drawn := engine.drawn(), ("cycles",), y[drawn])
        whole, results = engine.look().estimates["cycles"], np.isin(np.arange(48), drawn)
        parts = subtotals(tree, whole, engine.predict(np.arange(48))[:, 0], results, engine.unit_errors("cycles"), False)
        covered.append([part.contains(total) for part, total in zip(parts[1:], truths, strict=True)])
    assert np.mean(covered, axis=0)[[1, 8]].min() >= 0.93


def test_parts_add_up_to_the_part_that_they_lie_in():
    parts, look = parts_of(truth("drift"), 3)
    value = np.array([part.estimate for part in parts])
    assert value[0] == look.estimates["cycles"].estimate
    assert value[1:3].sum() == pytest.approx(value[0], rel=1e-12)
    assert value[3:23].sum() == pytest.approx(value[1], rel=1e-12)
    assert value[23:].sum() == pytest.approx(value[2], rel=1e-12)


def test_a_small_part_is_known_less_well_than_the_whole():
    parts, look = parts_of(truth("none"), 3)
    widths = [part.relative_half_width for part in parts]
    assert widths[0] == look.estimates["cycles"].relative_half_width
    assert min(widths[1:3]) >= widths[0]
    assert np.median(widths[3:]) > 2 * max(widths[1:3])


def test_a_run_without_a_bound_has_parts_without_one():
    parts, _ = parts_of(truth("none"), 3, bound="none")
    assert all(np.isnan(part.half_width) for part in parts)
    assert sum(part.estimate for part in parts[1:3]) == pytest.approx(parts[0].estimate)


def whole(estimate, half_width, error):
    return Estimate("cycles", estimate, half_width, half_width / estimate, error, 9.0, 0.95, estimate)


@pytest.mark.parametrize("shared", [0.0, 0.01], ids=["without an error", "with an error that all results share"])
def test_where_every_launch_has_its_result_parts_are_exact_but_for_errors_that_all_share(shared):
    y, everything = truth("none"), np.ones(N, bool)
    errors = UnitErrors(np.ones(N), np.zeros(N), np.zeros(N), np.zeros(N), np.zeros(N, int))
    parts = subtotals(TREE, whole(y.sum(), shared * y.sum(), 0.0), y, everything, errors, shared > 0.0)
    assert [part.estimate for part in parts] == pytest.approx(TREE.sums(y)[: TREE.count])
    assert [part.relative_half_width for part in parts] == pytest.approx([shared] * TREE.count)


def test_the_error_of_a_result_is_in_the_parts_that_hold_it_alone():
    y, everything, half_widths = truth("none"), np.ones(N, bool), np.zeros(N)
    half_widths[0] = 500.0
    errors = UnitErrors(np.ones(N), np.zeros(N), np.zeros(N), half_widths, np.zeros(N, int))
    parts = subtotals(TREE, whole(y.sum(), 500.0, 0.0), y, everything, errors, False)
    assert [place for place, part in enumerate(parts) if part.half_width >= 500.0] == [0, 1, 3]


def test_launches_outside_the_parts_of_a_part_take_up_their_share_of_the_difference():
    tree = Tree(np.array([-1, 0]), np.array([1, 1, 0, 0]))
    errors = UnitErrors(np.full(4, 2.0), np.array([4.0, 0.0, 0.0, 0.0]), np.ones(4), np.zeros(4), np.zeros(4, int))
    parts = subtotals(tree, whole(40.0, 4.0, 2.0), np.full(4, 10.0), np.zeros(4, bool), errors, False)
    assert parts[1].estimate == pytest.approx(22.0)  # its difference estimate is 24, that of the rest 20


@pytest.mark.parametrize("budget", [0.05, 0.01])
def test_first_launches_are_known_as_well_as_the_drawn_ones_were_predicted(budget):
    groups, count = 12, 1200
    numbers = generator(1, "first units")
    y = 100.0 * numbers.lognormal(0.0, 0.002, count)
    y[:groups] *= numbers.lognormal(0.0, 0.06, groups)  # too few to matter for the total
    tree = Tree(np.append(-1, np.zeros(groups + 1, int)), np.minimum(np.arange(count), groups) + 1)
    held = []
    for seed in range(20):
        u = permanent_random_numbers(seed, 0, count)
        design = AssistedDesign({"cycles": np.full(count, 100.0)}, np.arange(count) % groups, u)
        engine = Engine(design, ErrorBudget(budget))
        *_, look = passes(engine, ("cycles",), y)
        values, results = engine.predict(np.arange(count))[:, 0], np.isin(np.arange(count), engine.drawn())
        parts = subtotals(tree, look.estimates["cycles"], values, results, engine.unit_errors("cycles"), False)
        held.append([part.contains(total) for part, total in zip(parts, tree.sums(y)[: tree.count], strict=True)])
    assert np.mean(held) >= 0.95

"""The bias that stopping leaves: runs that hold what is far off its prediction go on, those that miss it end."""

from __future__ import annotations

import numpy as np
import pytest

from kernelpoint.estimation import AssistedDesign, AssistedEngine, ErrorBudget, assisted_orders, passes
from kernelpoint.estimation.assisted_orders import EarlierPass
from kernelpoint.estimation.cells import Cells
from kernelpoint.estimation.parts import Part
from kernelpoint.randomness import generator, permanent_random_numbers

BUDGET = ErrorBudget(0.05)


def skewed() -> tuple[AssistedDesign, np.ndarray]:
    """Units that are as predicted, but behind the first tenth for one in six that takes 1.18 times as long; the truth."""
    random = generator(0, "skewed")
    x = 100.0 * np.exp(0.1 * random.standard_normal(600))
    slow = (random.random(600) < 1.0 / 6.0) & (np.arange(600) >= 60)
    y = x * np.where(slow, 1.18, 1.0) * np.exp(0.01 * random.standard_normal(600))
    return AssistedDesign({"cycles": x}, np.zeros(600, int), np.zeros(600)), y


def seeded(design: AssistedDesign, u: np.ndarray) -> AssistedEngine:
    return AssistedEngine(AssistedDesign(design.predictions, design.groups, u, design.assume, design._trees), BUDGET)


def errors(seeds: range) -> tuple[np.ndarray, np.ndarray]:
    """Relative error of the stated total, and looks, of each seed."""
    design, y = skewed()
    rows = []
    for seed in seeds:
        engine = seeded(design, permanent_random_numbers(seed, 0, len(y)))
        *_, look = passes(engine, ("cycles",), y)
        rows.append((look.estimates["cycles"].estimate / y.sum() - 1.0, engine.looks))
    return tuple(np.array(column) for column in zip(*rows, strict=True))


def in_other_orders(engine: AssistedEngine, design: AssistedDesign, y: np.ndarray, orders: int) -> np.ndarray:
    """T* - T of each order, 0 where the run goes on: from whole engines with other random numbers that draw the same units."""
    T, random, off = engine._fit([(1.0, "cycles")]).fits[0].estimate, generator(0, "slow orders"), np.zeros(orders)
    drawn, expansions = engine.drawn(), engine.expansions(np.arange(design.size))
    for order in range(orders):
        u = np.full(design.size, 1.0 - 1e-12)
        u[drawn] = np.minimum(1.0 - random.random(len(drawn)) ** (1.0 / expansions[drawn]), 1.0 - 1e-9)
        other = seeded(design, u)
        other.record_many(drawn, ("cycles",), y[drawn][:, None])
        met = other.look().met
        off[order] = met * (other._fits["cycles"].fits[0].estimate - T)
    return off


def test_the_bias_is_that_of_the_first_look_in_other_orders_of_the_draws(monkeypatch):
    monkeypatch.setattr(assisted_orders, "ORDERS", 300)
    design, y = skewed()
    found, expected = [], []
    for seed in range(14):
        engine = seeded(design, permanent_random_numbers(seed, 0, len(y)))
        looks = list(passes(engine, ("cycles",), y))
        if len(looks) != 2 or engine._parts.odd:
            continue
        earlier, half = {**engine._passes, 2: engine.cells}, 0.05 * engine._fit([(1.0, "cycles")]).estimate
        bias = engine._parts.stopping_bias(earlier, engine._alpha, ["cycles"], engine._observed, (half, 0.05))
        off = in_other_orders(engine, design, y, 60)
        found.append(bias.get("cycles", 0.0) / y.sum())
        going_on = max(1.0 - (off != 0.0).mean(), assisted_orders.LEAST_GOING_ON)
        expected.append(off.mean() / going_on / y.sum())
    assert len(found) >= 5
    assert np.mean(expected) < -0.002
    assert found == pytest.approx(expected, abs=0.005)
    assert np.mean(found) == pytest.approx(np.mean(expected), abs=0.0008)


def test_a_total_has_less_bias_and_its_runs_draw_the_same(monkeypatch):
    now, looks = errors(range(120))
    monkeypatch.setattr(assisted_orders, "MOST_BIAS", 0.0)
    before, looks_before = errors(range(120))
    assert (looks == looks_before).all()
    assert before.mean() < -0.003  # runs that miss the slow units end
    assert abs(now.mean()) < 0.5 * abs(before.mean())
    assert (abs(now - before) <= 0.25 * 0.05 * 1.05).all()
    assert (now[looks == 1] == before[looks == 1]).all()


def test_predictions_add_up_to_the_corrected_total():
    design, y = skewed()
    for seed in range(15):
        engine = seeded(design, permanent_random_numbers(seed, 0, len(y)))
        *_, look = passes(engine, ("cycles",), y)
        total = float(engine.predict(np.arange(design.size)).sum())
        assert total == pytest.approx(look.estimates["cycles"].estimate, rel=1e-12)


def test_an_earlier_cell_draws_each_present_draw_inside_as_often_as_it_stands_for_units():
    x, groups = generator(0, "cells").lognormal(0.0, 1.0, 90), np.zeros(90, int)
    part = Part(np.arange(90), Cells(x, groups, 1.0), (permanent_random_numbers(0, 0, 90), {}), 0)
    part.n = 12
    earlier = EarlierPass([part], [4], (groups, None), 0.05, 0.04)
    units, orders = part.leaves(12).units, 20_000
    draws = earlier.draws(generator(1, "waits").exponential(size=(orders, 12)) / units)
    outer = np.searchsorted(part.leaves(4).start, part.leaves(12).start, side="right") - 1
    share = units / np.bincount(outer, units)[outer]
    assert np.bincount(draws.ravel(), minlength=12) / orders == pytest.approx(share, abs=0.02)
    assert (outer[draws] == np.arange(4)).all()


def test_sizes_of_groups_in_the_begin_are_those_of_plain_sums_once_its_cells_are_cut():
    random = generator(0, "groups of the begin")
    x, groups = random.random(400) + 0.01, random.integers(0, 7, 400)
    design = AssistedDesign({"cycles": x}, groups, random.random(400))
    parts = design.parts("cycles", 0.01)
    for part, n in zip(parts, (30, 12, 3), strict=True):
        part.n = n
        part.sample()
    size = design.prediction("cycles", "cycles")[1]
    for part, sums in zip(parts[1:], EarlierPass(parts, [10, 4, 2], (groups, None), 0.05, 0.04)._sizes, strict=True):
        expected = [size[part.units][groups[part.units] == g].sum() for g in range(7)]
        np.testing.assert_allclose(sums, expected)

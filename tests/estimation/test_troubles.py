"""Runs over random populations with trouble: they end, their samples grow, and a journal restores them."""

import csv
import gzip
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recorded_traces import shared
from runs import too_seldom

from kernelpoint.config import parse_config
from kernelpoint.errors import JournalError
from kernelpoint.estimation import AssistedDesign, Engine, ErrorBudget, passes, stratify
from kernelpoint.estimation.constants import MOST_LOOKS
from kernelpoint.policies.methods.kernelpoint import KernelPoint
from kernelpoint.profiles import read_profile
from kernelpoint.randomness import generator, permanent_random_numbers

BUDGETS = (0.05, 0.02, 0.01, 0.005)
TROUBLES = ("none", "first units", "begin", "tails", "drift", "wrong groups")
KINDS = ("assisted", "stratified")  # with predictions; from names alone


def values(seed: int, units: int, trouble: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Groups, predictions and values of the launches of a random population with one kind of disturbance."""
    random = generator(seed, "nested")
    group = random.integers(0, int(random.integers(2, 12)), units)
    count = int(group.max()) + 1
    x = random.lognormal(6.0, 1.5, count)[group] * random.lognormal(0.0, random.uniform(0.0, 0.5), units)
    y = x * random.lognormal(0.0, random.choice([0.003, 0.02, 0.1]), units)
    place = np.arange(units) / units
    factor = {
        "none": np.ones(units),
        "first units": np.where(np.isin(np.arange(units), np.unique(group, return_index=True)[1]), 6.0, 1.0),
        "begin": np.where(place < 0.06, 2.5, 1.0),
        "tails": np.where(random.random(units) < 0.02, 4.0, 1.0),
        "drift": 1.0 + place,
        "wrong groups": random.lognormal(0.0, 0.3, count)[group],
    }[trouble]
    return group, x, y * factor


def engine_of(kind: str, group: np.ndarray, x: np.ndarray, seed: int, eps: float, assume: str = "ordinary") -> Engine:
    """The engine of a run with that budget: with predictions, or from names alone."""
    u, budget = permanent_random_numbers(seed, 0, len(x)), ErrorBudget(eps)
    if kind == "assisted":
        return Engine(AssistedDesign({"cycles": x}, group, u, assume), budget)
    neighbour = np.concatenate(([0], group[:-1]))
    levels = [group, group * 100 + neighbour]
    return Engine(
        stratify(levels, budget, spreads=(0.5, 0.05), slow_excess=4.0, allowance=0.5, design_error=0.005).design(u, seed),
        budget,
    )


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(KINDS),
    st.sampled_from(TROUBLES),
    st.sampled_from(["ordinary", "hostile"]),
    st.integers(0, 10_000),
    st.integers(3, 1500),
    st.sampled_from([0.2, *BUDGETS, 0.001]),
)
def test_a_run_ends_within_its_budget_and_every_pass_keeps_what_was_drawn(kind, trouble, assume, seed, units, eps):
    group, x, y = values(seed, units, trouble)
    engine, drawn = engine_of(kind, group, x, seed, eps, assume), []
    looks = []
    for look in passes(engine, ("cycles",), y):
        drawn.append(engine.drawn())
        looks.append(look)
    assert all(np.isin(before, after).all() for before, after in pairwise(drawn))
    assert looks[-1].met and looks[-1].estimates["cycles"].relative_half_width <= eps
    assert engine.sampling.looks <= MOST_LOOKS
    predicted = engine.predict(np.arange(units)).sum()
    assert predicted == pytest.approx(looks[-1].estimates["cycles"].estimate)


@pytest.mark.parametrize("kind", KINDS)
def test_the_order_of_results_does_not_matter(kind):
    group, x, y = values(5, 800, "tails")
    engines, looks = [engine_of(kind, group, x, 5, 0.01) for _ in range(2)], []
    for engine, step in zip(engines, (1, -1), strict=True):
        for _ in range(2):
            for unit in engine.wanted()[::step].tolist():
                engine.record(unit, ("cycles",), [y[unit]])
            looks.append(engine.look())
            engine.grow()
    assert repr(looks[:2]) == repr(looks[2:])  # some numbers are NaN
    assert engines[0].sampling.pass_state() == engines[1].sampling.pass_state()


@pytest.mark.parametrize("kind", KINDS)
def test_a_missing_result_leaves_no_bound_and_spends_nothing(kind):
    group, x, y = values(5, 800, "none")
    engine = engine_of(kind, group, x, 5, 0.01)
    first, *others = engine.wanted()
    engine.record_many(np.array(others), ("cycles",), y[others][:, None])
    look = engine.look()
    assert engine.wanted().tolist() == [first] and not look.met and look.index == 0 and not engine.grow()
    assert np.isnan(look.estimates["cycles"].half_width) and "1 sampled units have no result" in look.warnings[0]
    engine.record(int(first), ("cycles",), [y[first]])
    assert engine.look().index == 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "odd", [{"cells": [5, 1, 1], "apart": [False] * 3}, {"sizes": [0], "kinds": ["first"]}, {}, {"sizes": "x"}]
)
def test_the_state_of_another_pass_is_refused(kind, odd):
    engine = engine_of(kind, *values(5, 800, "none")[:2], 5, 0.01)
    with pytest.raises(JournalError, match="the journal is of another plan"):
        engine.sampling.restore_pass(odd)


@pytest.mark.parametrize("kind", KINDS)
def test_a_journal_restores_every_pass(kind):
    for seed in range(8):
        group, x, y = values(seed, 800, "tails")
        engine, states = engine_of(kind, group, x, seed, 0.005), []
        while True:
            states.append(engine.sampling.pass_state())
            units = engine.wanted()
            engine.record_many(units, ("cycles",), y[units].reshape(-1, 1))
            if engine.look().met or not engine.grow():
                break
        again = engine_of(kind, group, x, seed, 0.005)
        for number, state in enumerate(states):
            again.sampling.restore_pass(state)
            units = again.wanted()
            again.record_many(units, ("cycles",), y[units].reshape(-1, 1))
            assert again.look().met == (number == len(states) - 1)
        assert again.sampling.pass_state() == engine.sampling.pass_state()


@pytest.mark.parametrize("kind", KINDS)
def test_a_look_states_what_was_simulated(kind):
    group, x, y = values(5, 900, "none")
    engine = engine_of(kind, group, x, 5, 0.01)
    *_, look = passes(engine, ("cycles",), y)
    assert look.estimates["cycles"].simulated == pytest.approx(y[engine.drawn()].sum())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("trouble", ["none", "first units", "begin", "drift", "wrong groups"])
def test_stated_intervals_contain_the_total_as_often_as_stated(kind, trouble):
    held = 0
    for seed in range(30):
        group, x, y = values(seed, 600, trouble)
        *_, look = passes(engine_of(kind, group, x, seed, 0.05), ("cycles",), y)
        held += look.estimates["cycles"].contains(y.sum())
    assert not too_seldom(held, 30)


@pytest.mark.slow
def test_on_a_real_profile_looser_budgets_are_cheaper_on_average():
    full = read_profile(str(shared("profiles/v100_resnet50.csv.gz"))).without_communication()
    y = full.duration
    spent = np.zeros(len(BUDGETS))
    for seed in range(3):
        for k, eps in enumerate(BUDGETS):
            config = parse_config(
                {"version": 1, "policy": "kernelpoint", "error_budget": {"relative_error": eps}, "seed": seed}
            )
            design = KernelPoint(config).design(replace(full.without_results(), seed=seed, measured=True))
            engine = Engine(design, ErrorBudget(eps))
            assert list(passes(engine, ("cycles",), y))
            spent[k] += y[engine.drawn()].sum()
    assert spent.tolist() == sorted(spent)


@pytest.mark.parametrize("latency", [0.0, 5000.0])
@pytest.mark.parametrize(("noise", "between"), [(0.01, 0.05), (0.01, 0.3), (0.03, 0.05), (0.03, 0.3)])
def test_a_looser_budget_draws_no_more_of_launches_that_accel_sim_simulated_in_the_mean(noise, between, latency):
    """Predictions are the cycles beyond the launch latency of 5,000, off by `noise` each and by `between` for each kernel."""
    with gzip.open(shared("ground_truth/simpletorch_accelsim_qv100.csv.gz"), "rt") as file:
        rows = list(csv.DictReader(file))
    beyond = np.array([float(row["cycles"]) for row in rows]) - 5000.0
    kernel = np.unique([row["kernel_name"] for row in rows], return_inverse=True)[1]
    random = generator(0, f"recorded {noise} {between}")
    x = beyond * np.exp(noise * random.standard_normal(len(rows)))
    x *= np.exp(between * random.standard_normal(kernel.max() + 1))[kernel]
    drawn = []
    for eps in (0.1, 0.05, 0.02, 0.01):
        engines = [
            Engine(
                AssistedDesign({"cycles": x + latency}, kernel, permanent_random_numbers(seed, 0, len(rows)), latency=latency),
                ErrorBudget(eps),
            )
            for seed in range(8)
        ]
        assert all(list(passes(engine, ("cycles",), beyond + latency)) for engine in engines)
        drawn.append(sum(len(engine.drawn()) for engine in engines))
    assert drawn == sorted(drawn)

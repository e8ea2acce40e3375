"""Measured coverage on populations that need no files; measure.py is the full table."""

from __future__ import annotations

import numpy as np
import pytest
from alternatives import Orders, clt, one_shot, plan
from measure import ours
from populations import BEYOND_ASSUMPTIONS, SYNTHETIC, population, shared_data
from table import failing

SEEDS = 60


def row(name: str, eps: float) -> dict:
    """A row of 60 runs at 95 %, whose coverage is tested like the table's: exactly, at 1 %."""
    return {**ours(population(name), eps, 0.95, "a", SEEDS), "confidence": 0.95}


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in SYNTHETIC if name not in BEYOND_ASSUMPTIONS])
@pytest.mark.parametrize("eps", [0.05, 0.01])
def test_stated_intervals_hold_the_truth_as_often_as_stated(name, eps):
    found = row(name, eps)
    assert not failing([found]) and not failing([found], "within")
    assert found["speedup"] > 1.0


@pytest.mark.slow
def test_values_that_are_rare_large_and_unseen_are_missed_and_the_look_says_so():
    found = row("violates", 0.005)
    assert failing([found])


@pytest.mark.slow
def test_textbook_intervals_from_two_draws_do_not_hold():
    people = population("late_change")
    found = clt(Orders.of(people.y, people.signature, SEEDS), 2, 0.01, 0.95)
    assert (np.abs(found.error) <= found.half_width).mean() < 0.5


@pytest.mark.slow
def test_plans_from_the_very_times_hold_and_from_guesses_do_not():
    people = population("mixed")
    informed, guessed = (
        one_shot("stem", people.y, plan("stem", times, people.kernel, 0.01, 0.95), 0.01, SEEDS)
        for times in (people.y, np.cbrt(people.x))
    )
    assert (np.abs(informed.error) <= 0.01).mean() >= 0.9
    assert (np.abs(guessed.error) <= 0.01).mean() < 0.9


@pytest.mark.slow
@pytest.mark.parametrize("name", ["v100_resnet50", "simpletorch accelsim"])
def test_real_populations_are_covered_too(name):
    if shared_data() is None:
        pytest.skip("the real profiles are not here (set KERNELPOINT_SHARED_DATA)")
    found = row(name, 0.01)
    assert not failing([found])
    assert found["speedup"] > 3.0

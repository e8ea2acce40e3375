"""Measured coverage on populations that need no files; measure.py is the full table."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kernelpoint.estimation import ErrorBudget

sys.path.insert(0, str(Path(__file__).parent))

from measure import summary
from methods import kernelpoint, stratified_clt
from populations import population, shared_data

SEEDS = 60
ALLOWANCE = 0.07  # 2.5 standard errors of a share of 0.95 in 60 runs


@pytest.mark.slow
@pytest.mark.parametrize("name", ["drift", "tiny_and_huge", "mixed"])
@pytest.mark.parametrize("eps", [0.05, 0.01])
def test_stated_intervals_hold_the_truth_as_often_as_stated(name, eps):
    budget = ErrorBudget(eps, 0.95)
    found = summary([kernelpoint(population(name), budget, seed) for seed in range(SEEDS)], eps)
    assert found["cover"] >= 0.95 - ALLOWANCE
    assert found["within"] >= 0.95 - ALLOWANCE
    assert found["speedup"] > 1.0


@pytest.mark.slow
def test_textbook_intervals_from_two_draws_do_not():
    budget = ErrorBudget(0.01, 0.95)
    found = summary([stratified_clt(population("late_change"), budget, seed, 0.01) for seed in range(SEEDS)], 0.01)
    assert found["cover"] < 0.5


@pytest.mark.slow
@pytest.mark.parametrize("name", ["v100_resnet50", "simpletorch"])
def test_real_populations_are_covered_too(name):
    if shared_data() is None:
        pytest.skip("the real profiles are not here (set KERNELPOINT_SHARED_DATA)")
    found = summary([kernelpoint(population(name), ErrorBudget(0.01), seed) for seed in range(SEEDS)], 0.01)
    assert found["cover"] >= 0.95 - ALLOWANCE
    assert found["speedup"] > 5.0

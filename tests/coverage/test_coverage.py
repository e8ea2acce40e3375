"""Measured coverage on populations that need no files; lab/coverage/measure.py makes the full tables."""

import numpy as np
import pytest
from full_runs import SHARED_DATA
from made_up import BEYOND_ASSUMPTIONS, SYNTHETIC
from populations import population
from runs import too_seldom

from kernelpoint.estimation import ErrorBudget

SEEDS = 60


def measured(name: str, eps: float) -> tuple[int, int, float]:
    """Of 60 runs at 95 %: those whose interval holds the total, those whose error is inside the budget; speedup."""
    runs = [population(name).run(ErrorBudget(eps), seed) for seed in range(SEEDS)]
    rows = [(run.held(), abs(run.error()) <= eps * (1.0 + 1e-9), run.spent) for run in runs]
    held, inside, spent = np.array(rows, dtype=float).T
    return int(held.sum()), int(inside.sum()), 1.0 / float(spent.mean())


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in SYNTHETIC if name not in BEYOND_ASSUMPTIONS])
@pytest.mark.parametrize("eps", [0.05, 0.01])
def test_stated_intervals_hold_the_truth_as_often_as_stated(name, eps):
    held, inside, speedup = measured(name, eps)
    assert not too_seldom(held, SEEDS) and not too_seldom(inside, SEEDS)
    assert speedup > 1.0


@pytest.mark.slow
def test_values_that_are_rare_large_and_unseen_are_missed():
    assert too_seldom(measured("violates", 0.005)[0], SEEDS)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["v100_resnet50", "simpletorch accelsim"])
def test_real_populations_are_covered_too(name):
    if not SHARED_DATA.is_dir():
        pytest.skip("the real profiles are not here (set KERNELPOINT_SHARED_DATA)")
    held, _, speedup = measured(name, 0.01)
    assert not too_seldom(held, SEEDS)
    assert speedup > 3.0

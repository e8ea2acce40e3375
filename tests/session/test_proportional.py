"""Totals of counters that are estimated as ratios to predicted counters: coverage, and totals that are not stated."""

import math

import numpy as np
import pytest

from kernelpoint.session.proportional import ratio_total


def drawn_totals(seeds, between, within, drawn_groups):
    """(total, half-width, truth) over populations of 30 kernels of 10 launches, two draws of each drawn kernel."""
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        of = np.repeat(np.arange(30), 10)
        x = rng.lognormal(3.0, 1.0, 30)[of]
        y = x * np.exp(between * rng.standard_normal(30))[of] * (1.0 + within * rng.standard_normal(300))
        drawn = np.concatenate(
            [rng.choice(np.flatnonzero(of == g), 2, replace=False) for g in rng.permutation(30)[:drawn_groups]]
        )
        total, half = ratio_total(y[drawn], x[drawn], of[drawn], x, of, 0.95)
        yield total, half, float(y.sum())


@pytest.mark.parametrize(
    ("between", "within", "drawn_groups", "least"),
    [(0.2, 0.0, 20, 0.92), (0.2, 0.03, 25, 0.92), (0.0, 0.03, 30, 0.92), (1.0, 0.1, 25, 0.88)],
)
def test_half_widths_hold_the_truth(between, within, drawn_groups, least):
    held = [abs(total - truth) <= half for total, half, truth in drawn_totals(400, between, within, drawn_groups)]
    assert np.mean(held) >= least


def test_a_counter_that_few_draws_have_is_not_stated():
    x, of = np.ones(10), np.arange(10)
    rare = np.array([1.0] * 4 + [0.0] * 6)
    assert all(math.isnan(value) for value in ratio_total(rare, x, of, np.ones(20), np.arange(20), 0.95))


def test_zero_draws_say_nothing_of_others():
    x, of = np.ones(10), np.arange(10)
    assert math.isnan(ratio_total(np.zeros(10), x, of, np.ones(20), np.arange(20), 0.95)[0])


def test_a_value_where_nothing_is_predicted_contradicts_the_proportion():
    y, x = np.ones(6), np.array([1.0, 1.0, 1.0, 1.0, 1.0, 0.0])
    assert math.isnan(ratio_total(y, x, np.arange(6), np.ones(9), np.arange(9), 0.95)[0])

"""The error of replay is estimated from launches that were simulated both ways, with what it may be off."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelpoint.estimation import Compared, Estimate, dependence, enough_validations, replay_error, state_error
from kernelpoint.estimation.nonsampling.replay_error import EXPECTED_CYCLES, EXPECTED_SPREAD, READING, _successive_sums


def compared(kept, replayed, drawn, chances=None, reading=None, mean=1.0):
    n = len(kept)
    each = np.full(n, 1.0 / drawn) if chances is None else np.asarray(chances)
    return Compared(np.asarray(kept), np.asarray(replayed), each, np.ones(n) if reading is None else reading, mean, drawn)


def test_error_and_half_width_cover_the_mean_error_as_often_as_they_say():
    random_numbers = np.random.default_rng(7)
    held = []
    for _ in range(2000):
        kept = random_numbers.uniform(5000.0, 6000.0, 5)
        replayed = kept * (1.0 + random_numbers.normal(0.002, 0.003, 5))
        error = replay_error(compared(kept, replayed, 10**6), 0.95)
        held.append(abs(error.estimate) + error.half_width >= 0.002)
    assert 0.94 <= np.mean(held) <= 0.99


def test_successive_sums_estimate_the_sum_over_all_launches_whatever_the_chances():
    """Checked over all orders of three launches, each with its probability."""
    kept, missed, chances = np.array([100.0, 200.0, 50.0]), np.array([1.0, -2.0, 4.0]), np.array([0.2, 0.5, 0.3])
    total = 0.0
    for i, j in itertools.permutations(range(3), 2):
        probability = chances[i] * chances[j] / (1.0 - chances[i])
        z = missed[i] / chances[i], missed[i] + missed[j] * (1.0 - chances[i]) / chances[j]
        sums = _successive_sums(missed[[i, j]], chances[[i, j]])
        assert sums == pytest.approx(z)
        total += probability * sums.mean()
    assert total == pytest.approx(missed.sum()) and kept.sum() > 0.0


def test_validations_over_the_whole_sample_leave_no_doubt():
    kept = np.array([100.0, 110.0, 90.0])
    error = replay_error(compared(kept, kept + 1.0, 3), 0.95)
    assert (error.estimate, error.half_width) == (pytest.approx(0.01), 0.0)


def test_validations_that_agree_leave_an_error_possible_that_shrinks_with_their_number():
    widths = [replay_error(compared(np.ones(n), np.ones(n), 10**6), 0.95).half_width for n in (1, 2, 3, 12)]
    t = [4.303, 3.182, 2.776, 2.160]
    expected = [q * EXPECTED_SPREAD * (2 / (n + 1) / n) ** 0.5 for q, n in zip(t, (1, 2, 3, 12), strict=True)]
    assert widths == pytest.approx(expected, rel=1e-2)


def test_launches_that_read_from_dram_may_be_further_off_until_one_of_them_agrees():
    reading = dependence(np.array([0.0, 300.0]), np.array([1000.0, 1000.0]))
    assert reading == pytest.approx([1.0, 1.0 + READING / 10])
    kept = np.array([1000.0, 1000.0])
    unread = replay_error(compared(kept, kept, 50, reading=np.ones(2), mean=2.0), 0.95)
    agrees = replay_error(compared(kept, kept, 50, reading=reading, mean=2.0), 0.95)
    differs = replay_error(compared(kept, np.array([1000.0, 1001.0]), 50, reading=reading, mean=2.0), 0.95)
    assert unread.half_width == pytest.approx(2 * agrees.half_width)
    assert differs.half_width > unread.half_width


def test_counters_that_are_nothing_from_real_state_and_something_from_replayed_state_have_no_error_that_is_known():
    assert np.isnan(replay_error(compared(np.zeros(2), np.ones(2), 9), 0.95).half_width)
    assert replay_error(compared(np.zeros(2), np.zeros(2), 9), 0.95).half_width == 0.0
    assert np.isnan(replay_error(compared(np.zeros(0), np.zeros(0), 9), 0.95).half_width)


def two_short_launches(more, fewer, absolute=EXPECTED_CYCLES):
    kept, replayed = np.array([900.0, 900.0]), np.array([900.0 + more, 900.0 - fewer])
    return replay_error(Compared(kept, replayed, np.array([0.2, 0.05]), np.ones(2), 1.0, 16, absolute * np.ones(2)), 0.95)


def test_two_pairs_of_short_launches_cannot_state_an_error_of_per_cents():
    as_before, error = two_short_launches(18.0, 37.0, absolute=0.0), two_short_launches(18.0, 37.0)
    assert abs(as_before.estimate) > 0.02
    assert abs(error.estimate) < 0.001 and abs(error.estimate) + error.half_width < 0.005


def test_errors_beyond_what_is_expected_in_cycles_count_in_full():
    assert two_short_launches(500.0, -500.0) == two_short_launches(500.0, -500.0, absolute=0.0)


def test_long_launches_count_as_they_were_measured():
    kept = np.array([1e6, 1.2e6])
    before, error = (
        replay_error(Compared(kept, 1.004 * kept, np.full(2, 0.1), np.ones(2), 1.0, 16, a * np.ones(2)), 0.95)
        for a in (0.0, EXPECTED_CYCLES)
    )
    assert error.estimate == pytest.approx(before.estimate, rel=1e-2)
    assert error.half_width == pytest.approx(before.half_width, rel=1e-2)


@given(st.floats(1e-4, 0.1), st.floats(0.0, 0.1), st.floats(1e-5, 0.2), st.integers(1, 11))
def test_further_validations_are_as_many_as_are_needed_and_none_where_they_do_not_help(eps, bias, half, n):
    enough = enough_validations(Estimate.of(bias, half), n, eps, 0.95, 12)
    assert n <= enough <= 12
    if half <= 0.6 * (eps - bias) or bias - half > eps:
        assert enough == n
    else:
        assert enough > n


def test_errors_of_some_cycles_in_short_launches_are_covered_as_well_as_those_in_long_ones():
    random = np.random.default_rng(5)
    seen = [-8, 0, -11, 1, -5, 0, 15, -30, -1, 1]  # cycles, of validation launches of simpletorch3 in Accel-Sim

    def held(length, n=4, drawn=20):
        kept, weight = length * np.exp(random.normal(0, 0.3, drawn)), np.exp(random.normal(0, 1, drawn))
        off = random.choice(seen, drawn)
        chances = kept * weight / (kept * weight).sum()
        first = np.argsort(-np.log1p(-random.random(drawn)) / chances)[:n]
        absolute = EXPECTED_CYCLES * weight
        error = replay_error(
            Compared(
                (kept * weight)[first], ((kept + off) * weight)[first], chances[first], np.ones(n), 1.0, drawn,
                absolute[first], float((absolute**2).sum() / (kept * weight).sum() ** 2),
            ), 0.95,
        )  # fmt: skip
        return abs(error.estimate - (off * weight).sum() / (kept * weight).sum()) <= error.half_width

    for length in (800, 6000):
        assert np.mean([held(length) for _ in range(300)]) >= 0.88


def test_launches_with_other_events_than_their_state_lets_expect_show_an_error_of_that_state(monkeypatch):
    """Half begin in another state. They take a fifth less, with three times the events: of 20 more, 5.5 are chance."""
    monkeypatch.setattr("kernelpoint.estimation.nonsampling.replay_error.PREDICTION_ERROR", 0.0)
    predicted = np.random.default_rng(5).uniform(1000.0, 9000.0, 400)
    wrong = np.arange(400) % 2 == 1
    cycles, events = predicted * np.where(wrong, 0.8, 1.0), np.where(wrong, 30.0, 10.0)

    def error(units, population=400):
        n = len(units)
        weights = np.full(n, population / n)
        return state_error(
            cycles[units], predicted[units], events[None, units], np.full((1, n), 10.0), weights, population, 0.95
        )

    whole = error(np.arange(400))
    assert whole.estimate == pytest.approx((20 - 30**0.5) / 30 * (cycles - predicted).sum() / cycles.sum())
    assert whole.half_width == 0.0
    errors = [error(np.random.default_rng(seed).choice(400, 40, replace=False)) for seed in range(300)]
    assert 0.9 <= np.mean([abs(each.estimate - whole.estimate) <= each.half_width for each in errors]) <= 0.99
    assert error(np.flatnonzero(~wrong)) == Estimate.of(0.0, 0.0)

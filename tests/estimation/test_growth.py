"""Growth of stratified samples: from other strata's draws, spread over the run, in few passes."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelpoint.estimation import Design, Engine, ErrorBudget, stratify
from kernelpoint.estimation.moments import Moments
from kernelpoint.estimation.strata.growth import expected_means, next_sizes
from kernelpoint.estimation.strata.sampling import LEVELS, spread_over_run
from kernelpoint.randomness import generator, permanent_random_numbers


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 9000), st.integers(0, 11))
def test_the_least_numbers_of_a_stratum_lie_one_in_each_part_of_the_run(seed, units, levels):
    n = 2**levels
    u = spread_over_run(permanent_random_numbers(seed, 0, units), np.zeros(units, int))
    assert ((u >= 0.0) & (u < 1.0)).all()
    if n > units:
        return
    first = np.sort(np.argsort(u)[:n])
    gaps = np.diff(np.r_[first, first[0] + units])
    assert gaps.max() < 2.0 * units / min(n, 2**LEVELS) + 4.0


def test_every_unit_is_equally_likely_to_be_in_a_sample_of_any_size():
    units, runs = 11, 4000
    counts = np.zeros((3, units))
    for seed in range(runs):
        order = np.argsort(spread_over_run(permanent_random_numbers(seed, 0, units), np.zeros(units, int)))
        for row, n in enumerate((1, 3, 6)):
            counts[row, order[:n]] += 1
    for row, n in enumerate((1, 3, 6)):
        p = n / units
        assert np.abs(counts[row] / runs - p).max() < 4.5 * np.sqrt(p * (1.0 - p) / runs)


def test_strata_are_spread_each_by_itself_and_take_all_units_keep_their_numbers():
    strata = np.array([0, -1, 1] * 40)
    u = permanent_random_numbers(1, 0, 120)
    both = spread_over_run(u, strata)
    alone = spread_over_run(u[strata == 1], np.zeros(40, int))
    assert both[strata == 1].tolist() == alone.tolist()
    assert both[strata == -1].tolist() == u[strata == -1].tolist()


def test_what_changes_slowly_along_the_run_counts_a_quarter_between_neighbours():
    strata, ramp = np.repeat([0, 1], 50), np.tile(np.linspace(100.0, 200.0, 50), 2)
    assert (Moments.of_neighbours(strata, ramp, 2).variance < 0.26 * Moments.of(strata, ramp, 2).variance).all()
    noise = generator(0, "neighbours").normal(100.0, 10.0, 2000)
    plain, differences = (of(np.zeros(2000, int), noise, 1).variance[0] for of in (Moments.of, Moments.of_neighbours))
    assert differences == pytest.approx(plain, rel=0.1)


def example(seed: int) -> tuple[Design, np.ndarray]:
    """Forty signatures in a loop, each of a cost of its own, a third of them noisy; the design knows the signatures."""
    random = generator(7, "growth test")
    signature = np.tile(np.arange(40), 50)
    y = random.lognormal(3.0, 1.0, 40)[signature] * random.lognormal(
        0.0, np.where(np.arange(40) % 3 == 0, 0.8, 0.02)[signature]
    )
    u = permanent_random_numbers(seed, 0, 2000)
    design = stratify([signature], ErrorBudget(0.02), spreads=(0.3,), cluster=signature % 5).design(u, seed)
    return design, y


def test_a_stratum_grows_alike_whatever_its_own_draws_are():
    design, y = example(0)
    engine = Engine(design, ErrorBudget(0.02))
    wanted = engine.wanted()
    engine.record_many(wanted, ("cycles",), y[wanted][:, None])
    engine.look()
    means = expected_means(engine.sampling._inference)
    for h in (0, 7, 12):
        other = Engine(design, ErrorBudget(0.02))
        changed = np.where(design.strata == h, 3.0 * y, y)
        other.record_many(wanted, ("cycles",), changed[wanted][:, None])
        other.look()
        again = expected_means(other.sampling._inference)
        assert again[h] == pytest.approx(means[h], rel=1e-12)
        assert not np.allclose(np.delete(again, h), np.delete(means, h))


@pytest.mark.parametrize("eps", [0.05, 0.01])
def test_estimates_of_samples_that_grew_are_not_biased(run_passes, eps):
    errors = []
    for seed in range(50):
        design, y = example(seed)
        look = run_passes(Engine(design, ErrorBudget(eps)), y)[-1]
        errors.append(look.estimates["cycles"].estimate / y.sum() - 1.0)
    assert abs(np.mean(errors)) < 3.5 * np.std(errors) / np.sqrt(50) + 2e-4


def test_the_odder_an_unseen_launch_may_be_the_more_is_drawn():
    signature = np.tile(np.arange(4), 100)
    u = permanent_random_numbers(0, 0, 400)
    draws = [
        int(stratify([signature], ErrorBudget(0.02), spreads=(0.05,), allowance=allowance).design(u).first_sizes.sum())
        for allowance in (0.1, 0.5, 2.0)
    ]
    assert draws[0] < draws[1] < draws[2]


def of_two_strata(clusters: list[int], allowance: float = 2.0) -> Engine:
    """A look at two strata of 50 units; one draw of the first, whose unit is short, ten long ones of the second."""
    strata, y = np.repeat([0, 1], 50), np.repeat([100.0, 900.0], 50)
    u = permanent_random_numbers(0, 0, 100)
    design = Design(strata, np.array([1, 10]), u, x=np.ones(100), clusters=np.array(clusters), allowance=allowance)
    engine = Engine(design, ErrorBudget(0.05), "mean")
    wanted = engine.wanted()
    engine.record_many(wanted, ("cycles",), y[wanted][:, None])
    return engine


def test_a_stratum_whose_few_draws_are_short_may_be_like_the_others_of_its_cluster():
    alike, apart = (of_two_strata(clusters) for clusters in ([0, 0], [0, 1]))
    half = [engine.look().estimates["cycles"].half_width for engine in (alike, apart)]
    assert half[0] >= 2.0 * 50 * 500.0 * (1.0 - 1 / 50) > 2.0 * half[1]
    assert alike.grow() and apart.grow()
    assert alike.sampling.sizes[0] >= apart.sampling.sizes[0]


def test_after_the_seventh_look_everything_is_drawn():
    design, y = example(0)
    engine = Engine(design, ErrorBudget(0.02))
    wanted = engine.wanted()
    engine.record_many(wanted, ("cycles",), y[wanted][:, None])
    look = engine.look()
    late = replace(engine.sampling._inference, looks=("first",) * 7)
    assert next_sizes(late, look)[0].tolist() == design.sizes.tolist()

"""STEM's sample sizes, ROOT's and Allegro's clusters, and what differs from the public artifact on purpose."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelpoint.policies.conformance import make
from kernelpoint.policies.methods.allegro import FEWEST_DRAWS, MOST_DRAWS, draws_needed, split
from kernelpoint.policies.methods.stem import clusters_of, joint_sizes, root, sample_size
from kernelpoint.policies.time_clusters import two_means
from kernelpoint.randomness import generator

Z = 1.959963984540054
positive = st.floats(0.5, 1e6, allow_nan=False)


@given(st.lists(positive, min_size=2, max_size=9))
def test_the_cut_of_two_means_is_the_best_of_all_ways_to_split_in_two(values):
    x = np.sort(np.array(values))
    cut = two_means(x)
    if cut == 0:
        assert (x == x[0]).all()
        return

    def within(mask):
        return sum(((part - part.mean()) ** 2).sum() for part in (x[mask], x[~mask]) if len(part))

    best = min(within(np.array(mask)) for mask in itertools.product([True, False], repeat=len(x)) if len(set(mask)) == 2)
    assert within(np.arange(len(x)) < cut) <= best * (1 + 1e-6) + 1e-9 * (x**2).sum()


@given(st.lists(st.tuples(st.integers(2, 500), positive, st.floats(0.0, 2.0)), min_size=1, max_size=6))
def test_joint_sizes_keep_the_error_of_the_total_within_the_budget(rows):
    N, mean, cov = (np.array(column) for column in zip(*rows, strict=True))
    sigma = cov * mean
    m = joint_sizes(N, mean, sigma, Z / 0.05)
    V = (N.astype(float) ** 2 * sigma**2 * np.where(m < N, 1.0 / m, 0.0)).sum()
    assert (m >= 1).all() and (m <= N).all()
    assert Z * np.sqrt(V) <= 0.05 * (N * mean).sum() * (1 + 1e-9)


def test_joint_sizes_are_those_of_one_cluster_where_there_is_one():
    size = joint_sizes(np.array([1000]), np.array([10.0]), np.array([2.0]), Z / 0.05)
    assert size.tolist() == [sample_size(1000, 10.0, 2.0, Z / 0.05)] == [62]


def test_joint_sizes_cost_less_than_equal_ones_with_the_same_error():
    N, mean, sigma = np.array([500, 500]), np.array([1.0, 100.0]), np.array([0.5, 50.0])
    m = joint_sizes(N, mean, sigma, Z / 0.05)
    V = (N**2 * sigma**2 / m).sum()
    equal = np.ceil((N**2 * sigma**2).sum() / V)
    assert (m * mean).sum() <= equal * mean.sum()


@settings(deadline=None)
@given(st.lists(positive, min_size=1, max_size=60))
def test_the_clusters_of_root_hold_every_launch_once(values):
    times = np.array(values)
    leaves = root(times, np.arange(len(times)), Z / 0.05)
    assert sorted(np.concatenate([leaf.units for leaf in leaves])) == list(range(len(times)))
    assert all(1 <= leaf.m <= leaf.N == len(leaf.units) for leaf in leaves)


def test_root_never_makes_a_kernel_cost_more_than_one_cluster_would():
    rng = np.random.default_rng(0)
    times = np.concatenate([rng.normal(10, 0.5, 200), rng.normal(50, 1, 100), rng.normal(11, 0.1, 300)])
    leaves = root(times, np.arange(len(times)), Z / 0.05)
    whole = sample_size(len(times), times.mean(), times.std(), Z / 0.05) * times.mean()
    assert len(leaves) > 1
    assert sum(leaf.m * leaf.mean for leaf in leaves) <= whole


def test_equal_times_are_one_cluster_with_one_sample_and_do_not_vanish():
    leaves = root(np.full(40, 3.0), np.arange(40), Z / 0.05)
    assert [(leaf.N, leaf.m) for leaf in leaves] == [(40, 1)]


def test_times_of_zero_are_sampled_too():
    leaves = clusters_of(np.array([0.0, 0.0, 5.0, 5.0]), np.zeros(4, dtype=int), Z / 0.05)
    assert sum(leaf.N for leaf in leaves) == 4 and all(leaf.m >= 1 for leaf in leaves)


def test_kernels_are_never_mixed():
    leaves = clusters_of(np.ones(6), np.array([0, 1, 0, 1, -1, 0]), Z / 0.05)
    assert sorted(tuple(sorted(leaf.units)) for leaf in leaves) == [(0, 2, 5), (1, 3)]


@pytest.mark.parametrize("name", ["stem", "allegro"])
def test_launches_without_a_time_are_simulated(name):
    times = np.where(np.arange(120) % 10 == 3, np.nan, 1.0 + np.arange(120) % 3)
    policy, population = make(name, 120, times=times)
    strata = policy.design(population).strata
    assert (strata[np.isnan(times)] == -1).all() and (strata[~np.isnan(times)] >= 0).all()


@pytest.mark.parametrize("name", ["stem", "allegro"])
def test_a_tighter_budget_never_draws_less(name):
    drawn = []
    for relative_error in (0.25, 0.1, 0.05, 0.03, 0.01, 0.003):
        policy, population = make(name, 600, error_budget={"relative_error": relative_error})
        drawn.append(int(policy.design(population).first_sizes.sum()))
    assert drawn == sorted(drawn) and drawn[0] < drawn[-1]


def test_a_homogeneous_kernel_is_one_cluster_with_the_floor_of_thirty():
    times = np.random.default_rng(0).normal(100.0, 1.0, 400)
    leaves = split(times, np.arange(400), 1.96 / 0.05)
    assert [(leaf.N, leaf.m) for leaf in leaves] == [(400, FEWEST_DRAWS)]


def test_a_kernel_of_two_kinds_is_split_between_them():
    times = np.concatenate([np.full(50, 10.0), np.full(50, 90.0)])
    leaves = split(times, np.arange(100), 1.96 / 0.05)
    assert sorted((leaf.mean, leaf.N) for leaf in leaves) == [(10.0, 50), (90.0, 50)]


def test_fewer_than_thirty_launches_are_simulated_whole():
    leaves = split(np.arange(1.0, 11.0), np.arange(10), 1.96 / 0.5)
    assert sum(leaf.m for leaf in leaves) == 10


@given(st.lists(st.floats(0.1, 1e4), min_size=1, max_size=80), st.sampled_from([0.01, 0.05, 0.25]))
def test_every_cluster_needs_few_draws_or_cannot_be_split(values, eps):
    times = np.array(values)
    leaves = split(times, np.arange(len(times)), 1.96 / eps)
    assert sorted(np.concatenate([leaf.units for leaf in leaves])) == list(range(len(times)))
    for leaf in leaves:
        part = times[leaf.units]
        assert draws_needed(part, 1.96 / eps) < MOST_DRAWS or part.min() == part.max()
        assert leaf.m == min(leaf.N, max(FEWEST_DRAWS, int(np.ceil(draws_needed(part, 1.96 / eps)))))


def test_allegro_is_as_fast_as_published_where_kernels_are_launched_some_ten_thousand_times():
    kernel = np.repeat(np.arange(10), 40_000)
    times = 1000.0 * (1 + kernel) * np.exp(0.1 * generator(0, "long list").standard_normal(len(kernel)))
    leaves = [leaf for k in range(10) for leaf in split(times, np.flatnonzero(kernel == k), Z / 0.05)]
    assert [leaf.m for leaf in leaves] == [FEWEST_DRAWS] * 10
    short = [leaf for k in range(10) for leaf in split(times, np.flatnonzero(kernel == k)[:30], Z / 0.05)]
    assert len(kernel) / sum(leaf.m for leaf in leaves) > 984 and sum(leaf.m for leaf in short) == 300

"""Allegro's splits and floors."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kernelpoint.policies.methods.allegro import FEWEST_DRAWS, MOST_DRAWS, draws_needed, split

Z = 1.96


def test_a_homogeneous_kernel_is_one_cluster_with_the_floor_of_thirty():
    times = np.random.default_rng(0).normal(100.0, 1.0, 400)
    leaves = split(times, np.arange(400), Z / 0.05)
    assert [(leaf.N, leaf.m) for leaf in leaves] == [(400, FEWEST_DRAWS)]


def test_a_kernel_of_two_kinds_is_split_between_them():
    times = np.concatenate([np.full(50, 10.0), np.full(50, 90.0)])
    leaves = split(times, np.arange(100), Z / 0.05)
    assert sorted((leaf.mean, leaf.N) for leaf in leaves) == [(10.0, 50), (90.0, 50)]


def test_fewer_than_thirty_launches_are_simulated_whole():
    leaves = split(np.arange(1.0, 11.0), np.arange(10), Z / 0.5)
    assert sum(leaf.m for leaf in leaves) == 10


@given(st.lists(st.floats(0.1, 1e4), min_size=1, max_size=80), st.sampled_from([0.01, 0.05, 0.25]))
def test_every_cluster_needs_few_draws_or_cannot_be_split(values, eps):
    times = np.array(values)
    leaves = split(times, np.arange(len(times)), Z / eps)
    assert sorted(np.concatenate([leaf.units for leaf in leaves])) == list(range(len(times)))
    for leaf in leaves:
        part = times[leaf.units]
        assert draws_needed(part, Z / eps) < MOST_DRAWS or part.min() == part.max()
        assert leaf.m == min(leaf.N, max(FEWEST_DRAWS, int(np.ceil(draws_needed(part, Z / eps)))))

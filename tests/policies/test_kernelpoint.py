"""KernelPoint's own policy: what becomes a stratum, and what is drawn first."""

import numpy as np

from kernelpoint.policies.kernelpoint import _context, _first_sizes


def test_context_tells_equal_launches_between_other_neighbours_apart():
    label = np.array([1, 2, 1, 2, 1, 2, 3])
    context = _context(label, np.array([0, 7]))
    assert context[2] == context[4] and context[1] == context[3]
    assert context[0] != context[2] and context[5] != context[3]


def test_context_does_not_reach_into_another_process():
    together = _context(np.array([1, 2, 1, 2]), np.array([0, 4]))
    apart = _context(np.array([1, 2, 1, 2]), np.array([0, 2, 4]))
    assert together[0] != together[2]
    assert apart[0] == apart[2] and apart[1] == apart[3]


def test_first_sizes_have_the_wanted_mean_and_every_stratum_is_drawn():
    wanted, units = np.full(4000, 2.3), np.full(4000, 50)
    sizes = _first_sizes(wanted, units, seed=1)
    assert abs(sizes.mean() - 2.3) < 0.05 and sizes.min() >= 1


def test_a_random_share_of_the_strata_gets_a_second_draw():
    sizes = _first_sizes(np.ones(4000), np.full(4000, 50), seed=1)
    assert 0.15 < (sizes == 2).mean() < 0.25 and sizes.max() == 2


def test_first_sizes_never_exceed_the_stratum():
    assert _first_sizes(np.array([9.0, 1.0]), np.array([3, 1]), seed=0).tolist() == [3, 1]

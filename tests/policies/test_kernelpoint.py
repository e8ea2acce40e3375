"""KernelPoint's own policy: what becomes a stratum, and what is drawn first."""

import numpy as np

from kernelpoint.policies.kernelpoint import _context


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

"""Spreads of strata that borrow from each other."""

from __future__ import annotations

import numpy as np

from kernelpoint.estimation.pooling import fit
from kernelpoint.randomness import generator


def test_a_stratum_that_spreads_more_than_the_others_is_drawn_to_them_less_than_a_quiet_one():
    degrees = np.full(40, 8)
    own = 1e-4 * generator(0, "chi-square").chisquare(8, 40) / 8.0
    own[0] = 0.36
    population = fit(own, degrees, np.ones(40))
    shrunk, weight = population.shrink(own, degrees)
    assert weight[0] > 0.6 > 0.3 > weight[1]
    assert shrunk[0] > 0.5 * own[0]
    assert (shrunk[1:] > own[1:]).all()

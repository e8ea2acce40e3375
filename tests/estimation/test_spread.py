"""Spreads of strata that borrow from each other."""

import numpy as np

from kernelpoint.estimation.constants import PRIOR_DEGREES
from kernelpoint.estimation.strata.pooling import fit
from kernelpoint.randomness import generator


def test_every_stratum_is_drawn_to_what_the_others_let_one_expect():
    degrees = np.full(40, 8)
    own = 1e-4 * generator(0, "chi-square").chisquare(8, 40) / 8.0
    own[0] = 0.36
    population = fit(own, degrees, np.ones(40))
    shrunk, weight = population.shrink(own, degrees, np.full(40, population.mean))
    assert np.allclose(weight, 8.0 / (8.0 + PRIOR_DEGREES), rtol=0.05)
    assert population.mean < shrunk[0] < 0.25 * own[0]
    assert (shrunk[1:] > own[1:]).all()

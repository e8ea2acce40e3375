"""Lines through few draws, and neighbours from which a spread is estimated."""

import numpy as np
import pytest

from kernelpoint.estimation.cells.fit import CellSample, Trust, fit_total


def sample(x, mean_x, order):
    """One draw in each cell of 100 launches of one kernel."""
    n, square = len(x), mean_x**2 + 1.0
    N, zero = np.full(n, 100.0), np.zeros(n)
    return CellSample(x, x, zero.astype(int), order, N, mean_x, square, np.ones(n), zero, zero, float((N * mean_x).sum()), 1)


def test_a_line_through_two_other_draws_moves_no_draw_of_another_length():
    x, mean_x = np.array([10.0, 160.0, 163.0]), np.array([45.0, 160.0, 163.0])
    s = sample(x, mean_x, np.arange(3))
    fit = fit_total(x * [1.0, 0.983, 1.0], s, 0.05, Trust())
    assert fit.estimate == pytest.approx(s.X, rel=0.02)


def test_neighbours_are_neighbouring_cells_whatever_the_order_of_their_draws():
    """Two cells of each quarter of the run, one of shorter launches, which drift by 10 % from quarter to quarter."""
    order = np.array([0, 100, 200, 300, 10, 110, 210, 310])
    same = np.full(8, 100.0)
    fit = fit_total(same + 0.1 * order, sample(same, same, order), 0.05, Trust())
    assert fit.spread.K >= 0.5 * 0.1**2

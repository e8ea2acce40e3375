"""Means over the leaves of a tree of cells."""

import numpy as np

from kernelpoint.estimation.cells.tree import Cells


def test_means_over_leaves_are_those_of_plain_loops_kept_or_not():
    random = np.random.default_rng(3)
    x, group, other = random.random(300), random.integers(0, 4, 300), random.random(300)
    cells = Cells(x, group, 0.5, name="cycles", added=0.25)
    told = {"cycles": x + 0.25, "cycles x": x, "misses": other, "": other}
    for n in (4, 30, 4):  # the second time leaves have been cut, and units put in another order
        for name, values in told.items():
            for of in (None, lambda v, g: v * 1.5 + g):
                expected = values if of is None else of(values, group)
                found = cells.means(n, lambda places, v=values: v[places], name, of)
                units = [cells.order[a:b] for a, b in zip(cells.leaves(n).start, cells.leaves(n).end, strict=True)]
                for means, power in zip(found, (1, 2), strict=True):
                    np.testing.assert_allclose(means, [(expected[u] ** power).mean() for u in units], rtol=1e-12)

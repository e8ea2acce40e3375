"""In how many launches there may be some of a counter that no simulated launch has any of."""

import numpy as np
import pytest

from kernelpoint.estimation import AssistedDesign, Design, Engine, ErrorBudget, passes
from kernelpoint.totals.rules import unmet_shares

N, GROUPS, SEEDS = 1000, 10, 60


def designed(kind, x, groups, u):
    if kind == "cells":
        return AssistedDesign({"cycles": x}, groups, u)
    return Design(groups, np.full(GROUPS, 2), u, x=x)


@pytest.mark.parametrize("kind", ["cells", "strata"])
@pytest.mark.parametrize("part", [0.01, 0.05, 0.15])
def test_no_more_launches_than_stated_have_some_in_95_of_100_runs(kind, part):
    right, unmet = [], 0
    for seed in range(SEEDS):
        random = np.random.default_rng(seed)
        groups = np.repeat(np.arange(GROUPS, dtype=np.int32), N // GROUPS)
        x = 1000.0 + 100.0 * groups
        spills = (random.random(N) < part) * 8.0
        engine = Engine(designed(kind, x, groups, random.random(N)), ErrorBudget(0.05))
        results = np.column_stack([x * random.uniform(0.9, 1.1, N), spills])
        *_, look = passes(engine, ("cycles", "spills"), results)
        share = unmet_shares(look, engine, 0.95).get("spills")
        unmet += share is not None
        right.append(share is None or (spills > 0.0).mean() <= share)
    assert np.mean(right) >= 0.95 and (unmet > 0 or part > 0.1)


def test_nothing_is_said_where_every_launch_was_simulated():
    design = Design.take_all(np.linspace(0.0, 0.9, 9))
    engine = Engine(design, ErrorBudget(0.05))
    *_, look = passes(engine, ("cycles", "spills"), np.column_stack([np.full(9, 7.0), np.zeros(9)]))
    assert unmet_shares(look, engine, 0.95) == {}

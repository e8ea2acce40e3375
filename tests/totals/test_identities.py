"""Estimates agree with each other."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelpoint.estimation import Design, Engine, ErrorBudget
from kernelpoint.totals.identities import AT_MOST, IDENTITIES, Balance, with_identities

READS, WRITES, ALL = "l2_global_reads", "l2_global_writes", "l2_accesses"
SUM = {READS: 1.0, WRITES: 1.0, ALL: -1.0}
HITS = {"l2_global_read_hits": 1.0, READS: -1.0}


def looked(rows, counters):
    """The engine and the look of a sample of a tenth of a population."""
    n = 10 * len(rows)
    budget = ErrorBudget(0.05, counter=counters[0])
    engine = Engine(Design(np.zeros(n, int), np.array([len(rows)]), np.arange(n) / n), budget)
    for unit, row in zip(engine.wanted().tolist(), rows, strict=True):
        engine.record(unit, counters, row)
    return engine, engine.look()


def test_parts_add_up_where_they_do_in_each_simulated_launch():
    rows = [(reads, writes, reads + writes) for reads, writes in ((3.0, 4.0), (9.0, 1.0), (5.0, 5.0), (2.0, 7.0))]
    engine, look = looked(rows, (READS, WRITES, ALL))
    look.estimates[ALL] = look.estimates[ALL].__class__(ALL, 99.0, 0.0, 0.0, 0.0, math.inf, 0.95, 36.0, 0.0)
    totals = with_identities(look, engine, ["cycles"]).estimates
    assert totals[READS].estimate + totals[WRITES].estimate == pytest.approx(99.0)
    assert totals[ALL] == look.estimates[ALL], "exact totals stay"


def test_an_identity_that_one_launch_contradicts_is_none():
    engine, look = looked([(3.0, 4.0, 7.0), (9.0, 1.0, 12.0)], (READS, WRITES, ALL))
    totals = with_identities(look, engine, ["cycles"]).estimates
    assert [e.estimate for e in totals.values()] == [e.estimate for e in look.estimates.values()]


def test_a_counter_of_which_nothing_is_known_is_taken_from_the_others():
    balance = Balance({READS: 5.0, WRITES: 40.0, ALL: 100.0}, {READS: math.inf, WRITES: 2.0, ALL: 1.0}, {}, {})
    balance.derive(SUM)
    assert (balance.values[READS], balance.half_widths[READS]) == (60.0, 3.0)


def test_the_counter_of_the_budget_stays():
    engine, look = looked([(3.0, 4.0, 7.0), (9.0, 1.0, 10.0), (4.0, 2.0, 6.0)], (READS, WRITES, ALL))
    look.estimates[READS] = look.estimates[READS].__class__(READS, 500.0, 9.0, 0.018, 4.0, 3.0, 0.95, 16.0)
    assert with_identities(look, engine, [READS]).estimates[READS] == look.estimates[READS]


amounts = st.floats(0.0, 1e6)


@given(st.lists(st.tuples(amounts, amounts), min_size=4, max_size=4))
def test_no_value_is_impossible_and_an_interval_that_held_still_does(pairs):
    names = (READS, WRITES, ALL, "l2_global_read_hits")
    truth = dict(zip(names, (60.0, 40.0, 100.0, 30.0), strict=True))
    values = {name: value for name, (value, _) in zip(names, pairs, strict=True)}
    widths = {name: abs(values[name] - truth[name]) + more for name, (_, more) in zip(names, pairs, strict=True)}
    balance = Balance(dict(values), dict(widths), {"l2_global_read_hits": 5.0}, {})
    balance.project([SUM], [HITS])
    balanced, tolerance = balance.values, 1e-3 * max(1.0, *values.values())
    assert balanced[READS] + balanced[WRITES] == pytest.approx(balanced[ALL], abs=tolerance)
    assert balanced["l2_global_read_hits"] <= balanced[READS] + tolerance
    assert all(abs(balanced[name] - truth[name]) <= balance.half_widths[name] + tolerance for name in names)


def test_identities_and_limits_name_each_counter_once():
    assert all(len(terms) == len({*terms}) > 1 for terms in IDENTITIES)
    assert len({*AT_MOST}) == len(AT_MOST)

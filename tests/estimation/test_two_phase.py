"""Two-phase sampling: predictions of a first sample only, and a bound that knows what both samples leave."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelpoint.estimation import Design, Engine, ErrorBudget, StrataSampling, TwoPhaseDesign
from kernelpoint.estimation.constants import FIRST_SHARE
from kernelpoint.estimation.two_phase import donors
from kernelpoint.randomness import generator, permanent_random_numbers

UNITS, STRATA = 600, 12


def truth(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Strata of unlike size, each with a mean and a spread of its own; the first launch of each is certain."""
    random = generator(seed, "two-phase test")
    strata = random.integers(0, STRATA, UNITS)
    y = 1000.0 * random.lognormal(0.0, 1.0, STRATA)[strata] * np.exp(0.1 * random.standard_normal(UNITS))
    strata[np.unique(strata, return_index=True)[1]] = -1
    return strata, y


def phase_of(strata, y, seed: int, drawn: int = 8, wrong: float = 0.02, eps: float = 0.001) -> TwoPhaseDesign:
    """A first sample of `drawn` units in each stratum, predicted up to `wrong`; 20 % too small as a whole."""
    design = Design(strata, np.full(STRATA, drawn), permanent_random_numbers(seed, 0, UNITS), allowance=0.1, balanced=True)
    first = StrataSampling(design, ErrorBudget(eps), "mean")
    observed = np.zeros(UNITS, dtype=bool)
    observed[first.drawn()] = True
    noise = np.exp(wrong * generator(0, "wrong").standard_normal(UNITS))
    x = np.where(observed, 0.8 * y * noise, np.nan)
    u = generator(seed, "second sample").random(UNITS)
    return TwoPhaseDesign(first, observed, {"cycles": x}, np.maximum(strata, 0) % 5, u)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(-1, 3), st.booleans()), min_size=1, max_size=60))
def test_donors_are_of_the_sample_and_stand_for_as_many_each(units):
    strata, sample = (np.array(column) for column in zip(*units, strict=True))
    donor = donors(strata, sample)
    for h in range(4):
        inside = np.flatnonzero(strata == h)
        given_, other = inside[sample[inside]], inside[~sample[inside]]
        assert (donor[given_] == given_).all()
        if not len(given_):
            assert (donor[other] == other).all()
            continue
        shares = np.bincount(np.searchsorted(given_, donor[other]), minlength=len(given_))
        assert np.isin(donor[other], given_).all() and shares.max() - shares.min() <= 1
        assert (np.diff(donor[other]) >= 0).all()  # in order, so that neighbours stand for each other
    assert (donor[strata < 0] == np.flatnonzero(strata < 0)).all()


@pytest.mark.parametrize("wrong", [0.05, 0.6])
def test_the_estimate_is_unbiased_and_its_standard_error_is_what_it_errs_by(wrong):
    strata, y = truth()
    errors, claimed = [], []
    for seed in range(40):
        engine = Engine(phase_of(strata, y, seed, wrong=wrong), ErrorBudget(0.001))
        wanted = engine.wanted()
        engine.record_many(wanted, ("cycles",), y[wanted][:, None])
        total = engine.look().estimates["cycles"]
        errors.append(total.estimate - y.sum())
        claimed.append(total.std_error)
    rms, mean = float(np.sqrt(np.mean(np.square(errors)))), float(np.mean(errors))
    assert abs(mean) < 3.5 * rms / np.sqrt(len(errors))
    assert rms < 1.15 * float(np.sqrt(np.mean(np.square(claimed))))


@pytest.mark.parametrize("wrong", [0.02, 3.0])
def test_stated_intervals_hold_whatever_the_model_is(run_passes, wrong):
    strata, y = truth(1)
    held, simulated = 0, []
    for seed in range(20):
        phase = phase_of(strata, y, seed, wrong=wrong)
        engine = Engine(phase, ErrorBudget(0.05))
        while True:
            wanted = engine.wanted()
            if not phase.observed[wanted].all():
                break
            engine.record_many(wanted, ("cycles",), y[wanted][:, None])
            look = engine.look()
            if look.met or not engine.grow():
                break
        held += look.estimates["cycles"].contains(y.sum())
        simulated.append(engine.results.count)
    assert held >= 19
    assert np.mean(simulated) < 0.5 * phase.observed.sum() or wrong > 0.1


def test_where_all_observed_units_are_simulated_it_is_the_stratified_estimator():
    """12 strata of 50, 10 observed of each: every unit stands for as many."""
    strata = np.arange(UNITS) % STRATA
    y = truth()[1]
    phase = phase_of(strata, y, 3, drawn=10)
    engine = Engine(phase, ErrorBudget(0.001))
    units = np.flatnonzero(phase.observed)
    while not engine.sampling._parts.whole:
        wanted = engine.wanted()
        engine.record_many(wanted, ("cycles",), y[wanted][:, None])
        engine.look()
        engine.sampling._parts.set(engine.sampling._parts.counts)
    wanted = engine.wanted()
    engine.record_many(wanted, ("cycles",), y[wanted][:, None])
    total = engine.look().estimates["cycles"]
    plain = phase_of(strata, y, 3, drawn=10).first
    plain.results.add(units, ("cycles",), y[units][:, None])
    other = plain.look(0, plain.budget).estimates["cycles"]
    assert (total.estimate, total.std_error) == pytest.approx((other.estimate, other.std_error))
    assert total.simulated == pytest.approx(float(y[units].sum()))


@pytest.mark.parametrize("drawn", [4, 10])
def test_a_stated_launch_latency_is_added_to_the_total_and_to_no_error(drawn):
    """Results and predictions, and both with 5,000 cycles each of which the simulator states 5,000; all observed are drawn."""
    strata, y = truth()
    totals = []
    for latency in (0.0, 5000.0):
        phase = phase_of(strata, y, 3, drawn=drawn)
        first = StrataSampling(phase.first.design.with_latency(latency), ErrorBudget(0.001), "mean")
        x = {"cycles": phase.predictions["cycles"] + latency}
        engine = Engine(TwoPhaseDesign(first, phase.observed, x, phase.groups, phase.u), ErrorBudget(0.05))
        engine.sampling._parts.set(engine.sampling._parts.counts)
        wanted = engine.wanted()
        engine.record_many(wanted, ("cycles",), y[wanted][:, None] + latency)
        totals.append((engine.look().estimates["cycles"], engine.predict(np.arange(UNITS))))
    (without, values), (with_latency, more) = totals
    assert with_latency.estimate == pytest.approx(without.estimate + 5000.0 * UNITS) and with_latency.std_error > 0.0
    assert with_latency.std_error == pytest.approx(without.std_error, rel=0.01)
    assert more == pytest.approx(values + 5000.0)


def test_a_first_sample_that_is_short_asks_for_further_units_and_then_meets_the_budget():
    strata, y = truth()
    eps, drawn, looks = 0.01, 3, 0
    phase = phase_of(strata, y, 5, drawn=drawn, eps=eps)
    engine = Engine(phase, ErrorBudget(eps))
    results: dict[int, float] = {}
    while True:
        wanted = engine.wanted()
        if not phase.observed[wanted].all():
            more = engine.sampling.with_spare(2.0)
            assert phase.observed[engine.drawn()].sum() < len(engine.drawn()) and set(wanted) - set(results) <= set(more)
            phase.observed[more] = True
            phase.predictions["cycles"][more] = 0.8 * y[more]
            phase.first.restrict_to(phase.observed)
            engine = Engine(phase, ErrorBudget(eps))
            for unit, value in results.items():
                engine.record(unit, ("cycles",), [value])
            wanted = engine.wanted()
        results |= {int(unit): float(y[unit]) for unit in wanted}
        engine.record_many(wanted, ("cycles",), y[wanted][:, None])
        look, looks = engine.look(), looks + 1
        if look.met:
            break
        assert engine.grow() and looks < 20
    assert look.estimates["cycles"].contains(y.sum()) and int(phase.observed.sum()) > drawn * STRATA


def test_units_behind_a_gap_in_the_order_of_draws_are_not_of_the_first_sample():
    strata, y = truth()
    phase = phase_of(strata, y, 1)
    order = np.flatnonzero(phase.observed & (strata == 0))
    kept = phase.first.u[order].argsort()
    phase.observed[order[kept[3]]] = False
    phase.first.restrict_to(phase.observed)
    assert sorted(np.flatnonzero(phase.sample & (strata == 0)).tolist()) == sorted(order[kept[:3]].tolist())


def test_a_unit_that_can_have_no_result_gives_way_to_others_of_its_stratum():
    strata, y = truth()
    phase = phase_of(strata, y, 1)
    engine = Engine(phase, ErrorBudget(0.05))
    lost = int(next(unit for unit in engine.wanted() if strata[unit] >= 0))
    other = engine.leaving_out([lost])
    assert lost not in other.wanted() and phase.observed[other.wanted()].all()
    wanted = other.wanted()
    other.record_many(wanted, ("cycles",), y[wanted][:, None])
    total = other.look().estimates["cycles"]
    assert total.contains(y.sum()) and total.half_width > 0.0


def test_predictions_add_up_to_the_estimate_and_a_restored_pass_draws_the_same():
    strata, y = truth()
    engine = Engine(phase_of(strata, y, 2, wrong=0.5), ErrorBudget(0.002))
    for whole in (False, True):
        if whole:
            engine.sampling._parts.set(engine.sampling._parts.counts)
        wanted = engine.wanted()
        engine.record_many(wanted, ("cycles",), y[wanted][:, None])
        look = engine.look()
        assert engine.predict(np.arange(UNITS)).sum() == pytest.approx(look.estimates["cycles"].estimate)
    again = Engine(phase_of(strata, y, 2), ErrorBudget(0.002))
    again.sampling.restore_pass(engine.sampling.pass_state())
    assert again.drawn().tolist() == engine.drawn().tolist()


def test_every_pass_but_that_of_the_whole_first_sample_has_something_to_simulate():
    """Copies of few units: most further draws are of units that have a result."""
    strata, y = truth()
    for seed in range(10):
        engine = Engine(phase_of(strata, y, seed, drawn=3, wrong=0.5, eps=0.02), ErrorBudget(0.02))
        while len(wanted := engine.wanted()) or engine.sampling._parts.whole:
            if not engine.sampling._phases.observed[wanted].all():
                break
            engine.record_many(wanted, ("cycles",), y[wanted][:, None])
            if engine.look().met or not engine.grow():
                break
        else:
            raise AssertionError("a pass without a launch")


def test_a_first_sample_that_is_short_is_sized_for_its_share_of_the_budget():
    strata, y = truth()
    sizes = {}
    for eps in (0.01, 0.01 * FIRST_SHARE):
        engine = Engine(phase_of(strata, y, 1, drawn=20, wrong=0.0), ErrorBudget(eps))
        engine.record_many(engine.wanted(), ("cycles",), y[engine.wanted()][:, None])
        engine.look()
        first, look = engine.sampling._first_with_results(engine.budget)
        assert first.budget.relative_error < eps and (first.drawn() == engine.sampling._phases.first.drawn()).all()
        assert engine.sampling._phases.first.budget == ErrorBudget(0.001), "the first sample's own budget stays"
        assert first.grow(first.budget, look)
        sizes[eps] = int(first.sizes.sum())
    assert sizes[0.01] < sizes[0.01 * FIRST_SHARE]


def test_a_first_sample_whose_few_units_are_short_may_be_like_the_others_of_its_cluster():
    """Two strata of 100 units, predicted exactly; two short units observed of the first, ten long ones of the second."""
    strata, y = np.repeat([0, 1], 100), np.repeat([100.0, 900.0], 100)
    half = []
    for clusters in ([0, 0], [0, 1]):
        u = permanent_random_numbers(0, 0, 200)
        design = Design(strata, np.array([2, 10]), u, x=np.ones(200), clusters=np.array(clusters), allowance=2.0)
        first = StrataSampling(design, ErrorBudget(0.05), "mean")
        observed = np.isin(np.arange(200), first.drawn())
        x = {"cycles": np.where(observed, y, np.nan)}
        engine = Engine(TwoPhaseDesign(first, observed, x, strata, u[::-1]), ErrorBudget(0.05))
        wanted = engine.wanted()
        engine.record_many(wanted, ("cycles",), y[wanted][:, None])
        half.append(engine.look().estimates["cycles"].half_width)
    assert half[0] == pytest.approx(2.0 * 500.0 * 98 / 2, rel=0.1) and half[0] > 2.0 * half[1]

"""The engine: passes, records, refusals, growth; each interim analysis at the end of a pass spends error probability."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelpoint.errors import ConfigError, HostError
from kernelpoint.estimation import AssistedDesign, Design, Engine, ErrorBudget, passes, stratify
from kernelpoint.estimation.bounds import error_probability
from kernelpoint.estimation.constants import MOST_LOOKS
from kernelpoint.policies.labels import context
from kernelpoint.randomness import generator, permanent_random_numbers


def example(seed: int = 0, units: int = 400, strata: int = 6, spread: float = 0.1) -> tuple[Design, np.ndarray]:
    """A design and its true values: log-normal spread around very different means, x close to y."""
    random = generator(seed, "estimation test")
    h = random.integers(-1, strata, units).astype(np.int32)
    h[:strata] = np.arange(strata)
    mean = random.lognormal(4.0, 1.5, strata + 1)
    x = mean[h] * random.lognormal(0.0, spread, units)
    y = (100.0 + 3.0 * x) * random.lognormal(0.0, spread / 4.0, units)
    u = permanent_random_numbers(seed, 0, units)
    return Design(h, np.full(strata, 2), u, x=x, clusters=np.arange(strata) % 2), y


def in_context(label: np.ndarray) -> np.ndarray:
    return context(label, np.array([0, len(label)]))


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 10_000),
    st.sampled_from(["regression", "ratio", "mean"]),
    st.sampled_from([0.3, 0.05, 0.001]),
)
def test_a_run_ends_with_the_budget_met_or_everything_simulated(run_passes, seed, estimate, eps):
    design, y = example(seed)
    engine = Engine(design, ErrorBudget(eps), estimate)
    looks = run_passes(engine, y)
    assert looks[-1].met
    assert len(looks) <= 8
    for e in looks[-1].estimates.values():
        assert e.relative_half_width <= eps
    for look in looks:
        assert all(not e.std_error < 0.0 and not e.half_width < 0.0 for e in look.estimates.values())
    predicted = engine.predict(np.arange(len(y)))
    assert predicted.sum() == pytest.approx(looks[-1].estimates["cycles"].estimate)


def test_everything_simulated_leaves_no_half_width(run_passes):
    design, y = example()
    looks = run_passes(Engine(design, ErrorBudget(1e-9)), y)
    final = looks[-1].estimates["cycles"]
    assert final.half_width == 0.0
    assert final.estimate == pytest.approx(y.sum(), rel=1e-12)
    assert final.simulated == pytest.approx(y.sum(), rel=1e-12)


def test_sizes_and_thresholds_only_grow_and_change_only_between_passes():
    design, y = example()
    engine = Engine(design, ErrorBudget(0.002))
    before = engine.sampling.thresholds
    for _ in range(3):
        inside = engine.sampling.thresholds
        for unit in engine.wanted():
            engine.record(int(unit), ("cycles",), [y[unit]])
            assert (engine.sampling.thresholds == inside).all()
        assert (engine.sampling.thresholds >= before).all()
        drawn = engine.drawn()
        expected = np.flatnonzero((design.strata < 0) | (design.u <= engine.sampling.thresholds[design.strata]))
        assert drawn.tolist() == expected.tolist()
        before = engine.sampling.thresholds
        engine.look()
        engine.grow()


def test_a_purposive_sample_represents_its_strata_without_a_bound():
    strata = np.array([0, 0, 0, 1, 1, -1], dtype=np.int32)
    design = Design(strata, np.array([1, 1]), np.linspace(0, 0.9, 6), chosen=np.array([2, 3]))
    engine = Engine(design, ErrorBudget(0.01))
    assert engine.wanted().tolist() == [2, 3, 5]
    engine.record_many(np.array([2, 3, 5]), ("cycles",), np.array([[10.0], [4.0], [7.0]]))
    look = engine.look()
    assert look.estimates["cycles"].estimate == 3 * 10 + 2 * 4 + 7
    assert math.isnan(look.estimates["cycles"].half_width) and not look.met and not engine.grow()


def test_a_separate_ratio_is_for_purposive_samples_only():
    strata, x = np.zeros(4, np.int32), np.array([1.0, 2.0, 3.0, 4.0])
    design = Design(strata, np.array([1]), np.linspace(0, 0.9, 4), x=x, chosen=np.array([1]))
    engine = Engine(design, ErrorBudget(0.01), "separate_ratio")
    engine.record(1, ("cycles",), [6.0])
    assert engine.look().estimates["cycles"].estimate == pytest.approx(30.0)
    with pytest.raises(ConfigError, match="only if the design names its sample"):
        Engine(Design(strata, np.array([1]), np.linspace(0, 0.9, 4), x=x), ErrorBudget(0.01), "separate_ratio")


def test_ratios_and_other_counters_come_with_bounds_of_their_own():
    design, y = example()
    engine = Engine(design, ErrorBudget(0.05), ratios={"ipc": ("instructions", "cycles")})
    instructions = 2.0 * y
    *_, look = passes(engine, ("cycles", "instructions"), np.stack((y, instructions), axis=1))
    assert look.ratios["ipc"].estimate == pytest.approx(2.0)
    assert look.ratios["ipc"].std_error < 0.01
    assert look.estimates["instructions"].estimate == pytest.approx(2.0 * look.estimates["cycles"].estimate)
    assert look.estimates["instructions"].contains(instructions.sum())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda e: e.record(400, ("cycles",), [1.0]), "result of launch 400, which is not in the plan; allowed: 0 to 399"),
        (lambda e: [e.record(0, ("cycles",), [1.0]) for _ in range(2)], "launch 0: got a second result"),
        (lambda e: e.record(0, ("cycles",), [math.nan]), "allowed: finite numbers"),
        (
            lambda e: [e.record(i, (n,), [1.0]) for i, n in enumerate(("cycles", "time"))],
            "launch 1: its result has the counters",
        ),
        (lambda e: e.record(-1, ("cycles",), [1.0]), "got a result of launch -1"),
    ],
)
def test_impossible_results_are_refused(call, message):
    with pytest.raises(HostError, match=message):
        call(Engine(example()[0], ErrorBudget(0.01)))


def test_a_counter_that_the_host_does_not_report_is_refused_by_name():
    engine = Engine(example()[0], ErrorBudget(0.01, counter="joules"))
    for unit in engine.wanted():
        engine.record(int(unit), ("cycles",), [1.0])
    with pytest.raises(ConfigError, match="does not report 'joules'; allowed: cycles"):
        engine.look()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"u": np.full(3, 0.5)}, "design.u has 3 values"),
        ({"u": np.full(400, 1.0)}, r"\[0, 1\)"),
        ({"first_sizes": np.ones(2, np.int64)}, "allowed: -1 to 1"),
        ({"chosen": np.array([0])}, "has no launch of stratum"),
    ],
)
def test_designs_that_cannot_be_are_refused(change, message):
    good = {k: getattr(example()[0], k) for k in ("strata", "first_sizes", "u")}
    with pytest.raises(ConfigError, match=message):
        Design(**{**good, **change})


@pytest.mark.parametrize("change", [{"relative_error": 0.0}, {"confidence": 1.0}, {"bound": "fixed"}])
def test_budgets_out_of_range_are_refused(change):
    with pytest.raises(ConfigError, match="is not allowed"):
        ErrorBudget(**{"relative_error": 0.01, **change})


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=200), st.sampled_from([0.2, 0.01]))
def test_strata_from_labels_hold_every_unit_once_and_respect_the_labels(signature, eps):
    labels = np.array(signature)
    strata = stratify([labels, in_context(labels)], ErrorBudget(eps), spreads=(1.5, 0.05))
    design = strata.design(permanent_random_numbers(0, 0, len(labels)))
    assert design.sizes.sum() == len(labels)
    assert (design.first_sizes >= 1).all() and (design.first_sizes <= design.sizes).all()
    for h in range(len(design.sizes)):
        assert len(set(labels[design.strata == h])) == 1


def test_context_splits_only_where_it_is_expected_to_pay():
    signature = np.tile([0, 1, 0, 2], 200)
    u = permanent_random_numbers(0, 0, 800)
    strata = [
        len(stratify([signature, in_context(signature)], ErrorBudget(0.01), spreads=spreads).design(u).sizes)
        for spreads in ((0.5, 0.01), (0.01, 0.009))
    ]
    assert strata[0] > strata[1] == 3


@pytest.mark.parametrize("with_predictions", [False, True])
def test_the_largest_confidence_below_one_is_computed(with_predictions):
    x, u = 100.0 + np.arange(1000) % 7, permanent_random_numbers(0, 0, 1000)
    strata = np.zeros(1000, np.int32)
    budget = ErrorBudget(0.01, math.nextafter(1.0, 0.0))
    design = AssistedDesign({"cycles": x}, strata, u) if with_predictions else Design(strata, np.array([4]), u)
    *_, look = passes(Engine(design, budget), ("cycles",), 1.1 * x)
    assert look.met and look.estimates["cycles"].contains(1.1 * x.sum())


def ever_wrong(runs: int = 100) -> float:
    """Share of runs with a wrong statement at any of six looks, on one stratum of 3,000 normal values; alpha = 0.2."""
    y = 1000.0 + 100.0 * generator(1, "optional stopping").standard_normal(3000)
    wrong = 0
    for seed in range(runs):
        u = permanent_random_numbers(seed, 0, len(y))
        engine = Engine(Design(np.zeros(len(y), np.int32), np.array([8]), u), ErrorBudget(1e-6, 0.8), "mean")
        for _ in range(6):
            wanted = engine.wanted()
            engine.record_many(wanted, ("cycles",), y[wanted][:, None])
            if not engine.look().estimates["cycles"].contains(y.sum()):
                wrong += 1
                break
            engine.grow()
            engine.sampling.sizes = np.minimum(8 * 2 ** np.array([engine.sampling.looks]), len(y))
    return wrong / runs


def test_looking_again_and_again_does_not_break_the_bound():
    assert ever_wrong() <= 0.2


def test_error_probabilities_never_add_up_to_more_than_alpha():
    random = generator(0, "kinds")
    for _ in range(50):
        kinds = ("first", *random.choice(["learning", "sized"], MOST_LOOKS - 1))
        spent = sum(error_probability("sequential", 0.05, kinds[: k + 1]) for k in range(len(kinds)))
        assert spent <= 0.05


def test_no_draw_may_stand_for_more_of_the_total_than_the_budget_bears(run_passes):
    y = np.full(5000, 100.0)  # nothing varies, so estimated variances are as small as can be
    u = permanent_random_numbers(0, 0, len(y))
    engine = Engine(Design(np.zeros(5000, np.int32), np.array([2]), u), ErrorBudget(0.01), "mean")
    assert run_passes(engine, y)[-1].met and len(engine.drawn()) >= 20


@pytest.mark.parametrize("slow_excess", [0.0, 2.0])
def test_no_outlier_is_assumed_in_a_launch_latency_that_the_simulator_states(slow_excess):
    """9 of 10 cycles are latency: what an outlier may add falls to a tenth of it; estimates and their scatter stay."""
    design, y = example(3)
    latency, looks, guards = 9.0 * y.mean(), [], []
    for stated in (0.0, latency):
        engine = Engine(replace(design, slow_excess=slow_excess).with_latency(stated), ErrorBudget(0.05))
        engine.record_many(engine.wanted(), ("cycles",), (latency + y)[engine.wanted(), None])
        looks.append(engine.look().estimates["cycles"])
        guards.append(engine.sampling.errors([(1.0, "cycles")]).guard)
    assert looks[0].estimate == looks[1].estimate and looks[0].std_error == looks[1].std_error > 0.0
    share = y[design.strata >= 0].sum() / (latency + y)[design.strata >= 0].sum()
    assert 0.0 < guards[1] < 3.0 * share * guards[0], "strata are unlike, so their shares beyond the latency are"


def test_a_stated_launch_latency_needs_no_draws():
    """9 of 10 cycles are latency: a budget of 1 % allows 10 % of the others, if it is stated."""
    drawn = []
    for latency in (False, True):
        counts = []
        for seed in range(5):
            design, y = example(seed)
            latency_of_all = 9.0 * y.mean()
            engine = Engine(design.with_latency(latency_of_all if latency else 0.0), ErrorBudget(0.01))
            *_, look = passes(engine, ("cycles",), latency_of_all + y)
            assert look.met and look.estimates["cycles"].contains(float((latency_of_all + y).sum()))
            counts.append(len(engine.drawn()))
        drawn.append(np.mean(counts))
    assert drawn[1] < drawn[0]


def test_a_purposive_sample_keeps_the_estimator_of_its_paper_where_a_latency_is_stated():
    design = Design.purposive(np.array([0, 1, 0]), np.array([0.3, 0.1, 0.9]), np.array([2, 1]))
    assert design.with_latency(5000.0).constant("cycles") == 0.0

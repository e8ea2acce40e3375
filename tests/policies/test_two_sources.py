"""Two sources of predictions: the time of a launch in a profile, and the mean time of launches that are alike."""

import numpy as np
import pytest

from kernelpoint.config import parse_config
from kernelpoint.estimation import AssistedDesign, Engine, ErrorBudget, Prediction, passes
from kernelpoint.policies.methods.kernelpoint import KernelPoint
from kernelpoint.program import ProgramBuilder
from kernelpoint.randomness import generator, permanent_random_numbers

LAUNCHES, KERNELS = 3000, 12
KERNEL = np.arange(LAUNCHES) % KERNELS
USUAL = generator(0, "usual times").lognormal(6.0, 1.0, KERNELS)[KERNEL]


def noise(run, of):
    return generator(0, f"{run} times").lognormal(0.0, of, LAUNCHES)


def design(times, second=True):
    """The design that the policy makes from a profile, or the same without the second source."""
    builder = ProgramBuilder("profile.csv")
    for order, (kernel, time) in enumerate(zip(KERNEL, times, strict=True)):
        builder.add(f"kernel{kernel}", (4, 1, 1), (32, 1, 1), order=order, duration=float(time))
    config = parse_config({"version": 1, "policy": "kernelpoint", "error_budget": {"relative_error": 0.02}})
    made = KernelPoint(config).design(builder.finish())
    assert isinstance(made, AssistedDesign)
    if second:
        return made
    return AssistedDesign({"cycles": Prediction(times, is_observed=True)}, made.groups, made.u, shapes=made.shapes)


def run(made, y, seed, eps=0.02):
    """True if the interval holds the total, and the number of launches drawn."""
    made = AssistedDesign(made.predictions, made.groups, permanent_random_numbers(seed, 0, len(y)), shapes=made.shapes)
    engine = Engine(made, ErrorBudget(eps))
    *_, look = passes(engine, ("cycles",), y)
    return look.estimates["cycles"].contains(float(y.sum())), len(engine.drawn())


@pytest.mark.parametrize(("of_launches", "fewer"), [(0.0, 0.5), (0.15, 1.05)])
def test_scatter_that_does_not_repeat_costs_fewer_draws_and_scatter_that_repeats_no_more(of_launches, fewer):
    y = USUAL * noise("own", of_launches)
    times = y * (noise("profile", 0.15) if of_launches == 0.0 else 1.0)
    runs = {second: [run(design(times, second), y, seed) for seed in range(20)] for second in (True, False)}
    assert np.mean([held for held, _ in runs[True]]) >= 0.95
    assert np.mean([drawn for _, drawn in runs[True]]) <= fewer * np.mean([drawn for _, drawn in runs[False]])


def test_a_launch_that_was_far_slower_than_its_like_keeps_its_time():
    y = USUAL * noise("profile", 0.1)
    y[1700] *= 30.0
    prediction = design(y).known["cycles"]
    assert prediction.change[1700] == 0.0 and prediction.change[1700 + KERNELS] != 0.0
    assert np.flatnonzero(prediction.excess).tolist() == [1700]
    assert prediction.excess[1700] == pytest.approx(29.0 / 30.0 * y[1700], rel=0.02)
    assert np.mean([run(design(y), y, seed)[0] for seed in range(20)]) >= 0.95


def slow_launches(run, rate):
    return np.where(generator(0, f"{run} slow").random(LAUNCHES) < rate, 3.0, 1.0)


def test_slow_launches_of_a_profile_are_expected_elsewhere_before_any_draw_shows_it():
    y, times = (USUAL * noise(run, 0.03) * slow_launches(run, rate) for run, rate in (("own", 0.08), ("profile", 0.01)))
    assert np.mean([run(design(times), y, seed, 0.05)[0] for seed in range(20)]) >= 0.95


def test_slow_launches_of_a_profile_cost_few_draws_if_its_times_repeat(monkeypatch):
    y = USUAL * noise("own", 0.05) * slow_launches("own", 0.04)
    drawn = [run(design(y), y, seed, 0.05)[1] for seed in range(8)]
    monkeypatch.setattr(Prediction, "excess", property(lambda one: np.zeros(one.size)))
    assert np.mean(drawn) <= 1.3 * np.mean([run(design(y), y, seed, 0.05)[1] for seed in range(8)])


def test_the_unit_of_both_sources_changes_no_draw():
    y = USUAL * noise("own", 0.05)
    times = y * noise("profile", 0.1)
    assert [run(design(times), y, seed) for seed in range(3)] == [run(design(37.0 * times), y, seed) for seed in range(3)]


def test_a_second_source_must_have_a_number_for_every_launch():
    with pytest.raises(Exception, match="from a second source must be numbers from 0"):
        AssistedDesign({"cycles": Prediction(np.ones(2), second=np.array([1.0, np.nan]))}, np.zeros(2, int), np.zeros(2))


def test_each_kernel_has_a_share_of_its_own():
    """Times of two heavy kernels repeat, those of the others scatter."""
    is_heavy = KERNEL < 2
    of_launch = np.where(is_heavy, generator(0, "two kinds").choice([0.7, 1.3], LAUNCHES), 1.0)
    y = np.where(is_heavy, 20.0, 1.0) * USUAL * of_launch
    times = y * np.where(is_heavy, 1.0, noise("profile", 0.15))
    runs = [run(design(times), y, seed, 0.01) for seed in range(20)]
    assert np.mean([held for held, _ in runs]) >= 0.95
    assert np.mean([drawn for _, drawn in runs]) < 0.1 * LAUNCHES

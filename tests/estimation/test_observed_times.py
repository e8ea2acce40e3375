"""Times that were observed elsewhere as predictions: any unit, and slow units that do not repeat."""

import numpy as np
import pytest
from populations import SHARED_DATA

from kernelpoint.estimation import AssistedDesign, Engine, ErrorBudget, Prediction, passes
from kernelpoint.profiles import read_profile
from kernelpoint.randomness import generator, permanent_random_numbers

N, KERNELS = 600, 10


def run(y, times, group, eps, seed):
    """True if the interval holds the total, and the number of units drawn."""
    u = permanent_random_numbers(seed, 0, len(y))
    engine = Engine(AssistedDesign({"cycles": Prediction(times, is_observed=True)}, group, u), ErrorBudget(eps))
    *_, look = passes(engine, ("cycles",), y)
    return look.estimates["cycles"].contains(float(y.sum())), len(engine.drawn())


def recording(name, slow=()):
    """Ten kernels in turn, 2 % of noise; `slow` units take 20 times as long."""
    random = generator(0, f"recording {name}")
    base = 100.0 * (1 + np.arange(N) % KERNELS) * random.lognormal(0.0, 0.02, N)
    base[list(slow)] *= 20.0
    return base


def test_slow_units_that_do_not_repeat_are_expected_elsewhere():
    group = np.arange(N) % KERNELS
    first, second = recording("first", [127, 208, 459]), recording("second", [149, 337, 568])
    held = [run(second, first, group, 0.05, seed)[0] for seed in range(20)]
    assert np.mean(held) >= 0.95


def test_a_recording_without_slow_units_costs_no_draw_for_them(monkeypatch):
    from kernelpoint.estimation.cells.parts import Parts

    group, first, second = np.arange(N) % KERNELS, recording("first"), recording("second")
    drawn = [run(second, first, group, 0.02, seed)[1] for seed in range(8)]
    monkeypatch.setattr(Parts, "_moved", lambda *_: 0.0)
    assert drawn == [run(second, first, group, 0.02, seed)[1] for seed in range(8)]


@pytest.mark.skipif(not (SHARED_DATA / "cases").is_dir(), reason="the shared cases are not here")
def test_three_heavy_slow_launches_of_another_recording_do_not_break_the_bound():
    paths = (SHARED_DATA / "cases" / f"three_slow_{name}.csv.gz" for name in "ab")
    first, second = map(read_profile, paths)
    held = [run(first.duration, second.duration, first.names.numbers, 0.05, seed)[0] for seed in range(20)]
    assert np.mean(held) >= 0.95

"""Principal kernel projection, on launches whose end is known."""

import math

import numpy as np
import pytest
from cta_by_cta import Launch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelpoint.policies.early_stop import PrincipalKernelProjection


def uneven(seed, ctas=2000, spread=0.3, mean=900.0):
    return mean * np.random.default_rng(seed).gamma(1 / spread**2, spread**2, size=ctas)


@pytest.mark.parametrize("seed", range(4))
def test_a_steady_launch_is_projected_to_its_end(seed):
    """It knows no tail: at its end the launch runs below the IPC that was stable."""
    launch, followed = Launch(uneven(seed), slots=80), PrincipalKernelProjection()
    projected = launch.run(followed)
    assert followed.is_stopped and followed.issued < 0.75 * 2000
    assert projected["cycles"] == pytest.approx(launch.cycles(), rel=0.08)
    assert projected["instructions"] == pytest.approx(launch.instructions(), rel=0.08)
    assert projected["ctas"] == pytest.approx(2000)


def test_a_launch_of_few_waves_is_simulated_whole():
    assert Launch(uneven(1, ctas=90), slots=100).run(PrincipalKernelProjection()) is None


def test_a_launch_whose_ipc_varies_is_not_stopped():
    steady, varying = PrincipalKernelProjection(), PrincipalKernelProjection()
    for step in range(100):  # one wave after another; the IPC of one is constant, of the other it goes up and down
        place = 1000 + 100 * step, 8 + step, step, 200
        steady.stops(place[0], 500 * step, *place[1:])
        varying.stops(place[0], 500 * step + 400 * (step % 2), *place[1:])
    assert steady.is_stopped and not varying.is_stopped


def test_points_that_say_nothing_stop_nothing():
    followed = PrincipalKernelProjection()
    assert not any(followed.stops(cycles, 0, 0, 0, 100) for cycles in range(0, 5000, 100))


@settings(max_examples=40, deadline=None)
@given(ctas=st.integers(1, 600), slots=st.integers(1, 64), interval=st.integers(1, 700), seed=st.integers(0, 9))
def test_a_projection_is_finite_and_no_shorter_than_what_was_simulated(ctas, slots, interval, seed):
    launch, followed = Launch(uneven(seed, ctas=ctas, mean=300.0), slots=slots), PrincipalKernelProjection()
    projected = launch.run(followed, interval)
    if projected is not None:
        assert math.isfinite(projected["cycles"]) and projected["cycles"] >= launch.cycles(followed.issued)
        assert projected["instructions"] > launch.instructions(followed.issued)

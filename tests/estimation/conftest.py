"""Helpers shared by the estimation tests."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from kernelpoint.estimation import Engine, Look

Run = Callable[[Engine, np.ndarray], list[Look]]


def run_passes(engine: Engine, y: np.ndarray) -> list[Look]:
    """Simulate every pass on known values y (float64 [N]) and return all looks."""
    looks = []
    while True:
        wanted = engine.wanted()
        engine.record_many(wanted, ("cycles",), y[wanted][:, None])
        looks.append(engine.look())
        if looks[-1].met or not engine.grow():
            return looks


@pytest.fixture(name="run_passes", scope="session")
def _run_passes() -> Run:
    return run_passes

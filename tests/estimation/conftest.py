"""Helpers shared by the estimation tests."""

from collections.abc import Callable

import numpy as np
import pytest

from kernelpoint.estimation import Engine, Look, passes

Run = Callable[[Engine, np.ndarray], list[Look]]


def run_passes(engine: Engine, y: np.ndarray) -> list[Look]:
    """Simulate every pass on known values y (float64 [N]) and return all looks."""
    return list(passes(engine, ("cycles",), y))


@pytest.fixture(name="run_passes", scope="session")
def _run_passes() -> Run:
    return run_passes

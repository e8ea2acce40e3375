from pathlib import Path

import numpy as np
import pytest
from simulated_host import SimulatedHost
from workloads import synthesised


@pytest.fixture
def host(tmp_path):
    """A host with 200 launches of mildly varying cost."""
    cycles = 5000 + np.random.default_rng(1).integers(0, 400, size=200)
    return SimulatedHost(cycles, tmp_path)


@pytest.fixture(scope="session")
def traces(tmp_path_factory) -> Path:
    """A list of sixty launches of a transformer."""
    return synthesised(tmp_path_factory.mktemp("list"), "transformer-decode", 60)

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

_spec = importlib.util.spec_from_file_location("simulated_host", Path(__file__).with_name("simulated_host.py"))
assert _spec is not None and _spec.loader is not None
simulated_host = importlib.util.module_from_spec(_spec)
sys.modules["simulated_host"] = simulated_host
_spec.loader.exec_module(simulated_host)


@pytest.fixture
def host(tmp_path):
    """A host with 200 launches of mildly varying cost."""
    cycles = 5000 + np.random.default_rng(1).integers(0, 400, size=200)
    return simulated_host.SimulatedHost(cycles, tmp_path)

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

_spec = importlib.util.spec_from_file_location(
    "simulated_host", Path(__file__).parents[1] / "session" / "simulated_host.py"
)
assert _spec is not None and _spec.loader is not None
simulated_host = importlib.util.module_from_spec(_spec)
sys.modules.setdefault("simulated_host", simulated_host)
_spec.loader.exec_module(simulated_host)

LAUNCHES = 400


@pytest.fixture
def cycles():
    """Cycles of each launch on two GPUs: the second is slower by 10 % and a little per-launch noise."""
    random = np.random.default_rng(1)
    first = 5000 + random.integers(0, 4000, size=LAUNCHES)
    return first, np.round(1.1 * first + random.integers(0, 40, size=LAUNCHES)).astype(int)


@pytest.fixture
def run(tmp_path):
    """Runs a sampled run to its end; gives the path of its journal."""

    def start(
        name: str, cycles: np.ndarray, yaml: str = "policy: random\nerror_budget: {relative_error: 0.02}", **info
    ):
        folder = tmp_path / name
        folder.mkdir()
        host = simulated_host.SimulatedHost(np.asarray(cycles), folder)
        host.run(host.open(yaml, **{"config_hash": name, **info}))
        return folder / "run.kpjournal"

    return start

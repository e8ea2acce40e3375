import numpy as np
import pytest
from simulated_host import SimulatedHost

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
        name: str,
        cycles: np.ndarray,
        yaml: str = "policy: random\nerror_budget: {relative_error: 0.02}",
        lost: frozenset[int] = frozenset(),
        **info,
    ):
        folder = tmp_path / name
        folder.mkdir()
        host = SimulatedHost(np.asarray(cycles), folder)

        def step(session, index):
            if index in lost:
                session.on_abort(0, index, "no trace")
            else:
                host.complete(session, index)

        host.run(host.open(yaml, **{"config_hash": name, **info}), step)
        return folder / "run.kpjournal"

    return start

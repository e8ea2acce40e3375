"""Hosts without traces, with the real plugin: descriptions make the sample small. `SEEDS=100` tries more seeds."""

import os

import pytest
from described import IN_THE_TREE, LAUNCHES, PLUGIN, deterministic

SEEDS = int(os.environ.get("SEEDS", "1"))
pytestmark = pytest.mark.skipif(not PLUGIN.exists(), reason="the plugin is not built here")


@pytest.mark.parametrize("made", IN_THE_TREE, ids=lambda made: made.__name__)
def test_less_than_a_tenth_of_the_launches_is_simulated_and_the_bound_contains_the_total(made, tmp_path):
    simulator = made(tmp_path)
    for seed in range(SEEDS):
        run = simulator.run(seed, tmp_path)
        assert run.simulated < 0.1 * LAUNCHES
        assert abs(run.estimate - simulator.total) <= run.half_width
        assert not run.text or "total within +- 1 % at 95 %; error budget met" in run.text


def test_a_deterministic_host_is_exact_at_one_launch_of_each_key(tmp_path):
    simulator = deterministic(tmp_path)
    run = simulator.run(0, tmp_path)
    assert (run.simulated, run.estimate, run.half_width) == (25, simulator.total, 0)

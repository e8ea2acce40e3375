"""`replay.state: empty`: every launch begins as the first one of the list does."""

import pytest
from workloads import synthesised

import kernelpoint as kp
from kernelpoint.errors import ConfigError

EMPTY = {"state": "empty"}


@pytest.fixture(scope="module")
def traces(tmp_path_factory):
    """One launch that reads what the L2 keeps, forty times."""
    return synthesised(tmp_path_factory.mktemp("list"), "copy", 40)


def test_each_launch_takes_as_long_as_the_first_one(traces, tmp_path):
    full = kp.simulate(traces, tmp_path / "full.kpjournal", policy="all")
    cold = kp.simulate(traces, tmp_path / "cold.kpjournal", policy="all", replay=EMPTY)
    warm, first = full.results, full.results[0].counters
    assert all(cold.results[unit].counters == first for unit in range(40))
    assert all(warm[unit].counters["cycles"] < first["cycles"] for unit in range(1, 40))
    assert (cold.ended().bound_scope, cold.ended().half_width) == ("exact", 0.0)


def test_a_sample_estimates_the_total_of_launches_by_themselves(traces, tmp_path):
    cold = kp.simulate(traces, tmp_path / "cold.kpjournal", policy="random", replay=EMPTY).ended()
    first = kp.simulate(traces, tmp_path / "full.kpjournal", policy="all").results[0].counters["cycles"]
    assert abs(cold.estimate - 40 * first) <= cold.half_width and cold.bound_scope == "total error"
    assert cold.simulated < 40 and not cold.replay_errors


def test_results_from_another_state_are_refused(traces, tmp_path):
    before = kp.simulate(traces, tmp_path / "before.kpjournal", policy="random")
    with pytest.raises(ConfigError, match=r"config\.replay\.state: the journal has None, this run 'empty'"):
        kp.simulate(traces, tmp_path / "cold.kpjournal", policy="random", replay=EMPTY, results_from=str(before.path))


def test_a_simulator_that_keeps_its_state_is_refused(host):
    with pytest.raises(ConfigError, match=r"replay\.state: got 'empty'; allowed with a trace list"):
        host.open("policy: random\nreplay: {state: empty}")

"""Keys about what a launch begins with: `replay.state: empty`, and the constant latency of launches."""

import pytest
from workloads import synthesised

import kernelpoint as kp
from kernelpoint.config import parse_config
from kernelpoint.errors import ConfigError, HostError
from kernelpoint.session.setup import counts_latency

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


SIMULATED, SKIPPED = 0, 1


@pytest.mark.parametrize(
    ("policy", "key", "expected"),
    [
        ("random", "auto", SKIPPED),
        ("random", "skip", SKIPPED),
        ("random", "simulate", SIMULATED),
        ("all", "auto", SIMULATED),
        ("all", "skip", SKIPPED),
        ("all", "simulate", SIMULATED),
    ],
)
def test_a_full_run_counts_the_latency_when_asked_and_others_unless_asked_not_to(policy, key, expected):
    assert counts_latency(parse_config({"version": 1, "policy": policy, "launch_latency": key})) == expected


def test_another_word_is_refused_with_the_allowed_ones():
    with pytest.raises(ConfigError, match=r"launch_latency: got 'never'; .*'auto', 'skip' or 'simulate'"):
        parse_config({"version": 1, "policy": "random", "launch_latency": "never"})


def test_a_budget_on_active_cycles_is_met_without_the_latency(host):
    yaml = "policy: random\nerror_budget: {counter: active_cycles, relative_error: 0.02}"
    summary = host.run(host.open(yaml, simulator="accelsim", configuration="-gpgpu_kernel_launch_latency 4800 # cycles\n"))
    true = float(host.cycles.sum() - 4800 * len(host.cycles))
    assert summary["counter"] == "active_cycles" and summary["met"] and 0 < summary["simulated"] < len(host.cycles)
    assert summary["relative_half_width"] <= 0.02 and abs(summary["estimate"] - true) <= summary["half_width"]
    of_cycles = summary["counters"]["cycles"]
    assert of_cycles["estimate"] - summary["estimate"] == pytest.approx(4800 * len(host.cycles))
    assert of_cycles["half_width"] == summary["half_width"]  # they differ by a constant


def test_a_sample_without_predictions_knows_the_latency_that_the_simulator_states(host):
    session = host.open("policy: random", simulator="accelsim", configuration="-gpgpu_kernel_launch_latency 4800\n")
    design = session.loop.sample.engine.sampling.design
    assert (design.constant("cycles"), design.constant("active_cycles")) == (4800.0, 0.0)


def test_a_simulator_without_the_latency_reports_no_active_cycles(host):
    with pytest.raises(HostError, match="got 'active_cycles'; this host reports cycles, instructions, reads"):
        host.run(host.open("policy: random\nerror_budget: {counter: active_cycles}"))

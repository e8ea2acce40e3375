"""The constant latency of launches: what hosts are told, and the cycles without it as a counter."""

import pytest

from kernelpoint.config import parse_config
from kernelpoint.errors import ConfigError, HostError
from kernelpoint.session.setup import latency_of

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
def test_a_full_run_skips_the_latency_when_asked_and_others_unless_asked_not_to(policy, key, expected):
    assert latency_of(parse_config({"version": 1, "policy": policy, "launch_latency": key})) == expected


def test_another_word_is_refused_with_the_allowed_ones():
    with pytest.raises(ConfigError, match=r"launch_latency: got 'never'; .*'auto', 'skip' or 'simulate'"):
        parse_config({"version": 1, "policy": "random", "launch_latency": "never"})


def test_a_budget_on_active_cycles_is_met_without_the_latency(host):
    yaml = "policy: random\nerror_budget: {counter: active_cycles, relative_error: 0.02}"
    told = host.run(host.open(yaml, simulator="accelsim", configuration="-gpgpu_kernel_launch_latency 4800 # cycles\n"))
    true = float(host.cycles.sum() - 4800 * len(host.cycles))
    assert told["counter"] == "active_cycles" and told["met"] and 0 < told["simulated"] < len(host.cycles)
    assert told["relative_half_width"] <= 0.02 and abs(told["estimate"] - true) <= told["half_width"]
    of_cycles = told["counters"]["cycles"]
    assert of_cycles["estimate"] - told["estimate"] == pytest.approx(4800 * len(host.cycles))
    assert of_cycles["half_width"] <= told["half_width"]  # they differ by a constant


def test_a_simulator_without_the_latency_reports_no_active_cycles(host):
    with pytest.raises(HostError, match="got 'active_cycles'; this host reports cycles, instructions, reads"):
        host.run(host.open("policy: random\nerror_budget: {counter: active_cycles}"))

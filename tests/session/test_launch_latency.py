"""The key `launch_latency`: what hosts are told."""

import pytest

from kernelpoint.config import parse_config
from kernelpoint.errors import ConfigError
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

"""Simulators that may be spread over processes, and those that are refused."""

import pytest

from kernelpoint import __version__
from kernelpoint.config import parse_config
from kernelpoint.coordinator.handshake import check
from kernelpoint.errors import ConfigError
from kernelpoint.session.worker_protocol import Hello


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"executes": True, "state_lines": 64}, "runs every launch that is not simulated functionally"),
        ({}, "does not restore the state that earlier launches leave"),
        ({"concurrent": True, "state_lines": 64}, "runs launches side by side"),
    ],
)
def test_a_simulator_whose_launches_depend_on_each_other_is_refused(more, reason):
    told = {"simulator": "one", "list_paths": ["kernelslist.g"], "launch_counts": [9], "residency": [0, 0, 0, 0, 0]}
    config = parse_config({"version": 1, "policy": "kernelpoint"}, "keys")
    with pytest.raises(ConfigError, match=reason):
        check(config, Hello(kernelpoint=__version__, pid=1, host=told | more))

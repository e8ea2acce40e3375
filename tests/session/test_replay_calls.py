"""Calls of kp_replay_before that a host must not make."""

import pytest
from trace_writer import small_trace

from kernelpoint.errors import HostError
from kernelpoint.session.replays import Replays
from kernelpoint.workload.host_info import HostInfo


def test_a_process_that_the_host_does_not_have_is_refused_by_its_number(tmp_path):
    (tmp_path / "kernel-1.traceg").write_text(small_trace(""))
    (tmp_path / "kernelslist.g").write_text("kernel-1.traceg\n")
    host = HostInfo("test", list_paths=(str(tmp_path / "kernelslist.g"),), state_lines=64)
    with pytest.raises(HostError, match="process: got 5; allowed: 0 to 0"):
        Replays(host, 1 << 20, print).before(5, 0)

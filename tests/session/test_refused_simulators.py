"""Simulators that cannot be used are refused before the first cycle: code unknown to them, wrong calls."""

import pytest
from trace_writer import cta, numbered, small_trace

from kernelpoint.errors import HostError, TraceError
from kernelpoint.session.initial_states import InitialStates
from kernelpoint.workload.host_info import HostInfo

ARCHITECTURES = [70, 90]


@pytest.fixture
def traces(tmp_path):
    def make(versions):
        for number, version in enumerate(versions, 1):
            text = small_trace(cta(["0000 ffffffff 0 EXIT 0 0"]), **{"binary version": str(version)})
            (tmp_path / f"kernel-{number}.traceg").write_text(numbered(text, f"kernel-{number}"))
        lines = "".join(f"kernel-{number}.traceg\n" for number in range(1, len(versions) + 1))
        (tmp_path / "kernelslist.g").write_text(lines)
        return str(tmp_path / "kernelslist.g")

    return make


def open_run(host, path, count, architectures):
    return host.open("policy: random", launch_counts=[count], list_paths=[path], architectures=architectures)


def test_an_architecture_that_the_simulator_does_not_know_is_refused_by_trace(host, traces):
    with pytest.raises(
        TraceError,
        match=r"kernel-3\.traceg: this trace has code for sm_100, which this test cannot simulate .it knows sm_70, sm_90",
    ):
        open_run(host, traces([70, 90, 100]), 3, ARCHITECTURES)


def test_architectures_that_it_knows_are_not_refused(host, traces):
    open_run(host, traces([70, 90, 70]), 3, ARCHITECTURES).journal.close()


def test_nothing_is_refused_where_the_simulator_does_not_say_what_it_knows(host, traces):
    open_run(host, traces([100]), 1, []).journal.close()


def test_a_trace_that_cannot_be_read_is_left_to_the_run(host, traces, tmp_path):
    path = traces([70, 70, 70])
    (tmp_path / "kernel-2.traceg").write_text("garbage")
    open_run(host, path, 3, ARCHITECTURES).journal.close()


def test_a_process_that_the_host_does_not_have_is_refused_by_its_number(tmp_path):
    (tmp_path / "kernel-1.traceg").write_text(small_trace(""))
    (tmp_path / "kernelslist.g").write_text("kernel-1.traceg\n")
    host = HostInfo("test", list_paths=(str(tmp_path / "kernelslist.g"),), state_lines=64)
    with pytest.raises(HostError, match="process: got 5; allowed: 0 to 0"):
        InitialStates(host, print).before(5, 0)

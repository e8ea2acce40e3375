"""Runs under a limit of address space, as batch systems set it: nothing asks for memory that it does not fill."""

import resource
import tracemalloc

import pytest
from embedded_host import run_host

from kernelpoint.files import read_regular
from kernelpoint.journal import load_run

LIMIT = 900_000 << 10  # bytes, as `ulimit -v 900000`


def test_a_run_needs_less_than_900_mb_of_address_space(traces, tmp_path):
    environment = {"KERNELPOINT_CACHE": str(tmp_path / "cache"), "OMP_NUM_THREADS": "1"}
    limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))  # noqa: E731
    done = run_host(traces, tmp_path, "policy: kernelpoint", environment=environment, preexec_fn=limit)
    assert done.returncode == 0, done.stderr
    assert load_run(tmp_path / "run.kpjournal").ended().launches == 12


def test_a_small_file_takes_memory_for_its_size_whatever_the_most_is(tmp_path):
    (tmp_path / "small").write_bytes(b"x" * 1000)
    tracemalloc.start()
    try:
        assert len(read_regular(tmp_path / "small", 1 << 30)) == 1000
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_a_file_whose_size_the_system_does_not_tell_is_read_whole(tmp_path):
    assert read_regular("/proc/self/status", 1 << 20).startswith(b"Name:")
    (tmp_path / "large").write_bytes(b"x" * 101)
    assert len(read_regular(tmp_path / "large", 101)) == 101
    with pytest.raises(OSError, match="is larger than 100 bytes"):
        read_regular(tmp_path / "large", 100)

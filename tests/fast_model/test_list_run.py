"""A list run with a memory of outcomes: what repeats is recalled; no number may change by it."""

import csv
import random
from pathlib import Path

import numpy as np
import pytest
from embedded_host import run_host
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from workloads import synthesised

from kernelpoint import _native
from kernelpoint.fast_model import shipped
from kernelpoint.fast_model.configuration import SHIPPED, configuration_of
from kernelpoint.repeated import Texts, first_of_each
from kernelpoint.traces import read_trace_list, scan_launches
from kernelpoint.traces.scan import read_chunk

NO_COPIES = np.zeros((0, 3), dtype=np.uint64)
KIB = 1 << 10


@pytest.fixture(scope="module")
def traces(tmp_path_factory):
    """Traces of a few kernels, small and irregular."""
    paths = []
    for name, sizes in (("graph-traversal", {"vertices": 1024}), ("iterative-solver", {"rows": 2048})):
        made = synthesised(tmp_path_factory.mktemp("lists"), name, 12, **sizes)
        paths += dict.fromkeys(read_trace_list(made).traces)
    return paths


@pytest.fixture(scope="module")
def gpu(tmp_path_factory):
    """A function that makes a file of the v100 with other values."""

    def made(**values):
        lines = (SHIPPED / "v100.yaml").read_text().splitlines()
        for key, value in values.items():
            lines = [f"{key}: {value}" if line.startswith(f"{key}:") else line for line in lines]
        path = tmp_path_factory.mktemp("gpu") / "gpu.yaml"
        path.write_text("\n".join(lines) + "\n")
        return path

    return made


def run(paths, copies, configuration, contents=None, **effort):
    """Launches of one file are of one content, unless `contents` tells equal files."""
    numbers = Texts.of(paths).numbers if contents is None else contents
    distinct = [paths[first] for first in first_of_each(numbers).tolist()]
    kinds, columns, *rest = _native.fast_model.run(numbers, distinct, copies, configuration, lambda done, share: None, **effort)
    return {name: values[kinds] for name, values in columns.items()}, *rest


def equal_contents(paths):
    """int32 [N]: equal where traces are equal."""
    contents = [
        f"{high} {low}" if path else ""
        for path, (high, low, *_) in zip(paths, read_chunk(paths).contents.tolist(), strict=True)
    ]
    return Texts.of(contents).numbers


def simulated_one_by_one(folder, paths, copies, gpu):
    """Every launch simulated by the embedded host, which knows no short cuts."""
    commands = list(paths)
    for position, address, size in copies.tolist():
        commands.insert(position, f"MemcpyHtoD,{address:#x},{size}")
    (folder / "kernelslist.g").write_text("\n".join(c if "," in c else name_in(folder, c) for c in commands) + "\n")
    run_host(folder / "kernelslist.g", folder, None, "-config", gpu, "-results", "results.csv", check=True)
    rows = list(csv.DictReader((folder / "results.csv").open()))
    return {key: [float(row[key]) for row in rows] for key in rows[0] if rows[0][key].isdigit()}


def name_in(folder, path):
    """The trace under a name of its own in the folder: equal traces have different paths there, and different ids."""
    number = len(list(folder.glob("*.traceg"))) + 1
    text = Path(path).read_text()
    head, rest = text.split("\n-grid", 1)
    name, _ = head.split("\n-kernel id")
    (folder / f"kernel-{number}.traceg").write_text(f"{name}\n-kernel id = {number}\n-grid{rest}")
    return f"kernel-{number}.traceg"


class TestAgainstTheHost:
    """Cycles and all counters equal those of a program that simulates every launch."""

    @pytest.mark.parametrize("l2", [16 * KIB, 64 * KIB, 6 << 20])
    @pytest.mark.parametrize("ways", [2, 16])
    def test_nothing_changes_whether_launches_repeat_evict_or_are_copied_over(self, traces, gpu, tmp_path, l2, ways):
        configuration = gpu(l2_size=l2, l2_ways=ways)
        rng = random.Random(l2 + ways)
        period = [rng.choice(traces) for _ in range(12)]
        paths = period * 4 + [rng.choice(traces) for _ in range(12)]
        copies = np.array([[5, 1 << 30, 4096], [30, (1 << 30) + 64, 100]], dtype=np.uint64)
        expected = simulated_one_by_one(tmp_path, paths, copies, configuration)
        here = sorted(tmp_path.glob("*.traceg"), key=lambda path: int(path.stem.split("-")[1]))
        paths = [str(path) for path in here]
        for effort in ({}, {"contents": equal_contents(paths)}, {"memory_bytes": 0}):
            counters, failures, _ = run(paths, copies, configuration_of([str(configuration)]), **effort)
            assert not failures
            for counter, values in counters.items():
                assert values.tolist() == expected[counter], (counter, effort)


@given(data=st.data())
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_list_that_comes_back_to_its_states_gives_what_its_launches_one_after_another_give(traces, gpu, data):
    """Loops within loops, with copies, launches without a trace, and launches that fit no loop. The oracle keeps no states."""
    size = data.draw(st.sampled_from([8 * KIB, 128 * KIB, 6 << 20]))
    configuration = configuration_of([str(gpu(l2_size=size, l2_ways=4))])
    loops = st.lists(st.sampled_from(["", *traces]), min_size=1, max_size=5)
    parts = data.draw(st.lists(st.tuples(loops, st.integers(1, 12)), min_size=1, max_size=6))
    paths = [path for loop, times in parts * 2 for path in loop * times]
    copied = data.draw(st.lists(st.tuples(st.integers(0, len(paths)), st.integers(0, 2)), max_size=30))
    copies = np.array([[at, (1 << 30) + (what << 12), 4096] for at, what in sorted(copied)], dtype=np.uint64)
    copies = copies.reshape(-1, 3)
    expected, _, _ = run(paths, copies, configuration, memory_bytes=0)
    counters, _, _ = run(paths, copies, configuration)
    for counter, values in expected.items():
        assert np.array_equal(counters[counter], values, equal_nan=True), counter


def test_equal_launches_in_equal_state_are_simulated_once(traces):
    _, _, simulated = run(traces * 20, NO_COPIES, shipped("v100"))
    assert len(traces) <= simulated < 3 * len(traces)


def test_a_gpu_that_keeps_its_l1_is_simulated_launch_by_launch(traces, gpu):
    configuration = configuration_of([str(gpu(l1_invalidate_at_launch=0))])
    _, _, simulated = run(traces * 3, NO_COPIES, configuration)
    assert simulated == 3 * len(traces)


def test_a_launch_that_fails_fails_each_time_and_the_rest_goes_on(traces, tmp_path):
    broken = tmp_path / "kernel-1.traceg"
    broken.write_text(Path(traces[0]).read_text()[:-400])
    paths = [traces[0], str(broken), traces[1]] * 5
    counters, failures, _ = run(paths, NO_COPIES, shipped("v100"))
    assert [launch for launch, _ in failures] == [1, 4, 7, 10, 13]
    assert all(str(broken) in reason for _, reason in failures)
    assert np.flatnonzero(np.isnan(counters["cycles"])).tolist() == [1, 4, 7, 10, 13]


def test_traces_of_equal_contents_are_simulated_once(traces, tmp_path):
    copy = tmp_path / "kernel-1.traceg"
    copy.write_text(Path(traces[0]).read_text())
    paths = [*traces, str(copy), "", *traces] * 3
    expected, _, simulated = run(paths, NO_COPIES, shipped("v100"))
    counters, _, fewer = run(paths, NO_COPIES, shipped("v100"), contents=equal_contents(paths))
    assert fewer < simulated
    assert all(np.array_equal(counters[counter], values, equal_nan=True) for counter, values in expected.items())


@pytest.fixture(scope="module")
def decode(tmp_path_factory):
    """A decoder, whose layers run the same kernels on buffers of their own."""
    return synthesised(tmp_path_factory.mktemp("decode"), "transformer-decode", 400)


class TestSettledStreams:
    """Launches of one stream on other buffers: once their numbers have settled, most are not simulated."""

    def both(self, trace_list):
        """Counters and simulated launches, launch by launch and with settled streams."""
        scan = scan_launches(read_trace_list(trace_list).traces)
        (copies,) = read_trace_list(trace_list).copies
        exact, _, all_ = run(scan.traces, copies, shipped("v100"), contents=scan.content)
        streams = scan.contents.stream_ids
        settled, _, fewer = run(scan.traces, copies, shipped("v100"), contents=scan.content, streams=streams)
        return exact, settled, all_, fewer

    def test_fewer_launches_are_simulated_and_cycles_stay_within_a_hundredth(self, decode):
        exact, settled, every, fewer = self.both(decode)
        assert 2 * fewer < every
        off = np.abs(settled["cycles"] - exact["cycles"])
        assert off.mean() < 0.001 * exact["cycles"].mean()
        assert off.max() < 0.05 * exact["cycles"].max()

    def test_misses_of_first_launches_and_of_later_ones_are_kept_apart(self, decode):
        exact, settled, _, _ = self.both(decode)
        assert abs(settled["l2_misses"].sum() / exact["l2_misses"].sum() - 1) < 0.01

    def test_work_that_the_trace_determines_is_exact(self, decode):
        exact, settled, _, _ = self.both(decode)
        assert np.array_equal(settled["instructions"], exact["instructions"])
        assert np.array_equal(settled["ctas"], exact["ctas"])

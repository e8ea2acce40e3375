"""Times of a run as execution traces of Chakra, and these traces as profiles and ranges."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from workloads import synthesised

pytest.importorskip("google.protobuf", reason="Chakra traces need the extra formats (protobuf)")

import kernelpoint as kp
from kernelpoint.errors import ConfigError, ProfileError
from kernelpoint.profiles import read_profile
from kernelpoint.profiles.formats.chakra import COMM_COLL, COMP, read_trace, schema, set_value, value_of, write_trace
from kernelpoint.program import Program
from kernelpoint.ranges import read_ranges
from kernelpoint.report.export import Options
from kernelpoint.report.exports.chakra import Chakra
from kernelpoint.report.exports.simai import Simai

MEGAHERTZ = 1132.0
PATHS = ["prefill/attention", "prefill/mlp", "decode/attention", "decode/mlp"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A sampled run whose ranges are quarters of the list."""
    folder = tmp_path_factory.mktemp("run")
    traces = synthesised(folder, "transformer-decode", 120)
    rows = "".join(f"{launch},{PATHS[launch // 30]}\n" for launch in range(120))
    (folder / "ranges.csv").write_text(f"launch,path\n{rows}")
    return kp.simulate(
        traces,
        folder / "run.kpjournal",
        policy="kernelpoint",
        error_budget={"relative_error": 0.05},
        ranges=str(folder / "ranges.csv"),
    )


def exported(run, path, like=None, end="estimate"):
    Chakra().write(run, path, Options(like, MEGAHERTZ, end))
    return read_trace(path)


def total_of(nodes):
    return sum(value_of(node, "nanoseconds") for node in nodes if node.type == COMP)


@pytest.mark.parametrize("end", ["low", "estimate", "high"])
def test_the_sum_of_the_times_is_the_estimate_or_an_end_of_its_interval(run, tmp_path, end):
    cycles = run.ended().counters["cycles"]
    expected = cycles.estimate + {"low": -1, "estimate": 0, "high": 1}[end] * cycles.half_width
    metadata, nodes = exported(run, tmp_path / "run.0.et", end=end)
    assert total_of(nodes) == pytest.approx(expected * 1000 / MEGAHERTZ, rel=1e-12)
    assert value_of(metadata, "total_nanoseconds") == pytest.approx(total_of(nodes), rel=1e-12)
    assert value_of(metadata, "half_width_nanoseconds") == pytest.approx(cycles.half_width * 1000 / MEGAHERTZ)
    assert run.ended().counters["cycles"].half_width > 0


def test_whole_microseconds_are_never_off_by_more_than_half_of_one(run, tmp_path):
    _, nodes = exported(run, tmp_path / "run.0.et")
    micros = np.cumsum([node.duration_micros for node in nodes])
    exact = np.cumsum([value_of(node, "nanoseconds") for node in nodes]) / 1000
    assert np.abs(micros - exact).max() <= 0.5 + 1e-6
    assert [list(node.data_deps) for node in nodes] == [[], *([number] for number in range(1, len(nodes)))]


def test_a_chakra_trace_keeps_all_but_the_times_of_its_gpu_nodes(run, tmp_path):
    names = [run.name_of(unit) for unit in range(120)]
    nodes = [schema().Node(id=1, name="model", type=COMP)]
    set_value(nodes[0], "is_cpu_op", bool_val=True)
    for number, name in enumerate(names, 2):
        nodes.append(schema().Node(id=number, name=name, type=COMP, ctrl_deps=[1], duration_micros=7))
    collective = schema().Node(id=500, name="all_reduce", type=COMM_COLL, duration_micros=3)
    unknown = schema().Node.FromString(collective.SerializeToString() + b"\x42\x03\x0a\x01x")  # inputs, field 8
    like = tmp_path / "like.et"
    with like.open("wb") as file:
        write_trace(file, schema().GlobalMetadata(version="0.0.4"), [unknown, *reversed(nodes)])
    metadata, kept = exported(run, tmp_path / "run.0.et", like)
    assert metadata.version == "0.0.4" and [node.id for node in kept] == [500, *range(121, 0, -1)]
    assert kept[0].SerializeToString() == unknown.SerializeToString()
    assert total_of(kept[1:-1]) == pytest.approx(run.ended().estimate * 1000 / MEGAHERTZ)
    assert read_profile(like).size == 120 and read_profile(like).duration.tolist() == [7000.0] * 120
    sizes = np.zeros((120, 3), int)
    ranges = read_ranges(str(like), Program.of(names, sizes, sizes), lambda line: None)
    assert ranges.paths == ("", "model") and (ranges.of_launch == 1).all()


def test_a_profile_of_pytorch_becomes_a_chain_with_its_collectives(run, tmp_path):
    about = {"Collective name": "_allgather_base", "In msg nelems": 100, "dtype": "Half", "correlation": 60}
    events = [
        {"ph": "X", "cat": "kernel", "name": run.name_of(n), "ts": n, "dur": 5, "args": {"correlation": n + (n > 60)}}
        for n in range(120)
    ]
    events.append({"ph": "X", "cat": "kernel", "name": "ncclDevKernel", "ts": 60, "dur": 9.5, "args": about})
    (tmp_path / "trace.json").write_text(json.dumps({"traceEvents": events}))
    _, nodes = exported(run, tmp_path / "run.0.et", tmp_path / "trace.json")
    collective = next(node for node in nodes if node.type == COMM_COLL)
    assert len(nodes) == 121 and collective.duration_micros == 10
    assert (value_of(collective, "comm_type"), value_of(collective, "comm_size")) == (2, 200)
    assert total_of(nodes) == pytest.approx(run.ended().estimate * 1000 / MEGAHERTZ)


def test_a_trace_of_another_workload_is_refused(run, tmp_path):
    nodes = [schema().Node(id=number, name="other", type=COMP) for number in range(1, 100)]
    with (tmp_path / "like.et").open("wb") as file:
        write_trace(file, schema().GlobalMetadata(version="0.0.4"), nodes)
    with pytest.raises(ProfileError, match="seems to be of another workload"):
        exported(run, tmp_path / "run.0.et", tmp_path / "like.et")


def test_damaged_traces_are_refused_in_one_line(run, tmp_path):
    exported(run, tmp_path / "run.0.et")
    data = (tmp_path / "run.0.et").read_bytes()
    rng = np.random.default_rng(3)
    refused = 0
    for _ in range(120):
        changed = bytearray(data)
        changed[rng.integers(8, len(data))] ^= 1 << rng.integers(8)
        (tmp_path / "bad.et").write_bytes(changed[: rng.integers(9, len(data))])
        try:
            read_profile(tmp_path / "bad.et")
        except ProfileError as error:
            refused += 1
            assert "\n" not in str(error) and "bad.et" in str(error)
    assert refused > 40
    with pytest.raises(ProfileError, match="cannot be read: No such file"):
        exported(run, tmp_path / "run.0.et", Path("none.et"))


@pytest.mark.parametrize("damage", ['"dur": NaN', '"dur": "x"', '"dur": 1e300', '"ts": -1'])
def test_a_profile_with_impossible_times_is_refused_in_one_line(run, tmp_path, damage):
    event = '{"ph": "X", "cat": "kernel", "name": "gemm", "ts": 1, "dur": 2, "args": {}, ' + damage + "}"
    (tmp_path / "trace.json").write_text(f'{{"traceEvents": [{event}]}}')
    with pytest.raises(
        ProfileError, match=r"--like: .*trace.json: a kernel has the begin and duration .*; allowed: numbers of microseconds"
    ):
        exported(run, tmp_path / "run.0.et", tmp_path / "trace.json")


def test_a_run_without_a_clock_or_ranges_is_refused(run, tmp_path):
    for clock, message in ((None, "the run does not state the clock"), (math.nan, "got nan; allowed: a number of MHz above 0")):
        with pytest.raises(ConfigError, match=f"--clock: {message}"):
            Chakra().write(run, tmp_path / "run.0.et", Options(clock=clock))


def test_times_of_modules_are_means_over_their_repetitions(run, tmp_path):
    assert Simai().write(run, tmp_path / "times.txt", Options(clock=MEGAHERTZ)) == "2 modules"
    lines = (tmp_path / "times.txt").read_text().splitlines()
    times = {name: run.ranges[name].estimates["cycles"].estimate / MEGAHERTZ for name in PATHS}
    attention = [times["prefill/attention"], times["decode/attention"]]
    assert lines[:2] == ["train_iter:1", "attention:"] and lines[5] == "mlp:"
    assert lines[2:5] == [
        f"    time_gpu_max: {max(attention):.3f}",
        f"    time_gpu_min: {min(attention):.3f}",
        f"    time_gpu_avg: {sum(attention) / 2:.3f}",
    ]

"""Ranges of launches, from each source, and the messages of sources that do not fit."""

import json
import sqlite3

import numpy as np
import pytest
from profiler_files import START, Kernel, write_kineto_json, write_nsys_sqlite

from kernelpoint.config import parse_config
from kernelpoint.errors import ConfigError, KernelPointError, ProfileError
from kernelpoint.profiles.calls import MOST_OPEN, enclosing
from kernelpoint.program import Program, descriptions
from kernelpoint.ranges import Ranges, ranges_for, read_ranges
from kernelpoint.ranges.ranges import SOURCES
from kernelpoint.ranges.sources.detected import repeats
from kernelpoint.workload import HostInfo, program_of, with_profile

ONE = (1, 1, 1)
KERNELS = [Kernel(name, ONE, (32, 1, 1), 900) for name in ("embed", "gemm", "gelu", "gemm", "gelu", "head")]


def launches(names=tuple(kernel.name for kernel in KERNELS), traces=()):
    shapes = np.array([ONE] * len(names))
    return Program.of(list(names), shapes, shapes * (32, 1, 1), traces=traces)


def of_file(path, beside=None):
    ranges = read_ranges(str(path), beside or launches(), lambda line: None)
    return [ranges.paths[number] for number in ranges.of_launch.tolist()]


# ---- the tree ---------------------------------------------------------------------------------------------------------


def test_a_range_lies_in_the_one_whose_path_is_the_beginning_of_its_own():
    ranges = Ranges.of(["decode/layer.0/gemm", "decode/layer.0", "decode/layer.1/gemm", "", "prefill"], "a test")
    assert [ranges.paths[number] for number in ranges.of_launch] == [
        "decode/layer.0/gemm", "decode/layer.0", "decode/layer.1/gemm", "", "prefill"]  # fmt: skip
    for path, parent in zip(ranges.paths[1:], ranges.parents[1:].tolist(), strict=True):
        assert ranges.paths[parent] == path.rpartition("/")[0]


def test_empty_parts_and_blanks_of_a_path_do_not_count():
    assert Ranges.of([" /decode// layer.0 /"], "a test").paths == ("", "decode", "decode/layer.0")


def test_a_path_of_too_many_parts_is_refused():
    with pytest.raises(ConfigError, match="has 65 parts; allowed: at most 64"):
        Ranges.of(["/".join("x" * 65)], "a test")


# ---- a CSV ------------------------------------------------------------------------------------------------------------


def test_a_table_names_launches_and_leaves_the_others_outside(tmp_path):
    (tmp_path / "r.csv").write_text("path,launch\ndecode/layer.0,1\nprefill,0\n")
    assert of_file(tmp_path / "r.csv") == ["prefill", "decode/layer.0", "", "", "", ""]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("6,x", "r.csv:2: launch: got '6'; allowed: 0 to 5"),
        ("-1,x", "r.csv:2: launch: got '-1'"),
        ("1.5,x", "r.csv:2: launch: got '1.5'"),
        ("1,x\n1,y", "r.csv:3: launch 1 is given a second time"),
        ("1,x,y", "r.csv:2: this row has 3 fields, the header has 2"),
        ("1,", "contains a launch of this run"),
        ("", "contains a launch of this run"),
    ],
)
def test_a_table_that_does_not_fit_is_refused_in_one_line(tmp_path, rows, message):
    (tmp_path / "r.csv").write_text(f"launch,path\n{rows}\n")
    with pytest.raises(KernelPointError) as caught:
        of_file(tmp_path / "r.csv")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"launch path\n", b"\x00\xff" * 40, b"name,grid,block,dur_us\n"])
def test_a_file_of_no_known_source_is_refused_with_those_allowed(tmp_path, content):
    (tmp_path / "r.csv").write_bytes(content)
    with pytest.raises(ProfileError, match=r"is no known file of ranges.*`detected`.*`names`"):
        of_file(tmp_path / "r.csv")


def test_a_file_that_is_missing_is_refused():
    with pytest.raises(ProfileError, match=r"ranges: none\.csv cannot be read: No such file"):
        of_file("none.csv")


# ---- NVTX -------------------------------------------------------------------------------------------------------------

PROCESS = 42 << 24
STEP = 1400  # ns from one kernel of write_nsys_sqlite to the next


def write_nvtx(path, ranges, calls=range(6)):
    """An export with CUDA calls at STEP and the ranges (name, begin and end in STEPs), some with a number for a name."""
    write_nsys_sqlite(path, KERNELS)
    connection = sqlite3.connect(path)
    connection.execute(f"UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET globalPid = {PROCESS}")
    connection.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, end, globalTid, correlationId)")
    connection.execute("CREATE TABLE NVTX_EVENTS (start, end, eventType, text, textId, globalTid)")
    for number in calls:
        row = (START + STEP * number, START + STEP * number + 5, PROCESS + 7, number)
        connection.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, ?, ?)", row)
    for number, (name, begin, end, thread) in enumerate(ranges):
        begin, end = (None if time is None else START + round(STEP * time) for time in (begin, end))
        text = (name, None)
        if number % 2:
            connection.execute("INSERT INTO StringIds VALUES (?, ?)", (1000 + number, name))
            text = (None, 1000 + number)
        connection.execute("INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, ?, ?, ?)", (begin, end, *text, PROCESS + thread))
    connection.commit()
    connection.close()


def test_nvtx_ranges_of_the_launching_thread_are_nested(tmp_path):
    write_nvtx(
        tmp_path / "nvtx.sqlite",
        [
            ("model", 0.5, 4.5, 7),
            ("layer.0", 0.6, 2.5, 7),
            ("layer.1", 2.6, 4.4, 7),
            ("mark", 1.0, None, 7),
            ("io", 0, 9, 8),
        ],
    )
    assert of_file(tmp_path / "nvtx.sqlite") == ["", *["model/layer.0"] * 2, *["model/layer.1"] * 2, ""]


def test_a_profile_that_shows_ranges_is_read_once(tmp_path):
    path = tmp_path / "nvtx.sqlite"
    write_nvtx(path, [("model", -1, 9, 7)])
    config = parse_config({"version": 1, "policy": "stem", "profile": str(path), "ranges": str(path)}, "keys")
    program = with_profile(Program((6,)), config, lambda line: None)
    path.unlink()
    ranges = ranges_for(str(path), program, lambda line: None)
    assert ranges.paths == ("", "model") and ranges.of_launch.tolist() == [1] * 6


def test_a_kernel_whose_call_is_not_in_the_export_lies_in_no_range(tmp_path):
    write_nvtx(tmp_path / "nvtx.sqlite", [("model", -1, 9, 7)], calls=(0, 5))
    assert of_file(tmp_path / "nvtx.sqlite") == ["model", "", "", "", "", "model"]


def test_an_export_without_nvtx_is_refused(tmp_path):
    write_nsys_sqlite(tmp_path / "times.sqlite", KERNELS)
    with pytest.raises(ProfileError, match="no table CUPTI_ACTIVITY_KIND_RUNTIME; was the run traced with --trace=cuda,nvtx"):
        of_file(tmp_path / "times.sqlite")


def test_an_export_of_other_launches_is_refused(tmp_path):
    write_nvtx(tmp_path / "nvtx.sqlite", [("model", -1, 9, 7)])
    with pytest.raises(ProfileError, match="only 0 of the 4 launches of the run are in this file"):
        of_file(tmp_path / "nvtx.sqlite", launches(("a", "b", "c", "d")))


def test_launches_without_names_are_matched_by_their_number(tmp_path):
    write_nvtx(tmp_path / "nvtx.sqlite", [("model", -1, 9, 7)])
    assert of_file(tmp_path / "nvtx.sqlite", launches([""] * 6)) == ["model"] * 6
    with pytest.raises(ProfileError, match="has 6 launches, the run 5; without names"):
        of_file(tmp_path / "nvtx.sqlite", launches([""] * 5))


# ---- PyTorch profiler -------------------------------------------------------------------------------------------------


def write_modules(path, ranges):
    """A trace with calls at 0, 10, ... us of thread 1 and events (category, name, begin, end, thread) beside them."""
    write_kineto_json(path, KERNELS)
    content = json.loads(path.read_text())
    events = [event for event in content["traceEvents"] if event.get("cat") == "kernel"]
    for number in range(len(KERNELS)):
        call = {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 10.0 * number}
        events.append({**call, "dur": 2, "args": {"correlation": number}})
    for kind, name, begin, end, thread in ranges:
        event = {"ph": "X", "cat": kind, "name": name, "pid": 1, "tid": thread, "ts": begin, "dur": end - begin}
        events.append(event)
    path.write_text(json.dumps({"traceEvents": events}))


def test_modules_annotations_and_the_outermost_operator_are_nested(tmp_path):
    write_modules(
        tmp_path / "trace.json",
        [
            ("user_annotation", "ProfilerStep#1", -1, 99, 1),
            ("python_function", "nn.Module: Layer_0", 5, 25, 1),
            ("python_function", "main.py(3): forward", 4, 26, 1),
            ("cpu_op", "aten::linear", 8, 14, 1),
            ("cpu_op", "aten::addmm", 9, 13, 1),
            ("cpu_op", "aten::outer", 1, 48, 1),
            ("python_function", "nn.Module: Other_0", 5, 45, 2),
        ],
    )
    step = "ProfilerStep#1"
    assert of_file(tmp_path / "trace.json") == [
        step,
        f"{step}/Layer_0/aten::linear",
        f"{step}/Layer_0",
        f"{step}/aten::outer",
        f"{step}/aten::outer",
        step,
    ]


def test_a_trace_of_kernels_alone_is_refused(tmp_path):
    write_modules(tmp_path / "trace.json", [])
    with pytest.raises(ProfileError, match=r"no modules, annotations or operators.*with_modules=True"):
        of_file(tmp_path / "trace.json")


@pytest.mark.parametrize("damage", ['"ts": "x"', '"dur": null', '"args": [1]'])
def test_an_event_that_is_no_range_is_passed_over_or_refused_in_one_line(tmp_path, damage):
    write_modules(tmp_path / "trace.json", [("user_annotation", "step", -1, 99, 1)])
    text = (tmp_path / "trace.json").read_text().replace('"tid": 1, "ts"', '"tid": 1, "was"').replace('"was"', '"ts"')
    (tmp_path / "trace.json").write_text(text[:-2] + f', {{"ph": "X", "cat": "cpu_op", "name": "odd", {damage}}}]}}')
    assert of_file(tmp_path / "trace.json") == ["step"] * 6


def test_a_trace_that_is_cut_is_refused(tmp_path):
    write_modules(tmp_path / "trace.json", [("user_annotation", "step", -1, 99, 1)])
    text = (tmp_path / "trace.json").read_text()
    (tmp_path / "trace.json").write_text(text[: len(text) // 2])
    with pytest.raises(ProfileError, match="the file ends"):
        of_file(tmp_path / "trace.json")


# ---- names and repeats ------------------------------------------------------------------------------------------------


def test_names_are_the_folders_of_traces_and_the_kernel():
    traces = ["/t/prefill/kernel-1.traceg", "/t/decode/layer.0/kernel-2.traceg", "/t/decode/layer.0/kernel-3.traceg"]
    assert of_file("names", launches(("a", "b", "c"), traces)) == ["prefill/a", "decode/layer.0/b", "decode/layer.0/c"]


def test_names_of_launches_that_describe_themselves_may_hold_a_path():
    described = descriptions([{"name": "decode/layer.0/gemm"}, {"name": "head"}])
    program = program_of(HostInfo("mine", launch_counts=(2,), descriptions=described), seed=0)
    assert of_file("names", program) == ["decode/layer.0/gemm", "head"]


def test_names_need_a_name():
    with pytest.raises(ProfileError, match="have no names and no trace files"):
        of_file("names", launches([""] * 3))


def test_iterations_are_found_before_the_layers_in_them():
    layer = [1, 2, 3, 4]
    step = [7, *layer * 5, 8]
    paths = repeats(np.array([9, *step * 3, 6]))
    assert paths[0] == paths[-1] == ""
    assert paths[1] == "detected.0"  # before the layers of the first iteration
    assert paths[2] == "detected.0/detected.0"
    assert paths[2 + 4] == "detected.0/detected.1"
    assert paths[1 + 22] == "detected.1"
    assert len(set(paths)) == 1 + 3 + 3 * 5


def test_copies_of_two_runs_do_not_overlap():
    paths = repeats(np.array([1, 2, 3, 1, 2, 3, 9, 2, 3, 9, 2, 3, 5]))
    sizes = {path: paths.count(path) for path in set(paths) if path}
    assert set(sizes.values()) == {3}, paths


def test_kernels_that_never_repeat_are_refused():
    with pytest.raises(ProfileError, match="no sequence of kernels in this list repeats"):
        of_file("detected", launches(("a", "b", "c")))


def test_every_source_says_what_it_is():
    sources = SOURCES.load_all()
    assert len(sources) == 3
    assert all(source.description for source in sources)
    assert isinstance(launches(), Program)


# ---- ranges of threads ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_a_call_lies_in_the_ranges_whose_begin_and_end_are_around_it(seed):
    random = np.random.default_rng(seed)
    begins, lengths = random.integers(0, 40, 30), random.integers(0, 20, 30)
    ranges = [(0, float(b), float(b + n), f"{i}") for i, (b, n) in enumerate(zip(begins, lengths, strict=True))]
    calls = [(0, float(time)) for time in random.permutation(np.linspace(0, 60, 41))]
    names_of_call = dict(enclosing(ranges, calls))
    order = sorted(ranges, key=lambda r: (r[1], -r[2], r[3]))
    for number, (_, time) in enumerate(calls):
        assert names_of_call[number] == [name for _, begin, end, name in order if begin <= time <= end]


def test_ranges_that_contain_one_another_without_end_are_refused():
    nested = [(0, float(i), 1e6 - i, "r") for i in range(16_000)]
    with pytest.raises(ConfigError, match=rf"more than {MOST_OPEN:,} ranges of one thread contain 'r'"):
        list(enclosing(nested, [(0, 5e5)] * 16_000))


def test_many_ranges_that_end_one_after_another_are_read_in_time_that_grows_with_their_number():
    """Each begin used to look at all ranges that were open."""
    looked = 0

    class End(float):
        def __lt__(self, other):
            nonlocal looked
            looked += 1
            return float.__lt__(self, other)

        __gt__ = __ge__ = __le__ = None  # type: ignore[assignment]

        def __neg__(self):
            return End(-float(self))

    ranges = [(0, float(i), End(i + 900), "r") for i in range(5000)]
    assert len(dict(enclosing(ranges, [(0, 5000.0)]))[0]) == 900
    assert looked < 40 * 5000

"""`kernelpoint select`, also with --join: what the tracers take."""

import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from command_line import output_of, refusal_of
from hypothesis import given
from hypothesis import strategies as st

from kernelpoint.archive import read_archive, write_archive
from kernelpoint.errors import PlanError, TraceError
from kernelpoint.selection import Selection
from kernelpoint.selection.lists import join_lists
from kernelpoint.simulators.accelsim.tracer import kernel_ranges
from kernelpoint.simulators.macsim.tracer import sampled_kernels
from kernelpoint.traces import read_trace_list


def numbers_of(text):
    """The launches that the tracer takes for a range, read as its documentation says."""
    numbers = []
    for item in text.split():
        first, _, last = item.partition("-")
        numbers += range(int(first), int(last or first) + 1)
    return numbers


@given(st.sets(st.integers(1, 400), min_size=1), st.integers(9, 60))
def test_ranges_name_each_launch_once_in_values_that_are_short_enough(wanted, most):
    runs = kernel_ranges(np.array(sorted(wanted)), most)
    assert [number for run in runs for number in numbers_of(run)] == sorted(wanted)
    assert all(len(run) <= most for run in runs)


def test_macsims_sample_holds_every_stratum_with_its_size():
    strata = np.array([0, 1, 0, -1, 1, 0, -1])
    traced = np.array([True, True, False, True, True, True, True])
    lines = sampled_kernels(np.arange(7), strata, traced).splitlines()[2:]
    assert lines == ["2 2 3 6", "3 2 0 5", "2 2 1 4"]  # size of the stratum, launches to trace, their numbers


def test_select_writes_what_the_tracer_takes(census, tmp_path):
    said = output_of("select", census, "-o", tmp_path / "drawn", "--relative-error", "0.05")
    selection = Selection.load(tmp_path / "drawn" / "selection.kpselect")
    numbers = numbers_of((tmp_path / "drawn" / "kernel_range-1.txt").read_text())
    assert numbers == selection.numbers.tolist() and 0 < len(numbers) < 200
    assert f"400 launches; {len(numbers)} to trace" in said and "disk: about" in said and "simulation: at most about" in said


def test_equal_seeds_draw_equal_launches_and_spare_only_adds(census, tmp_path):
    def drawn(name, *options):
        output_of("select", census, "-o", tmp_path / name, *options)
        return set(Selection.load(tmp_path / name / "selection.kpselect").numbers.tolist())

    assert drawn("a", "--seed", 4) == drawn("b", "--seed", 4) != drawn("c", "--seed", 5)
    assert drawn("d", "--spare", 1) < drawn("e", "--spare", 2) < drawn("f", "--spare", 6)


def test_contexts_are_selected_apart(census, tmp_path):
    other = tmp_path / "stats_ctx_0x99"
    other.write_text("".join(census.read_text().splitlines(keepends=True)[:41]))
    output_of("select", census, other, "-o", tmp_path / "drawn")
    sizes = [
        Selection.load(tmp_path / "drawn" / name / "selection.kpselect").program.size for name in (census.name, other.name)
    ]
    assert sizes == [400, 40]


def test_a_damaged_selection_is_refused(census, tmp_path):
    output_of("select", census, "-o", tmp_path / "drawn")
    path = tmp_path / "drawn" / "selection.kpselect"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(PlanError, match=r"selection\.kpselect"):
        Selection.load(path)


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("design_strata", lambda a: a + 10_000),
        ("design_strata", lambda a: a[:-1]),
        ("design_first_sizes", lambda a: a[:1]),
        ("design_first_sizes", lambda a: a * 0 - 1),
        ("design_clusters", lambda a: a + 2**30),
        ("labels_names", lambda a: a + 99),
        ("labels_shapes", lambda a: a[:, :5]),
        ("launch_label", lambda a: a[:5]),
        ("traced", lambda a: a[:5]),
        ("traced", lambda a: a.astype(float)),
        ("spare", lambda value: -1.0),
        *((key, None) for key in ("origin", "names", "spare", "counters", "source", "forecast")),
    ],
)
def test_a_selection_whose_parts_do_not_fit_is_refused(census, tmp_path, part, change):
    output_of("select", census, "-o", tmp_path / "drawn")
    path = tmp_path / "drawn" / "selection.kpselect"
    about, arrays = read_archive(path)
    if change is None:
        del about[part]
    else:
        parts = about if part in about else arrays
        parts[part] = change(parts[part])
    write_archive(path, about, arrays)
    with pytest.raises(PlanError, match="cannot read the selection "):
        Selection.load(path)


def test_a_plan_is_no_selection(tmp_path):
    write_archive(tmp_path / "run.kpplan", {"version": 1, "origin": {}}, {"design_strata": np.zeros(3)})
    with pytest.raises(PlanError, match="is a plan, but a selection is needed here; name this file with `plan:`"):
        Selection.load(tmp_path / "run.kpplan")


@pytest.mark.parametrize("tracer", ["accelsim", "macsim"])
def test_the_script_runs_the_tracer_and_joins_its_traces(census, tmp_path, monkeypatch, tracer):
    """A program that does what a tracer does stands for both: it writes traces of the numbers that it is given."""
    arguments = ["select", census, "-o", tmp_path / "drawn", "--relative-error", "0.05"]
    if tracer == "macsim":
        names = tmp_path / "kernel_names.txt"
        names.write_text("".join(
            f"Kernel{n} name: _Z1aPf\n  Grid size: (4, 1, 1), Block size: (64, 1, 1), maxBlockPerCore: 16, # of regs: 20, "
            "static shared mem: 0, dynamic shared mem: 0\n" for n in range(50)
        ))  # fmt: skip
        arguments[1] = names
    output_of(*arguments)
    folder = tmp_path / "drawn"
    if tracer == "accelsim":  # as if the environment were short
        first, *rest = (folder / "kernel_range-1.txt").read_text().split()
        (folder / "kernel_range-1.txt").write_text(first)
        (folder / "kernel_range-2.txt").write_text(" ".join(rest))
    program = tmp_path / "program.py"
    program.write_text(STAND_IN)
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    command = bin_folder / "kernelpoint"
    command.write_text(f"#!/bin/sh\nexec {sys.executable} -c 'from kernelpoint.cli import main; main()' \"$@\"\n")
    command.chmod(0o755)
    environment = {**os.environ, "PATH": f"{bin_folder}:{os.environ['PATH']}", "TRACER": "/x/tracer.so", "POST": "true"}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    done = subprocess.run(["sh", folder / "trace.sh", sys.executable, program], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    selection = Selection.load(folder / "selection.kpselect")
    listed = read_trace_list(folder / "traces")
    assert sorted(listed.numbers.tolist()) == selection.numbers.tolist()


STAND_IN = """
import os, pathlib
assert os.environ["CUDA_INJECTION64_PATH"] == "/x/tracer.so"
if "SAMPLED_KERNEL_INFO" in os.environ:
    folder = pathlib.Path(os.environ["TRACE_PATH"])
    lines = pathlib.Path(os.environ["SAMPLED_KERNEL_INFO"]).read_text().splitlines()[2:]
    numbers = sorted(int(n) for line in lines for n in line.split()[2:])
    folder.mkdir(parents=True)
    for n in numbers:
        (folder / f"Kernel{n}").mkdir()
        (folder / f"Kernel{n}" / "trace.txt").write_text("")
    (folder / "kernel_names.txt").write_text("")
    (folder / "kernel_config.txt").write_text("\\n".join(["nvbit", "14", "-1", *(f"./Kernel{n}/trace.txt" for n in numbers)]))
else:
    folder = pathlib.Path(os.environ["TRACES_FOLDER"]) / "traces"
    folder.mkdir(parents=True)
    numbers = []
    for item in os.environ["DYNAMIC_KERNEL_RANGE"].split():
        first, _, last = item.partition("-")
        numbers += range(int(first), int(last or first) + 1)
    for n in numbers:
        (folder / f"kernel-{n}.traceg").write_text("")
    (folder / "kernelslist.g").write_text("MemcpyHtoD,0x10,8\\n" + "".join(f"kernel-{n}.traceg\\n" for n in numbers))
"""


def list_in(folder, lines):
    folder.mkdir()
    for line in lines:
        if line.startswith("kernel"):
            (folder / line).write_text("")
    (folder / "kernelslist.g").write_text("\n".join(lines) + "\n")
    return folder


COPIES = ["MemcpyHtoD,0x0000000000000010,4", "MemcpyHtoD,0x0000000000000020,8"]


def test_joined_lists_keep_copies_where_they_stood_and_launches_in_order(tmp_path):
    a = list_in(tmp_path / "a", [COPIES[0], "kernel-2.traceg", COPIES[1], "kernel-9.traceg"])
    b = list_in(tmp_path / "b", ["kernel-1.traceg", COPIES[0], "kernel-4.traceg", COPIES[1]])
    assert join_lists([a, b], tmp_path / "all") == 4
    lines = (tmp_path / "all" / "kernelslist.g").read_text().splitlines()
    assert lines == [
        "kernel-1.traceg", COPIES[0], "kernel-2.traceg", "kernel-4.traceg", COPIES[1], "kernel-9.traceg"
    ]  # fmt: skip
    assert all((tmp_path / "all" / line).exists() for line in lines if line.startswith("kernel"))


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        ([COPIES[0], "kernel-2.traceg"], ["kernel-1.traceg", COPIES[1]], "the program ran differently"),
        (["kernel-2.traceg"], ["kernel-2.traceg"], "launch 2 is also in another list"),
    ],
    ids=["other copies", "a launch twice"],
)
def test_lists_that_are_not_of_one_run_are_not_joined(tmp_path, first, second, reason):
    lists = [list_in(tmp_path / "a", first), list_in(tmp_path / "b", second)]
    with pytest.raises(TraceError, match=reason):
        join_lists(lists, tmp_path / "all")


def test_a_spare_beyond_numbers_is_refused(census, tmp_path):
    said = refusal_of("select", census, "-o", tmp_path / "drawn", "--spare", "inf")
    assert "--spare: got inf; allowed: a number of 1 or more" in said


def test_two_censuses_of_one_name_would_share_a_folder_and_are_refused(census, tmp_path):
    (tmp_path / "other").mkdir()
    other = shutil.copy(census, tmp_path / "other" / census.name)
    assert "two censuses have this name" in refusal_of("select", census, other, "-o", tmp_path / "drawn")
    assert not (tmp_path / "drawn").exists()

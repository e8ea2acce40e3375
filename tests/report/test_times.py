"""The table of kernel times for other simulators."""

import csv
import importlib.util

import pytest
from workloads import synthesised

import kernelpoint as kp
from kernelpoint.errors import ConfigError, SetupError
from kernelpoint.report.export import EXPORTS, Options
from kernelpoint.report.exports.times import KernelTime, Times, kernel_times
from kernelpoint.traces import read_header, read_trace_list

LAUNCHES = 90


@pytest.fixture(scope="module")
def traces(tmp_path_factory):
    return synthesised(tmp_path_factory.mktemp("traces"), "transformer-decode", LAUNCHES)


@pytest.fixture(scope="module")
def run(traces, tmp_path_factory):
    journal = tmp_path_factory.mktemp("run") / "run.kpjournal"
    return kp.simulate(traces, journal, policy="kernelpoint", error_budget={"relative_error": 0.05})


def test_each_kernel_and_shape_of_the_traces_has_a_row_with_the_number_of_its_launches(run, traces):
    counted: dict[tuple[str, str, str], int] = {}
    for path in read_trace_list(traces).traces:
        shape = read_header(path)
        key = shape.kernel_name, "x".join(map(str, shape.grid)), "x".join(map(str, shape.block))
        counted[key] = counted.get(key, 0) + 1
    assert {(row.kernel, row.grid, row.block): row.launches for row in kernel_times(run, 1000.0)} == counted


def test_cycles_add_up_to_the_estimate_and_times_follow_the_clock(run):
    rows = list(kernel_times(run, 500.0))
    assert sum(row.cycles for row in rows) == pytest.approx(run.ended().counters["cycles"].estimate, rel=1e-9)
    assert all(row.microseconds == pytest.approx(row.cycles / 500.0) for row in rows)
    assert sum(row.simulated for row in rows) == len(run.results)


def test_a_kernel_of_one_shape_has_the_half_width_that_the_run_states_and_one_of_several_has_none(run):
    rows = list(kernel_times(run, 1000.0))
    names = [row.kernel for row in rows]
    stated = {kernel.name: kernel.estimates["cycles"].half_width for kernel in run.ended().kernels}
    assert 1 in map(names.count, names)
    for row in rows:
        assert row.cycles_half_width == (stated[row.kernel] if names.count(row.kernel) == 1 else None)


def test_a_full_run_has_the_names_of_its_traces_and_is_exact(traces, tmp_path):
    full = kp.simulate(traces, tmp_path / "full.kpjournal", policy="all")
    rows = list(kernel_times(full, 1000.0))
    assert {row.kernel for row in rows} == {read_header(path).kernel_name for path in read_trace_list(traces).traces}
    assert {row.cycles_half_width for row in rows} == {0.0}
    assert sum(row.cycles for row in rows) == full.ended().counters["cycles"].estimate


def test_rows_are_split_by_the_ranges_of_the_run(traces, tmp_path):
    named = tmp_path / "ranges.csv"
    named.write_text("launch,path\n" + "".join(f"{n},{'prefill' if n < 30 else 'decode/token'}\n" for n in range(80)))
    run = kp.simulate(traces, tmp_path / "run.kpjournal", policy="all", ranges=str(named))
    launches = dict.fromkeys(run.ranges, 0)
    cycles = dict.fromkeys(run.ranges, 0.0)
    for row in kernel_times(run, 1000.0):
        launches[row.range] += row.launches
        cycles[row.range] += row.cycles
    assert launches == {"": LAUNCHES - 80, "prefill": 30, "decode": 0, "decode/token": 50}
    assert cycles["prefill"] == run.ranges["prefill"].estimates["cycles"].estimate


def test_csv_has_these_rows(run, tmp_path):
    sentence = Times().write(run, tmp_path / "times.csv", Options(clock=1000.0))
    assert sentence == f"{len(list(kernel_times(run, 1000.0)))} kernels and shapes"
    rows = list(csv.DictReader((tmp_path / "times.csv").open()))
    assert tuple(rows[0]) == KernelTime._fields
    assert [float(row["cycles"]) for row in rows] == [row.cycles for row in kernel_times(run, 1000.0)]


def test_parquet_without_pyarrow_is_one_message_that_names_the_extra(run, tmp_path):
    if importlib.util.find_spec("pyarrow"):
        pytest.skip("pyarrow is installed")
    with pytest.raises(SetupError, match=r"pyarrow is not installed.*'\.\[formats\]'"):
        Times().write(run, tmp_path / "times.parquet", Options(clock=1000.0))


def test_parquet_has_the_rows_of_the_csv(run, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet", reason="Parquet needs the extra formats (pyarrow)")
    Times().write(run, tmp_path / "times.parquet", Options(clock=1000.0))
    table = parquet.read_table(tmp_path / "times.parquet").to_pydict()
    assert table["cycles"] == [row.cycles for row in kernel_times(run, 1000.0)]


def test_a_form_that_no_export_has_is_refused_with_those_that_there_are():
    with pytest.raises(ConfigError, match=r"--as: got 'time' .*times.*allowed: chakra, perfetto, simai, times"):
        EXPORTS.load("time")

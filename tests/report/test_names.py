"""Each launch keeps its name in every output, where launches of equal code have different names."""

import csv
import json
from pathlib import Path

import pytest
from trace_writer import numbered
from workloads import synthesised

import kernelpoint as kp
from kernelpoint.profiles.names import base_key
from kernelpoint.report.export import Options, launches, write_launches
from kernelpoint.report.exports.chakra import Chakra
from kernelpoint.report.exports.perfetto import Perfetto
from kernelpoint.report.page import html_page
from kernelpoint.report.result import result_of
from kernelpoint.session.boundary import open_run
from kernelpoint.traces import read_header, read_trace_list

LAUNCHES, NAMES = 60, 3


@pytest.fixture(scope="module")
def renamed(tmp_path_factory):
    """A list in which every code runs under three names, by turns."""
    folder = tmp_path_factory.mktemp("renamed")
    made = read_trace_list(synthesised(tmp_path_factory.mktemp("made"), "iterative-solver", LAUNCHES, rows=2048)).traces
    for launch, path in enumerate(made):
        head, rest = Path(path).read_text().split("\n", 1)
        (folder / (name := f"kernel-{launch + 1}.traceg")).write_text(numbered(f"{head}_{launch % NAMES}\n{rest}", name))
    (folder / "kernelslist.g").write_text("".join(f"kernel-{launch + 1}.traceg\n" for launch in range(LAUNCHES)))
    return str(folder / "kernelslist.g")


@pytest.fixture(scope="module")
def expected(renamed):
    return [read_header(path).kernel_name for path in read_trace_list(renamed).traces]


@pytest.fixture(scope="module", params=["kernelpoint", "all", "random", "sieve"])
def run(renamed, tmp_path_factory, request):
    """A sampled run and a full one, of policies that read traces and of such that read none."""
    journal = tmp_path_factory.mktemp("run") / "run.kpjournal"
    return kp.simulate(renamed, journal, "rtx", policy=request.param, error_budget={"relative_error": 0.05})


def test_the_list_has_equal_code_under_several_names(renamed, expected):
    plan = kp.Plan.from_traces(renamed)
    assert len(plan.stream_hashes) < len(set(expected)) == len(plan.program.names.distinct)
    assert [plan.name_of_unit(launch) for launch in range(LAUNCHES)] == expected


def test_the_run_its_table_and_the_times_for_other_simulators_have_the_names_of_the_list(run, expected):
    assert [run.name_of(launch) for launch in range(LAUNCHES)] == expected
    assert [launch.name for launch in launches(run)] == expected
    pytest.importorskip("pandas", reason="tables need pandas")
    assert run.to_frame()["kernel"].tolist() == expected


def test_csv_and_perfetto_have_the_names_of_the_list(run, expected, tmp_path):
    write_launches(run, tmp_path / "launches.csv")
    rows = list(csv.DictReader((tmp_path / "launches.csv").open()))
    assert [row["kernel"] for row in rows] == [base_key(name) for name in expected]
    Perfetto().write(run, tmp_path / "perfetto.json", Options())
    events = json.loads((tmp_path / "perfetto.json").read_text())["traceEvents"]
    shown = {event["args"]["launch"]: event["name"] for event in events if event["ph"] == "X"}
    assert [shown[launch] for launch in range(LAUNCHES)] == [base_key(name) for name in expected]


def test_a_chakra_trace_has_the_names_of_the_list(run, expected, tmp_path):
    pytest.importorskip("google.protobuf", reason="Chakra traces need the extra formats (protobuf)")
    from kernelpoint.profiles.formats.chakra import COMP, read_trace

    Chakra().write(run, tmp_path / "run.0.et", Options(clock=1000.0))
    assert [node.name for node in read_trace(tmp_path / "run.0.et")[1] if node.type == COMP] == expected


def test_json_and_the_page_count_the_launches_of_each_name(run, expected):
    kernels = {kernel["name"]: kernel["launches"] for kernel in run.content()["kernels"]}
    assert kernels == {name: expected.count(name) for name in set(expected)}
    page = html_page(result_of(run))
    assert all(base_key(name) in page for name in set(expected))


def test_the_simulator_is_told_the_name_of_each_launch(renamed, expected, tmp_path):
    """`kp_launch_name`."""
    from kernelpoint.config import parse_config
    from kernelpoint.fast_model.configuration import configuration_of_host
    from kernelpoint.python_host import InProcess

    journal = str(tmp_path / "run.kpjournal")
    config = parse_config({"version": 1, "policy": "kernelpoint", "journal": journal}, "keys")
    host = InProcess(renamed, configuration_of_host("rtx"))
    host.session = session = open_run(config, host.host, lambda line: None)
    session.drive(host.simulate)
    assert [session.launch_name(0, launch) for launch in range(LAUNCHES)] == expected

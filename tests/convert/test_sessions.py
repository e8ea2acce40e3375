"""Lists in MacSim's layout where lists of Accel-Sim's go: scans, cache, graphs, plans, commands; recorded traces."""

import csv
import json
import os
import subprocess
from pathlib import Path

import pytest
from command_line import run_command
from fast_reader import read_fast
from plain_macsim import read_launch_plainly, read_records, write_launch
from workloads import synthesised

import kernelpoint
from kernelpoint.errors import TraceError
from kernelpoint.graphs import build_graph
from kernelpoint.simulators.macsim.convert import convert_to_macsim
from kernelpoint.traces import ArtefactCache, read_trace_list, scan_launches, scan_trace
from kernelpoint_lab.synth.compose import compose
from kernelpoint_lab.synth.macsim import write_macsim_list


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """The same workload's lists in both formats."""
    folder = tmp_path_factory.mktemp("both")
    written = synthesised(folder / "accelsim", "transformer-decode", 60)
    totals, made = write_macsim_list(compose("transformer-decode", launches=60), folder / "macsim", False)
    assert (totals.launches, made.launches) == (60, 60)
    return written, folder / "macsim" / "kernel_config.txt"


def test_a_synthesised_workload_is_the_same_in_both_formats(both, tmp_path):
    accelsim, macsim = (scan_launches(read_trace_list(path).traces, ArtefactCache(tmp_path / "cache")) for path in both)
    assert accelsim.errors == macsim.errors == {}
    assert accelsim.stream_ids.tolist() == macsim.stream_ids.tolist()
    assert accelsim.names == macsim.names
    assert accelsim.labels.shapes.tolist() == macsim.labels.shapes.tolist()
    assert accelsim.count("thread_instructions").tolist() == macsim.count("thread_instructions").tolist()
    assert accelsim.count("bytes").tolist() == macsim.count("bytes").tolist()
    assert (macsim.count("sectors") != accelsim.count("sectors")).mean() < 0.1  # a gather's: broadcasts look contiguous there
    assert macsim.count("sectors").sum() == pytest.approx(accelsim.count("sectors").sum(), rel=1e-3)


def test_workload_json_names_the_folders(both):
    document = json.loads((both[1].parent / "workload.json").read_text())
    listed = [line.split("/")[1] for line in both[1].read_text().splitlines()[3:]]
    assert [document["launches"][n]["file"] for n in document["sequence"]] == listed


def test_graphs_of_macsim_launches_lack_what_the_format_lacks(both):
    pairs = zip(*(read_trace_list(path).traces[:14] for path in both), strict=True)
    for accelsim, macsim in pairs:
        complete, lacking = build_graph(accelsim, 20_000), build_graph(macsim, 20_000)
        assert lacking.num_nodes <= complete.num_nodes  # fewer inputs: register files share numbers, addresses have none


def test_a_scan_is_remembered_until_a_file_of_the_launch_is_replaced(tmp_path):
    path = write_launch(tmp_path / "Kernel3")
    cache = ArtefactCache(tmp_path / "cache")
    before = scan_launches([str(path)], cache)
    asked = []
    scan_launches([str(path)], cache, progress=lambda done, total: asked.append(total))
    assert asked == []
    replacement = tmp_path / "new.raw"
    replacement.write_bytes((path.parent / "trace_0.raw").read_bytes())
    os.utime(path.parent, ns=(0, 0))
    replacement.rename(path.parent / "trace_0.raw")
    after = scan_launches([str(path)], cache, progress=lambda done, total: asked.append(total))
    assert asked and after.stream_ids.tolist() == before.stream_ids.tolist()


def test_plan_and_inspect_take_macsim_lists(both, tmp_path):
    done = run_command("plan", both[1], "--policy", "sieve", "-o", tmp_path / "run.kpplan")
    assert done.returncode == 0 and "60 launches" in done.stdout, done.stdout + done.stderr
    shown = json.loads(run_command("file", "inspect", both[1].parent, "--json").stdout)
    assert shown["launches"] == 60 and shown["numbers"]["first"] == 0
    launch = json.loads(run_command("file", "inspect", both[1].parent / "Kernel0" / "trace.txt", "--json").stdout)
    assert launch["work"]["instructions"] == sum(launch["opcodes"].values())


def test_synth_writes_macsim_and_refuses_other_formats(tmp_path):
    done = run_command("lab", "synth", "copy", "--set", "n=1024", "--launches", 2, "--format", "macsim", "-o", tmp_path / "out")
    assert done.returncode == 0 and "2 launches in 1 folders" in done.stdout, done.stderr
    again = run_command("lab", "synth", "copy", "--set", "n=1024", "--format", "macsim", "-o", tmp_path / "out")
    assert again.returncode == 1 and "not empty" in again.stderr
    forced = run_command("lab", "synth", "copy", "--set", "n=1024", "--format", "macsim", "--force", "-o", tmp_path / "out")
    assert forced.returncode == 0 and "1 launches" in forced.stdout, forced.stderr
    assert sorted(path.name for path in tmp_path.glob("*")) == ["out"]
    refused = run_command("lab", "synth", "copy", "--format", "gem5", "-o", tmp_path / "other")
    assert refused.returncode == 1 and "--format is 'gem5'; allowed: accelsim, tracez, macsim" in refused.stderr


def test_recorded_launches_read_as_a_plain_reader_reads_them(vectormultadd):
    for size, folder in vectormultadd.items():
        for path in read_trace_list(folder).traces:
            launch = folder / path.split("/")[-2]
            ids = [int(p.stem[6:]) for p in launch.glob("trace_*.raw")]
            scan = scan_trace(path)
            assert scan.work.instructions == sum(len(read_records(launch / f"trace_{i}.raw")) for i in ids)
            assert scan.header.grid[0] == int(size) // 1024 and scan.header.kernel_name.startswith("kernel_at_0x")
            if size == "4096":
                assert read_fast(path) == read_launch_plainly(launch, scan.header.grid)


def test_a_recorded_workload_has_the_kernels_that_it_launched(vectormultadd, tmp_path):
    table = scan_launches(read_trace_list(vectormultadd["16384"]).traces, ArtefactCache(tmp_path / "cache"))
    assert table.errors == {} and table.stream_ids.tolist() == table.kernels.tolist() == [0, 0, 1]


def test_the_embedded_host_runs_the_same_work_from_either_format(both, tmp_path):
    program = Path(kernelpoint.__file__).parent / "bin" / "kernelpoint-host"
    if not program.exists():
        pytest.skip("the embedded host is not built")
    rows = []
    for number, traces in enumerate(both):
        results = tmp_path / f"{number}.csv"
        arguments = [
            "-trace",
            traces,
            "-config",
            program.parents[1] / "host_configs" / "v100.yaml",
            "-results",
            results,
        ]
        subprocess.run([program, *arguments], check=True, capture_output=True, timeout=300)
        rows.append(list(csv.DictReader(results.open())))
    accelsim, macsim = rows
    assert len(accelsim) == len(macsim) == 60
    for column in ("launch_index", "kernel_name", "instructions", "ctas"):
        assert [row[column] for row in macsim] == [row[column] for row in accelsim]


def test_convert_of_a_macsim_list_is_refused(both, tmp_path):
    with pytest.raises(TraceError, match="Accel-Sim"):
        convert_to_macsim(both[1], tmp_path / "out")

"""The hook inside the real Accel-Sim. Needs a patched and built tree:

    source TREE/gpu-simulator/setup_environment.sh
    KERNELPOINT_ACCELSIM=TREE/gpu-simulator/bin/release/accel-sim.out make test

and, to compare with the simulator as it was, KERNELPOINT_ACCELSIM_UNPATCHED with the same of another tree.
"""

import itertools
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from trace_writer import numbered

from kernelpoint.patching import SourceTree, load_description

PROGRAM = os.environ.get("KERNELPOINT_ACCELSIM")
UNPATCHED = os.environ.get("KERNELPOINT_ACCELSIM_UNPATCHED")
pytestmark = pytest.mark.skipif(not PROGRAM, reason="KERNELPOINT_ACCELSIM names no patched accel-sim.out")

LAUNCHES = 4
# Wall-clock, rates, build, paths; CTAs of an SM, printed where a launch's data lie elsewhere in memory than the last one's.
VOLATILE = re.compile(
    r"gpgpu_simulation_(time|rate)|gpu_total_sim_rate|gpgpu_silicon_slowdown|Accel-Sim \[build|-trace |-config |"
    r"Processing kernel|Header info loaded|-kernel_sampling|GPGPU-Sim uArch: CTA/core"
)


def tree_of(program):
    """The folder gpu-simulator of a program built by its own Makefile."""
    return Path(program).resolve().parents[2]


def start(program, list_path, *options, plugin=None):
    """A run of the simulator, begun; its output goes to out.txt and err.txt beside the list."""
    configs = tree_of(program) / "gpgpu-sim" / "configs" / "tested-cfgs" / "SM7_QV100"
    library = next((tree_of(program) / "gpgpu-sim" / "lib").rglob("libcudart.so")).parent
    environment = {**os.environ, "LD_LIBRARY_PATH": f"{library}:{os.environ.get('LD_LIBRARY_PATH', '')}"}
    environment["KERNELPOINT_PLUGIN"] = str(plugin) if plugin else environment.get("KERNELPOINT_PLUGIN", "")
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
    command = [program, "-trace", str(list_path), "-config", str(configs / "gpgpusim.config")]
    traces = tree_of(program) / "configs" / "tested-cfgs" / "SM7_QV100" / "trace.config"
    command += ["-config", str(traces), *map(str, options)]
    with open(list_path.with_name("out.txt"), "w") as out, open(list_path.with_name("err.txt"), "w") as err:
        return subprocess.Popen(command, cwd=list_path.parent, env=environment, stdout=out, stderr=err)


def run(program, list_path, *options, plugin=None):
    """(exit code, standard output, standard error) of a run."""
    code = start(program, list_path, *options, plugin=plugin).wait(timeout=600)
    return code, list_path.with_name("out.txt").read_text(), list_path.with_name("err.txt").read_text()


def values(text, key):
    """Every value printed as `key = value`."""
    return [line.split("=", 1)[1].strip() for line in text.splitlines() if re.match(rf"\s*{re.escape(key)}\s*=", line)]


def steady(text):
    """The lines that do not depend on wall-clock, paths or the build; n_ref is never set in the simulator."""
    return [re.sub(r"n_ref(_event)? ?= ?\d+", "", line) for line in text.splitlines() if not VOLATILE.match(line)]


@pytest.fixture(scope="module")
def traces(tmp_path_factory):
    """A synthesised workload of four small launches."""
    folder = tmp_path_factory.mktemp("traces")
    command = [
        sys.executable,
        "-c",
        "from kernelpoint.cli import main; main()",
        "lab",
        "synth",
        "axpy",
        "--set",
        "n=2048",
    ]
    for launch in range(1, LAUNCHES + 1):
        subprocess.run([*command, "-o", str(folder / str(launch)), "--seed", str(launch)], check=True, capture_output=True)
        text = (folder / str(launch) / "kernel-1.traceg").read_text()
        (folder / f"kernel-{launch}.traceg").write_text(numbered(text, f"kernel-{launch}"))
    return folder


@pytest.fixture
def workload(traces, tmp_path):
    """A list over the traces, in a folder of its own."""
    for launch in range(1, LAUNCHES + 1):
        (tmp_path / f"kernel-{launch}.traceg").symlink_to(traces / f"kernel-{launch}.traceg")
    path = tmp_path / "kernelslist.g"
    copies = "MemcpyHtoD,0x00007f7845700000,400\n"
    path.write_text(copies + "".join(f"kernel-{launch}.traceg\n" for launch in range(1, LAUNCHES + 1)))
    return path


@pytest.fixture(scope="module")
def full(traces, tmp_path_factory):
    """The output of the patched simulator without the option."""
    folder = tmp_path_factory.mktemp("full")
    for path in traces.glob("*.traceg"):
        (folder / path.name).symlink_to(path)
    (folder / "kernelslist.g").write_text(
        "MemcpyHtoD,0x00007f7845700000,400\n" + "".join(f"kernel-{i}.traceg\n" for i in range(1, LAUNCHES + 1))
    )
    code, out, _ = run(PROGRAM, folder / "kernelslist.g")
    assert code == 0
    return out


def script(workload, text):
    """A script for the scripted plugin, beside the list."""
    path = workload.with_name("script.txt")
    path.write_text(text)
    return path


def test_the_tree_carries_the_present_patch():
    state = SourceTree(tree_of(PROGRAM).parent, load_description("accelsim")).state()
    assert state.value == "patched"


@pytest.mark.skipif(not UNPATCHED, reason="KERNELPOINT_ACCELSIM_UNPATCHED names no unpatched accel-sim.out")
def test_without_the_option_the_output_is_that_of_the_unpatched_simulator(workload, full):
    code, out, _ = run(UNPATCHED, workload)
    assert code == 0 and steady(out) == steady(full)


def test_simulating_everything_prints_what_the_full_run_prints(workload, full, scripted_plugin):
    code, out, err = run(PROGRAM, workload, "-kernel_sampling", script(workload, "pass 0 1 2 3"), plugin=scripted_plugin)
    assert code == 0 and err == ""
    native = out.split("kernelpoint: launches that")[0]
    assert "kernelpoint: the launches above" not in native
    assert steady(native) == steady(full.split("GPGPU-Sim: *** simulation thread exiting")[0])
    assert values(out, "gpu_tot_sim_cycle")[-1] == values(full, "gpu_tot_sim_cycle")[-1]


def test_every_counter_of_the_totals_is_the_simulators_own_number(workload, scripted_plugin):
    options = ("-kernel_sampling", script(workload, "pass 0 1 2 3"))
    _, out, _ = run(PROGRAM, workload, *options, plugin=scripted_plugin)
    native, _, ours = out.split("kernel_name = kernelpoint_total")
    names = [
        line.split(" = ")[0] for line in ours.splitlines() if re.match(r"\s*(L1D_|L2_|Total_core|total dram|gpgpu_n)", line)
    ]
    assert len(names) == 18
    for name in names:  # the scripted plugin doubles every counter
        assert int(values(ours, name.strip())[0]) == 2 * int(values(native, name.strip())[-1]), name


@pytest.mark.parametrize("wanted", [[], [0], [3], [1, 2], [0, 3]], ids=str)
def test_the_run_ends_normally_whichever_launches_are_skipped(workload, full, scripted_plugin, wanted):
    text = "pass " + " ".join(map(str, wanted)) + "\nestimate 5000 100"
    code, out, err = run(PROGRAM, workload, "-kernel_sampling", script(workload, text), plugin=scripted_plugin)
    assert code == 0 and err == "" and "GPGPU-Sim: *** exit detected ***" in out
    assert re.findall(r"^launching kernel name: .* uid: (\d+)", out, re.M) == [str(launch + 1) for launch in wanted]
    assert values(out, "kernel_launch_uid")[-1] == "4"
    assert out.count("Processing kernel") == len(wanted)


def test_later_passes_run_in_the_same_process_and_apply_no_copy_again(workload, scripted_plugin):
    text = "pass 2\npass 0 3\npass 1\nestimate 5000 100"
    code, out, _ = run(PROGRAM, workload, "-kernel_sampling", script(workload, text), plugin=scripted_plugin)
    assert code == 0
    assert re.findall(r"^launching kernel name: .* uid: (\d+)", out, re.M) == ["3", "1", "4", "2"]
    assert out.count("launching memcpy command") == 1


def test_a_killed_run_resumes_and_simulates_only_what_was_in_flight(workload):
    count = 12  # long enough not to be over before it is killed
    for launch in range(LAUNCHES + 1, count + 1):
        workload.with_name(f"kernel-{launch}.traceg").symlink_to(workload.with_name("kernel-1.traceg"))
    workload.write_text("".join(f"kernel-{launch}.traceg\n" for launch in range(1, count + 1)))
    config = workload.with_name("all.yaml")
    journal = workload.with_name("run.kpjournal")
    config.write_text(f"version: 1\npolicy: all\njournal: {journal}\n")
    for how, results in ((signal.SIGKILL, 1), (signal.SIGINT, 5)):
        process = start(PROGRAM, workload, "-kernel_sampling", config)
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline and process.poll() is None:
            if journal.exists() and journal.read_text().count('"type":"outcome"') >= results:
                break
            time.sleep(0.02)
        process.send_signal(how)
        assert process.wait(timeout=60) == -how
    assert "kernelpoint: interrupted; the same command goes on" in workload.with_name("err.txt").read_text()
    code, out, _ = run(PROGRAM, workload, "-kernel_sampling", config)
    assert code == 0
    done = [json.loads(line)["launch"] for line in journal.read_text().splitlines() if '"type":"outcome"' in line]
    assert sorted(done) == list(range(count)), "each launch counted once"
    assert len(re.findall("^launching kernel", out, re.M)) <= count - 5
    blocks = [block for block in out.split("kernel_name = ")[1:] if not block.startswith("kernelpoint_total")]
    assert sorted(int(values(block, "kernel_launch_uid")[0]) for block in blocks) == list(range(1, count + 1))


@pytest.mark.parametrize("mode", [[], ["-k"], ["-k", "-K"]], ids=["totals", "by name", "by launch"])
def test_the_simulators_own_scraper_reads_the_estimates(workload, scripted_plugin, tmp_path, mode):
    scripts = tree_of(PROGRAM).parent / "util" / "job_launching"
    if not (scripts / "get_stats.py").exists():
        pytest.skip("the tree has no util/job_launching/get_stats.py")
    text = "pass 1 2\nestimate 5000 100"
    _, out, _ = run(PROGRAM, workload, "-kernel_sampling", script(workload, text), plugin=scripted_plugin)
    folder = tmp_path / "runs" / "app" / "NO_ARGS" / "QV100-SASS"
    folder.mkdir(parents=True)
    (folder / "app-NO_ARGS.job.o1").write_text(out)
    (tmp_path / "log").write_text("26-01-01-00-00-00 1 app NO_ARGS QV100-SASS job\n")
    environment = {**os.environ, "GPGPUSIM_ROOT": str(tree_of(PROGRAM) / "gpgpu-sim")}
    command = [sys.executable, "-B", "get_stats.py", "-l", str(tmp_path / "log"), "-r", str(tmp_path / "runs"), *mode]
    done = subprocess.run(command, cwd=scripts, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    parts = done.stdout.split("-" * 100)[1:]
    for key, total in {"gpu_tot_sim_cycle": "kernelpoint_cycles", "total dram reads": "kernelpoint_dram_reads"}.items():
        table = next(part for part in parts if re.search(rf"^{key}", part, re.M))
        rows = {
            line.split(",")[0].split("--", 1)[1]: float(line.rsplit(",", 1)[1])
            for line in table.splitlines()
            if line.startswith("app/") and not line.endswith(",NA")
        }
        assert list(rows.values())[-1] == float(values(out, total)[0]), "the estimate of the whole"
        simulated = sum(list(rows.values())[:-1])
        assert all(row >= 0 for row in rows.values())
        assert not mode or simulated == float(values(out.split("kernelpoint: launches that")[0], key)[-1])


def test_a_full_run_that_keeps_what_is_not_replayed_gets_no_bound_on_its_total(workload):
    workload.write_text("".join(f"kernel-{1 + launch % LAUNCHES}.traceg\n" for launch in range(100)))
    config = workload.with_name("sampled.yaml")
    config.write_text("version: 1\npolicy: kernelpoint\nerror_budget: {relative_error: 0.05}\njournal: run.kpjournal\n")
    code, out, _ = run(PROGRAM, workload, "-gpgpu_perfect_inst_const_cache", "0", "-kernel_sampling", config)
    assert code == 0 and "total within" not in out and "error budget met" not in out
    assert re.search(r"; bound on sampling error only \(with -gpgpu_perfect_inst_const_cache 0 a full run keeps", out)


POWER = ("-power_simulation_enabled", 1)


def with_power():
    xml = tree_of(PROGRAM) / "gpgpu-sim" / "configs" / "tested-cfgs" / "SM7_QV100" / "accelwattch_sass_sim.xml"
    return (*POWER, "-accelwattch_xml_file", xml)


def test_energy_of_a_launch_is_its_own_whatever_was_simulated_before(workload, scripted_plugin):
    energies = []
    for wanted in ("3", "1 3"):
        text = script(workload, f"pass {wanted}\nreplay 3")
        code, _, err = run(PROGRAM, workload, "-kernel_sampling", text, *with_power(), plugin=scripted_plugin)
        assert code == 0 and err == ""
        last = Path(f"{text}.log").read_text().split("complete ")[-1].splitlines()[0].split()
        energies.append({name: float(value) for name, value in itertools.pairwise(last) if name.startswith("energy")})
    alone, later = energies
    assert alone["energy"] == pytest.approx(later["energy"], rel=0.01) and alone["energy_ibp"] > 0.0
    for name in set(alone) - {"energy", "energy_staticp"}:  # AccelWattch rounds these two in each sample
        assert alone[name] == pytest.approx(later[name], rel=1e-4, abs=1e-12), name


@pytest.mark.parametrize("options", [(), POWER], ids=["performance", "AccelWattch"])
def test_state_after_skipping_the_launch_latency_is_the_state_after_ticking(workload, scripted_plugin, options):
    """Every line that the simulator prints, cumulative statistics and AccelWattch's report with them."""
    options = with_power() if options else ()
    report, runs = workload.with_name("accelwattch_power_report.log"), []
    for more in ("", "\nskip_latency"):
        text = script(workload, f"pass 0 1 2 3{more}")
        code, out, err = run(PROGRAM, workload, "-kernel_sampling", text, *options, plugin=scripted_plugin)
        assert code == 0 and err == ""
        runs.append([*steady(out), *(report.read_text().splitlines() if options else [])])
        report.unlink(missing_ok=True)
    assert [pair for pair in zip(*runs, strict=True) if pair[0] != pair[1]] == []

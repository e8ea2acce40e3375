"""The hook inside the real MacSim. Needs a patched and built tree, and its params.in in the tree's folder bin:

    KERNELPOINT_MACSIM=TREE/bin/macsim make test

and, to compare with the simulator as it was, KERNELPOINT_MACSIM_UNPATCHED with the same of another tree.
"""

import gzip
import itertools
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kernelpoint.journal import load_run
from kernelpoint.patching import SourceTree, load_description

PROGRAM = os.environ.get("KERNELPOINT_MACSIM")
UNPATCHED = os.environ.get("KERNELPOINT_MACSIM_UNPATCHED")
pytestmark = pytest.mark.skipif(not PROGRAM, reason="KERNELPOINT_MACSIM names no patched macsim")

KERNELS = (0, 2, 3, 7)
QUIET = ("--debug_print_trace=0", "--debug_trace_read=0")
RECORD = "<BBBBBB4H4HBxIIQQQBxHBBBx"  # MacSim's NVBit layout


def start(program, folder, lists, *options, plugin=None):
    """A run of the simulator, begun in a folder of its own."""
    folder.mkdir(exist_ok=True)
    shutil.copy(Path(program).parent / "params.in", folder)
    (folder / "trace_file_list").write_text("".join(f"{word}\n" for word in (len(lists), *lists)))
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    if plugin:
        environment["KERNELPOINT_PLUGIN"] = str(plugin)
    with open(folder / "out.txt", "w") as out, open(folder / "err.txt", "w") as err:
        command = [program, *QUIET, *map(str, options)]
        return subprocess.Popen(command, cwd=folder, env=environment, stdout=out, stderr=err)


def run(program, folder, lists, *options, plugin=None):
    """(exit code, standard error) of a run."""
    code = start(program, folder, lists, *options, plugin=plugin).wait(timeout=300)
    return code, (folder / "err.txt").read_text()


def stats(folder, name="kernelpoint.stat.out"):
    """A statistics file: name -> amount."""
    rows = (line.split() for line in (folder / name).read_text().splitlines())
    return {row[0]: float(row[1]) for row in rows if len(row) == 3 and re.match(r"[\d.]+$", row[1])}


def natives(folder):
    """Every statistics file but our own; EXE_TIME is wall-clock."""
    files = {path.name: path.read_text() for path in folder.glob("*.stat.out*") if "kernelpoint" not in path.name}
    return {name: re.sub("EXE_TIME.*", "", text) for name, text in files.items()}


def cycles(folder):
    """Launch -> cycles, from the scripted plugin's log."""
    lines = (folder / "script.txt.log").read_text().splitlines()
    return {line.split()[1]: int(line.split()[5]) for line in lines if line.startswith("complete")}


def write_kernel(folder, kernel, warps):
    """A kernel whose warps load, add and store the sum; each has addresses of its own, odd ones store past the L1."""
    folder.mkdir(parents=True)
    store = 77 if kernel % 2 else 78  # ST, STG
    rows = [(71, 1), (32, 0), (36, 0), (store, 2), (139, 0)]  # LD, IADD3, IMAD, EXIT
    for warp in range(warps):
        address = 0x700000000000 + kernel * (1 << 20) + warp * 4096
        with gzip.open(folder / f"trace_{warp}.raw", "wb") as file:
            for step in range(12):
                for number, (opcode, memory) in enumerate(rows if step == 11 else rows[:4]):
                    where = address + step * 128 if memory else 0
                    fields = (opcode, 0, memory == 1, 0, memory != 1, 1, 3, 0, 0, 0, 3, 0, 0, 0, 16, 0xFFFFFFFF, 0)
                    file.write(struct.pack(RECORD, *fields, 16 * number, 0, where, 4 if memory else 0, 0, 0, 0, 0))
    count = 12 * 4 + 1
    (folder / "trace.txt").write_text(f"nvbit\n14\n8\n{warps}\n" + "".join(f"{w} 0\n" for w in range(warps)))
    (folder / "trace_info.txt").write_text("".join(f"{w} {count}\n" for w in range(warps)))


@pytest.fixture(scope="module")
def traces(tmp_path_factory):
    """Four small kernels with gaps in their ids."""
    folder = tmp_path_factory.mktemp("traces")
    for kernel in KERNELS:
        write_kernel(folder / f"Kernel{kernel}", kernel, 2 + kernel)
    lines = "".join(f"./Kernel{kernel}/trace.txt\n" for kernel in KERNELS)
    (folder / "kernel_config.txt").write_text("nvbit\n14\n-1\n" + lines)
    return folder / "kernel_config.txt"


@pytest.fixture(scope="module")
def full(traces, tmp_path_factory):
    """The folder of a run of the patched simulator without the option."""
    folder = tmp_path_factory.mktemp("full") / "run"
    assert run(PROGRAM, folder, [traces])[0] == 0
    return folder


def sampled(tmp_path, text, lists, scripted_plugin, *options):
    """A run with the scripted plugin: (exit code, standard error, folder)."""
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "script.txt").write_text(text)
    code, err = run(PROGRAM, folder, lists, "--kernel_sampling=script.txt", *options, plugin=scripted_plugin)
    return code, err, folder


def test_the_tree_carries_the_present_patch():
    assert SourceTree(Path(PROGRAM).absolute().parents[1], load_description("macsim")).state().value == "patched"


@pytest.mark.skipif(not UNPATCHED, reason="KERNELPOINT_MACSIM_UNPATCHED names no unpatched macsim")
def test_without_the_option_every_statistics_file_is_that_of_the_unpatched_simulator(traces, full, tmp_path):
    assert run(UNPATCHED, tmp_path / "run", [traces])[0] == 0
    assert natives(tmp_path / "run") == natives(full) and not list(full.glob("kernelpoint*"))
    parameters = re.sub("kernel_sampling.*\n", "", (full / "params.out").read_text())
    assert parameters == (tmp_path / "run" / "params.out").read_text()


def test_simulating_everything_is_the_full_run(traces, full, scripted_plugin, tmp_path):
    code, err, folder = sampled(tmp_path, "pass 0:0 0:1 0:2 0:3", [traces], scripted_plugin)
    assert code == 0 and err == "" and natives(folder) == natives(full)
    assert sum(cycles(folder).values()) == stats(full, "general.stat.out")["CYC_COUNT_TOT"]


@pytest.mark.parametrize("wanted", [[], [0], [3], [1, 2], [0, 3]], ids=str)
def test_the_run_ends_normally_whichever_launches_are_skipped(traces, scripted_plugin, tmp_path, wanted):
    text = "pass " + " ".join(f"0:{i}" for i in wanted) + "\nestimate 5000 100"
    code, err, folder = sampled(tmp_path, text, [traces], scripted_plugin)
    assert code == 0 and err == "" and (folder / "out.txt").read_text().endswith("Done\n")
    assert list(cycles(folder)) == [f"0:{i}" for i in wanted]
    assert stats(folder)["KERNELPOINT_CYCLES"] == sum(cycles(folder).values()) + 5000 * (4 - len(wanted))


def test_later_passes_go_back_in_the_list(traces, scripted_plugin, tmp_path):
    code, _, folder = sampled(tmp_path, "pass 0:2\npass 0:0 0:3\npass 0:1", [traces], scripted_plugin)
    assert code == 0 and list(cycles(folder)) == ["0:2", "0:0", "0:3", "0:1"]


REAL = {"residency": (16, 8, 1024, 0, 0), "predictor": (14, 2)}  # of the shipped params.in


def results(folder):
    """Cycles, instructions and counters of each launch, from the scripted plugin's log."""
    lines = (line.split() for line in (folder / "script.txt.log").read_text().splitlines())
    return {words[1]: words[2:] for words in lines if words[0] == "complete"}


@pytest.fixture
def again(traces, tmp_path):
    """The kernels twice, in another order the second time: their lines are in the caches then."""
    folder = tmp_path / "again"
    shutil.copytree(traces.parent, folder)
    order = [*KERNELS, *reversed(KERNELS)]
    lines = "".join(f"./Kernel{kernel}/trace.txt\n" for kernel in order)
    (folder / "kernel_config.txt").write_text("nvbit\n14\n-1\n" + lines)
    return folder / "kernel_config.txt"


@pytest.fixture
def simulated(again, scripted_plugin, tmp_path):
    """Results of a run of this script over the kernels twice."""
    numbers = itertools.count()

    def simulate(text):
        folder = tmp_path / f"run{next(numbers)}"
        folder.mkdir()
        code, err, folder = sampled(folder, text, [again], scripted_plugin)
        assert code == 0 and err == ""
        return results(folder)

    return simulate


def test_a_launch_takes_the_same_cycles_in_any_order_and_alone(simulated, again, replaying):
    in_order = simulated(replaying(again, range(8), **REAL))
    assert simulated(replaying(again, *([launch] for launch in reversed(range(8))), **REAL)) == in_order
    for launch in (0, 3, 7):
        assert simulated(replaying(again, [launch], **REAL)) == {f"0:{launch}": in_order[f"0:{launch}"]}


@pytest.mark.parametrize("cut", [1, 4, 6])
def test_a_run_that_goes_on_from_replay_meets_what_the_full_run_meets(simulated, again, replaying, wanted, cut):
    """Guards the replay against changes of the simulator.

    The phases of clocks and turns are not those of the full run: they move a launch by up to 5 %.
    """
    full = simulated(wanted(range(8)))
    rest = simulated(replaying(again, range(cut, 8), **REAL).replace("replay\n", f"replay {cut}\n", 1))
    assert len(rest) == 8 - cut
    for launch, words in rest.items():
        replayed, whole = (dict(zip(w[::2], map(float, w[1::2]), strict=True)) for w in (words, full[launch]))
        for counter in ("instructions", "l1_accesses", "l1_misses", "llc_misses"):
            assert replayed[counter] == whole[counter], (launch, counter)
        assert replayed["cycles"] == pytest.approx(whole["cycles"], rel=0.06), launch
    taken, expected = (sum(float(run[launch][run[launch].index("cycles") + 1]) for launch in rest) for run in (rest, full))
    assert taken == pytest.approx(expected, rel=0.02)


def test_cycles_are_the_gpus_where_the_clocks_differ(traces, scripted_plugin, tmp_path):
    options = ("--clock_gpu=1",)
    code, _, folder = sampled(tmp_path, "pass 0:0 0:1 0:2 0:3", [traces], scripted_plugin, *options)
    ticks = stats(folder, "general.stat.out")["CYC_COUNT_TOT"]
    assert code == 0 and sum(cycles(folder).values()) == pytest.approx(ticks / 2, abs=2)


@pytest.mark.parametrize("word", ["--kernel_sampling", "--kernel_sampling="])
def test_an_option_without_a_value_is_refused(traces, tmp_path, word):
    code, err = run(PROGRAM, tmp_path / "run", [traces], word)
    assert code == 1 and f"kernel_sampling: got {word}, which MacSim did not take" in err


def test_a_launch_with_a_broken_trace_is_given_up_and_the_run_goes_on(traces, tmp_path):
    broken, folder = tmp_path / "broken", tmp_path / "run"
    shutil.copytree(traces.parent, broken)
    path = broken / "Kernel3" / "trace_1.raw"
    path.write_bytes(path.read_bytes()[:-9])
    folder.mkdir()
    (folder / "kernelpoint.yaml").write_text("version: 1\npolicy: all\njournal: run.kpjournal\n")
    code, err = run(PROGRAM, folder, [broken / "kernel_config.txt"], "--kernel_sampling=kernelpoint.yaml")
    assert code == 0 and "trace_1.raw" in err
    summary = load_run(folder / "run.kpjournal").summary
    assert (summary.simulated, summary.lost) == (3, [2])


def test_a_killed_run_resumes_and_simulates_only_what_was_in_flight(traces, tmp_path):
    count = 120  # long enough not to be over before it is killed
    long = tmp_path / "long"
    shutil.copytree(traces.parent, long)
    lines = "".join(f"./Kernel{KERNELS[i % 4]}/trace.txt\n" for i in range(count))
    (long / "kernel_config.txt").write_text("nvbit\n14\n-1\n" + lines)
    folder = tmp_path / "run"
    folder.mkdir()
    journal = folder / "run.kpjournal"
    (folder / "kernelpoint.yaml").write_text("version: 1\npolicy: all\njournal: run.kpjournal\n")
    arguments = (PROGRAM, folder, [long / "kernel_config.txt"], "--kernel_sampling=kernelpoint.yaml")
    for how, results in ((signal.SIGKILL, 2), (signal.SIGINT, 8)):
        process = start(*arguments)
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and process.poll() is None:
            if journal.exists() and journal.read_text().count('"type":"outcome"') >= results:
                break
            time.sleep(0.01)
        process.send_signal(how)
        assert process.wait(timeout=60) == -how
    assert "kernelpoint: interrupted; the same command goes on" in (folder / "err.txt").read_text()
    code, err = run(*arguments)
    assert code == 0, err
    done = [json.loads(line)["launch"] for line in journal.read_text().splitlines() if '"type":"outcome"' in line]
    assert sorted(done) == list(range(count)), "each launch counted once"
    assert (folder / "out.txt").read_text().count("setup_process:") <= count - 8
    assert stats(folder)["KERNELPOINT_SIMULATED"] == count

"""Whole runs: repeatable, bounded in memory, interruptible, clear about traces that cannot be used."""

import csv
import random
import signal
import subprocess
import sys
import time

import compiled
import pytest
from bench import BARRIER, chain, ffma, instruction, load, store, trace, warp


def mixed_launch(seed: int, ctas: int = 20, length: int = 30) -> str:
    """Loads, stores, arithmetic and barriers, different in every warp."""
    rng = random.Random(seed)

    def some_warp() -> list[str]:
        lines = []
        for part in range(3):
            for _ in range(rng.randrange(length)):
                base, stride = 4 * rng.randrange(1 << 16), 4 * rng.randrange(40)
                addresses = [base + stride * lane for lane in range(32)]
                kind = rng.randrange(5)
                register = rng.randrange(1, 30)
                lines.append(
                    [
                        ffma(register, rng.randrange(1, 30)),
                        load(register, addresses),
                        store(addresses),
                        instruction("LDS", [register], [], addresses, 4),
                        instruction("RED.E.ADD", [], [register], addresses, 4),
                    ][kind]
                )
            if part < 2:
                lines.append(BARRIER)
        return warp(lines)

    return trace([[some_warp() for _ in range(3)] for _ in range(ctas)])


@pytest.mark.parametrize("seed", range(3))
def test_the_same_run_twice_gives_the_same_bytes(bench, seed):
    bench.gpu.update(sms=5, schedulers_per_sm=4)
    launches = [mixed_launch(10 * seed + i) for i in range(3)]
    first, second = bench.run(*launches), bench.run(*launches)
    assert first.code == 0, first.stderr
    assert first.rows == second.rows
    assert first.stdout == second.stdout


def test_counters_add_up(bench):
    bench.gpu.update(sms=3, schedulers_per_sm=2)
    done = bench.run(*(mixed_launch(i) for i in range(4)))
    for row in done.rows:
        value = {name: int(text) for name, text in row.items() if text.isdigit()}
        assert value["l1_misses"] <= value["l1_accesses"]
        assert value["l2_misses"] <= value["l2_accesses"]
        assert value["l2_accesses"] >= value["l1_misses"]
        assert value["dram_reads"] == value["l2_misses"]
        assert value["instructions"] == 32 * value["warp_instructions"]
    assert done.totals["gpu_tot_sim_cycle"] == str(sum(done.cycles))
    assert done.totals["gpu_tot_sim_insn"] == str(sum(done.counter("instructions")))
    assert done.totals["gpu_tot_l2_misses"] == str(sum(done.counter("l2_misses")))
    assert done.totals["gpu_tot_sim_launches"] == "4"


def test_no_launch_is_shorter_than_its_longest_warp_needs(bench):
    bench.gpu.update(sms=80, schedulers_per_sm=4)
    longest = 300
    assert bench.cycles(trace([[warp(chain(n))] for n in (5, longest, 17)])) >= longest * 4


def test_a_kernel_name_with_commas_and_quotes_survives_the_csv(bench):
    name = 'void f<int, float>(char const*, "x")'
    assert bench.run(trace([[warp(chain(1))]], name=name)).rows[0]["kernel_name"] == name


def test_a_cut_trace_ends_a_full_run_with_file_and_line(bench):
    good = trace([[warp(chain(3))]])
    done = bench.run(good, good.replace("#END_TB\n", ""))
    assert done.code == 1
    assert "kernel-2.traceg:" in done.stderr
    assert len(done.rows) == 1


def test_a_trace_with_fewer_ctas_than_its_grid_is_refused_as_cut(bench):
    done = bench.run(trace([[warp(chain(2))]] * 3, grid=1000))
    assert done.code == 1
    assert "1000" in done.stderr


# In between so that the peak is the host's: a process counts the memory of the one that it was forked from.
MEASURE = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def peak_memory(bench, ctas: int) -> int:
    """KiB, of a run over one launch in which every CTA touches new memory."""
    launch = trace([[warp([*chain(300), load(2, [128 * c] * 32)])] for c in range(ctas)])
    command = [sys.executable, "-S", "-c", MEASURE, *bench.command(bench.workload(launch))]
    return int(subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout)


def test_memory_is_bounded_by_resident_ctas_and_not_by_the_trace(bench):
    bench.gpu.update(max_ctas_per_sm=4)
    small, large = peak_memory(bench, 50), peak_memory(bench, 5000)
    assert (bench.folder / "kernel-1.traceg").stat().st_size > 40 << 20
    assert large < small + (8 << 10)


@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_ends_soon_and_keeps_its_rows(bench, signal_number):
    workload = bench.workload(trace([[warp(chain(2000))]] * 200))
    workload.write_text("kernel-1.traceg\n" * 100000)
    results, deadline = bench.folder / "results.csv", time.monotonic() + 60
    process = subprocess.Popen(bench.command(workload), stderr=subprocess.PIPE, text=True)
    while not (results.exists() and results.stat().st_size) and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal_number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors == "kernelpoint-host: interrupted\n"
    rows = list(csv.DictReader(results.open()))
    assert all(None not in row.values() for row in rows)


@pytest.fixture(scope="session")
def sanitized(tmp_path_factory):
    """The host under the sanitisers."""
    return compiled.sanitised([compiled.PLUGIN / "host" / "main.cc"], tmp_path_factory.mktemp("host") / "host")


@pytest.mark.slow
def test_sanitizers_find_nothing(bench, sanitized, scripted_plugin):
    bench.gpu.update(sms=3, schedulers_per_sm=2, max_ctas_per_sm=3)
    launches = [mixed_launch(i, ctas=10, length=20) for i in range(3)]
    copies = "MemcpyHtoD,0x1000,100000"
    cut = launches[0][: len(launches[0]) // 2]
    deadlock = trace([[warp([BARRIER]), chain(3)]])
    plain = bench.run(copies, *launches)
    bench.program = sanitized
    assert bench.run(copies, *launches).rows == plain.rows
    assert "runtime error" not in bench.run(launches[0], cut).stderr
    script = bench.folder / "script.txt"
    script.write_text("pass 0 1 2 3 4\npass 1 4\ninterval 50\nstop * 2300\n")
    options = ["-kernel_sampling", str(script)]
    # A plugin's session lives until the process ends: that is no leak. The runs above look for the host's own.
    sampled = {"KERNELPOINT_PLUGIN": str(scripted_plugin), "ASAN_OPTIONS": "detect_leaks=0"}
    done = bench.run(*launches, cut, deadlock, options=options, **sampled)
    assert done.code == 3, done.stderr  # two launches cannot be simulated, and the plugin states no bound
    assert [int(row["launch_index"]) for row in done.rows] == [0, 1, 2, 1]
    assert "Sanitizer" not in done.stderr

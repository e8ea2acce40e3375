"""The embedded host on the other side of kernelpoint/abi.h, beyond what tests/hosts asks of every host."""

import pytest
from bench import Scripted, chain, load, trace, warp

LAUNCHES = [trace([[warp(chain(10 * (i + 1)))]], name=f"k{i}") for i in range(4)]


@pytest.fixture
def sampled(bench, scripted_plugin):
    return Scripted(bench, scripted_plugin, LAUNCHES)


def test_the_plugin_is_told_each_result_with_its_counters(sampled):
    done = sampled.run("pass 0 1 2 3")
    for row, call in zip(done.rows, sampled.calls("complete"), strict=True):
        counters = dict(zip(call[1::2], call[2::2], strict=True))
        assert counters.pop("flags") == "0"
        assert counters == {name: row[name] for name in counters}
        assert {"cycles", "instructions", "l2_misses", "dram_reads", "warp_instructions"} <= set(counters)


def test_the_plugin_is_told_which_gpu_is_simulated(bench, sampled):
    def opened():
        sampled.run("pass 0")
        call = sampled.calls("open")[0]
        return dict(zip(call[1::2], call[2::2], strict=True))

    first = opened()
    assert sampled.calls("process")[0][:3] == ["0", "launches", "4"]
    assert first["hash"] == opened()["hash"]
    bench.gpu["name"] = "the same GPU under another name"
    assert first["hash"] == opened()["hash"]
    bench.gpu["l2_latency"] += 1
    assert first["hash"] != opened()["hash"]


def test_totals_are_of_the_whole_run_and_estimates_come_from_the_plugin(sampled):
    done = sampled.run("pass 0 2\nestimate 50 10\ndegraded")
    cycles = sum(done.cycles)
    assert done.totals["gpu_tot_sim_cycle"] == str(cycles + 2 * 50) and done.totals["gpu_tot_sim_launches"] == "4"
    assert done.totals["kernelpoint_cycles"] == str(cycles + 2 * 50)
    assert done.totals["kernelpoint_cycles_half_width"] == "2.5"
    assert done.totals["kernelpoint_simulated"] == "2"
    assert done.totals["kernelpoint_skipped"] == "2"
    assert done.totals["kernelpoint_bound"] == "stated"
    assert (done.totals["kernelpoint_cycle_speedup"], done.totals["kernelpoint_saved_seconds"]) == ("2", "3")
    assert done.totals["kernelpoint_degraded"] == "yes"


def test_progress_is_reported_every_interval(sampled):
    done = sampled.run("pass 3\ninterval 500", *LAUNCHES[:3], trace([[warp(chain(1000))]] * 3))
    calls = sampled.calls("progress")
    assert [int(c[2]) for c in calls] == list(range(500, 500 * (len(calls) + 1), 500))
    assert len(calls) == (done.cycles[0] - 1) // 500 > 10
    # Two warps keep the unit busy; the youngest CTA gets it when they have ended.
    assert calls[4][4:9:2] == ["3", "0", "3"]  # issued, completed, all
    assert calls[-1][4:9:2] == ["3", "2", "3"]


def test_a_stopped_launch_drains_what_is_resident(bench, sampled):
    bench.gpu["max_ctas_per_sm"] = 2
    bench.gpu["schedulers_per_sm"] = 2
    many = trace([[warp(chain(100))]] * 50)
    done = sampled.run("pass 0\ninterval 100\nstop * 2500", many)
    assert done.counter("ctas") == [4]  # two ended at 2400, two were running
    assert done.cycles == [2000 + 2 * 400 + 1]
    assert sampled.calls("complete")[0][2] == "1"


def test_a_stop_after_the_last_cta_was_issued_changes_nothing(bench, sampled):
    done = sampled.run("pass 0\ninterval 100\nstop * 2100", trace([[warp(chain(100))]]))
    assert done.cycles == [2000 + 400]
    assert sampled.calls("complete")[0][2] == "0"


def test_a_pass_that_is_pending_once_is_asked_again(sampled):
    done = sampled.run("pass 0 1\npass 2\npending 1")
    assert done.code == 0
    assert sampled.completed() == [0, 1, 2]


@pytest.mark.parametrize("call", ["replay", "progress"])  # the others: tests/hosts
def test_a_failing_plugin_ends_the_run_with_its_reason(sampled, call):
    done = sampled.run(f"pass 0 1 2\nreplay\ninterval 100\nfail {call}")
    assert done.code == 1
    assert "the script says so" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_failed_launch_leaves_nothing_behind_but_time_and_cache_contents(bench, sampled):
    deadlock = trace([[warp(["ffffffff 0 BAR.SYNC 0 0"]), chain(50)]] * 5)
    whole = sampled.run("pass 0 2", LAUNCHES[0], deadlock, LAUNCHES[2])
    broken = sampled.run("pass 0 1 2", LAUNCHES[0], deadlock, LAUNCHES[2])
    assert broken.rows == whole.rows


def test_without_replay_copies_of_skipped_launches_are_made_and_only_in_the_first_pass(sampled):
    base = 0x10000
    reads = trace([[warp([load(1, [base] * 32)])]])
    evicts = trace([[warp([load(1, [base + (6 << 20) * i] * 32) for i in range(1, 40)])]])
    done = sampled.run("pass 1 2\npass 0", LAUNCHES[0], f"MemcpyHtoD,0x{base:x},32", LAUNCHES[1], reads)
    assert done.counter("l2_misses") == [0, 0, 0]
    commands = [reads, f"MemcpyHtoD,0x{base:x},32", reads, evicts]
    done = sampled.run("pass 1 2\npass 1", *commands)
    assert done.counter("l2_misses") == [0, 39, 1]

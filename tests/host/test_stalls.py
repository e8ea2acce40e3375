"""Stall cycles that can be worked out by hand: what a scheduler waits for before each instruction that it issues."""

import pytest
from bench import BARRIER, EXIT, chain, ffma, instruction, load, trace, warp

from kernelpoint import _native
from kernelpoint.fast_model.configuration import configuration_of, shipped
from kernelpoint_lab.synth.families.programs import random_program
from kernelpoint_lab.synth.launch import Memory
from kernelpoint_lab.synth.lists import write_list

KINDS = ("memory", "dependence", "barrier", "unit")


@pytest.fixture
def fp(bench):
    bench.gpu.update(single_precision_latency=7, single_precision_interval=1)
    return bench


def alone(bench, text: str) -> dict[str, int]:
    """Counts of the fast model for one launch on the bench's GPU."""
    bench.workload(text)
    trace_path = bench.folder / "kernel-1.traceg"
    return _native.fast_model.alone(str(trace_path), configuration_of([str(bench.config())]))


def stalls(bench, text: str) -> dict[str, int]:
    """Stalls that are not 0, by kind."""
    found = alone(bench, text)
    return {kind: found[f"{kind}_stalls"] for kind in KINDS if found[f"{kind}_stalls"]}


@pytest.mark.parametrize("n", [2, 50])
def test_a_chain_waits_for_results(fp, n):
    assert stalls(fp, trace([[warp(chain(n))]])) == {"dependence": (n - 1) * 6}


@pytest.mark.parametrize("n", [2, 50])
def test_independent_instructions_wait_for_their_unit(fp, n):
    fp.gpu.update(single_precision_interval=3)
    assert stalls(fp, trace([[warp([ffma(r) for r in range(1, n + 1)])]])) == {"unit": (n - 1) * 2}


def test_a_wait_for_a_result_goes_on_as_one_for_the_unit(fp):
    fp.gpu.update(single_precision_interval=10)
    assert stalls(fp, trace([[warp(chain(2))]])) == {"dependence": 6, "unit": 3}


def test_a_branch_counts_as_dependence(fp):
    fp.gpu.update(control_latency=30)
    assert stalls(fp, trace([[warp([instruction("BRA"), ffma(1)])]])) == {"dependence": 29}


def test_data_of_memory_are_waited_for(fp):
    fp.gpu.update(l1_latency=20, l2_latency=100, dram_latency=300, dram_bytes_per_cycle=32)
    use = trace([[warp([load(2, [4096 + 4 * lane for lane in range(32)]), ffma(3, 2)])]])
    found = alone(fp, use)
    assert stalls(fp, use) == {"memory": found["cycles"] - fp.gpu["launch_latency"] - 1 - 7}
    assert found["memory_stalls"] >= 20 + 100 + 300


def test_shared_memory_counts_as_memory_and_so_does_a_fence(fp):
    fp.gpu.update(shared_latency=40, barrier_latency=1)
    read = instruction("LDS", [1], [], [0] * 32, 4)
    assert stalls(fp, trace([[warp([read, ffma(2, 1)])]])) == {"memory": 39}
    assert stalls(fp, trace([[warp([read, instruction("MEMBAR.SC.GPU"), ffma(2)])]])) == {"memory": 38}


def test_the_operand_that_comes_last_is_the_one_waited_for(fp):
    fp.gpu.update(shared_latency=40, special_function_latency=50)
    read, slow = instruction("LDS", [1], [], [0] * 32, 4), instruction("MUFU.RCP", [2], [])
    assert stalls(fp, trace([[warp([read, slow, ffma(3, 1, 2)])]])) == {"dependence": 49}
    fp.gpu.update(shared_latency=60)
    assert stalls(fp, trace([[warp([read, slow, ffma(3, 1, 2)])]])) == {"memory": 58}


def test_a_register_that_is_written_anew_forgets_that_memory_wrote_it(fp):
    fp.gpu.update(shared_latency=40)
    read = instruction("LDS", [1], [], [0] * 32, 4)
    assert stalls(fp, trace([[warp([read, *chain(3)])]])) == {"memory": 39, "dependence": 12}


def test_a_scheduler_waits_at_a_barrier_for_the_warps_of_another(fp):
    fp.gpu.update(schedulers_per_sm=2, barrier_latency=11)
    late, early = warp([*chain(10), BARRIER, ffma(2)]), warp([BARRIER, ffma(2)])
    # The late warp's barrier issues at 9 * 7 + 1 and opens 11 cycles later; the early one has waited since cycle 1.
    assert stalls(fp, trace([[early, late]])) == {"dependence": 9 * 6, "barrier": (9 * 7 + 1 + 11 - 1) + 10}


def test_another_warp_that_issues_hides_a_wait(fp):
    assert stalls(fp, trace([[warp(chain(2)), warp([ffma(r) for r in range(1, 7)])]])) == {}


def test_time_before_a_cta_starts_is_no_stall(fp):
    fp.gpu.update(cta_dispatch_interval=500, max_ctas_per_sm=1)
    assert stalls(fp, trace([[[EXIT]], [[EXIT]]])) == {}


def test_cycles_of_one_warp_are_those_that_issue_and_those_that_wait(bench, tmp_path):
    write_list([random_program(Memory(), n, 1, 32, 1) for n in range(12)], tmp_path, 12, {"name": "test", "seed": 0})
    for number in range(1, 13):
        found = _native.fast_model.alone(str(tmp_path / f"kernel-{number}.traceg"), configuration_of([str(bench.config())]))
        issued = found["warp_instructions"] + sum(found[f"{kind}_stalls"] for kind in KINDS)
        assert 0 <= found["cycles"] - bench.gpu["launch_latency"] - issued <= 1000  # results that nobody waits for


def test_stalls_are_those_of_one_launch_and_repeat(fp, tmp_path):
    fp.workload(trace([[warp(chain(9))]]))
    path, gpu = str(fp.folder / "kernel-1.traceg"), shipped("v100")
    assert _native.fast_model.alone(path, gpu) == _native.fast_model.alone(path, gpu)

"""Microbenchmarks whose cycles can be worked out by hand; launch latency is taken off except where it is the point."""

import pytest
from bench import BARRIER, chain, ffma, instruction, trace, warp


@pytest.fixture
def fp(bench):
    bench.gpu.update(single_precision_latency=7, single_precision_interval=3)
    return bench


def test_a_launch_pays_its_latency_once(fp):
    fp.gpu["launch_latency"] = 1234
    done = fp.run(trace([[warp(chain(5))]]))
    assert done.cycles == [1234 + 5 * 7]


@pytest.mark.parametrize("n", [1, 2, 50])
def test_dependent_instructions_follow_each_other_after_the_latency(fp, n):
    assert fp.cycles(trace([[warp(chain(n))]])) == n * 7


@pytest.mark.parametrize("n", [1, 2, 50])
def test_independent_instructions_follow_each_other_after_the_interval(fp, n):
    independent = [ffma(r % 200 + 1) for r in range(n)]
    assert fp.cycles(trace([[warp(independent)]])) == (n - 1) * 3 + 7


def test_a_second_write_of_a_register_waits_for_the_first(fp):
    assert fp.cycles(trace([[warp([ffma(1)] * 4)]])) == 4 * 7


def test_the_zero_register_makes_nobody_wait(fp):
    assert fp.cycles(trace([[warp([ffma(255, 255)] * 4)]])) == 3 * 3 + 7


def test_units_work_side_by_side(fp):
    fp.gpu.update(integer_latency=7, integer_interval=3)
    mixed = [line for r in range(1, 11) for line in (ffma(r), instruction("IADD3", [100 + r], []))]
    # The integer instruction slips into the gap of two cycles that the other unit leaves.
    assert fp.cycles(trace([[warp(mixed)]])) == 9 * 3 + 1 + 7


def test_a_branch_holds_its_warp_back(bench):
    bench.gpu.update(control_latency=30, single_precision_latency=7)
    assert bench.cycles(trace([[warp([instruction("BRA"), ffma(1)])]])) == 30 + 7


def test_an_instruction_without_active_lanes_takes_an_issue_slot_only(fp):
    off = instruction("FFMA", [1], [1], mask=0)
    assert fp.cycles(trace([[warp([off, off, ffma(1, 1)])]])) == 3 + 3 + 7


def test_two_warps_of_a_scheduler_share_its_unit(fp):
    independent = [ffma(r) for r in range(1, 11)]
    assert fp.cycles(trace([[warp(independent)] * 2])) == 19 * 3 + 7


def test_two_warps_of_two_schedulers_do_not(fp):
    fp.gpu["schedulers_per_sm"] = 2
    independent = [ffma(r) for r in range(1, 11)]
    assert fp.cycles(trace([[warp(independent)] * 2])) == 9 * 3 + 7


def test_a_scheduler_is_greedy_then_takes_the_oldest(fp):
    fp.gpu["single_precision_interval"] = 1
    # The first warp issues its 4 independent instructions in a row although the second is ready; the second's chain
    # starts after them and after the first's EXIT.
    independent = [ffma(r) for r in range(1, 5)]
    assert fp.cycles(trace([[warp(independent), warp(chain(6))]])) == 4 + 1 + 6 * 7


def test_a_barrier_waits_for_the_last_warp(fp):
    fp.gpu.update(schedulers_per_sm=2, barrier_latency=11)
    late = warp([*chain(10), BARRIER, ffma(2)])
    early = warp([BARRIER, ffma(2)])
    # The late warp arrives one cycle after it has issued its tenth FFMA.
    assert fp.cycles(trace([[early, late]])) == 9 * 7 + 1 + 11 + 7


def test_a_warp_that_has_exited_is_not_waited_for(fp):
    fp.gpu.update(schedulers_per_sm=2, barrier_latency=11)
    waits = warp([BARRIER, ffma(2)])
    # The barrier opens when the other warp issues its EXIT, one cycle after its third FFMA.
    assert fp.cycles(trace([[waits, warp(chain(3))]])) == 2 * 7 + 1 + 11 + 7


def test_a_barrier_that_is_never_reached_is_an_error_and_no_hang(bench):
    done = bench.run(trace([[warp([BARRIER]), chain(3)]]))
    assert done.code == 1
    assert "kernel-1.traceg: deadlock in CTA 0,0,0: 1 warps wait at a barrier" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_fence_waits_for_the_warps_memory_accesses_only(bench):
    bench.gpu.update(barrier_latency=1, shared_latency=40, special_function_latency=200, single_precision_latency=7)
    read = instruction("LDS", [1], [], [0] * 32, 4)
    slow = instruction("MUFU.RCP", [2], [])
    fenced = [read, slow, instruction("MEMBAR.SC.GPU"), ffma(3)]
    assert bench.cycles(trace([[warp([*fenced, ffma(4, 3), *chain(40, 4)])]])) == 40 + 7 + 7 + 40 * 7


def test_an_empty_warp_and_an_empty_cta_take_no_cycles(fp):
    assert fp.cycles(trace([[[], warp(chain(2))], [[], []]])) == 2 * 7


def test_instructions_are_those_of_threads(bench):
    done = bench.run(trace([[warp([ffma(1), instruction("FFMA", [2], [], mask=0xF)])] * 2]))
    assert done.counter("instructions") == [2 * (32 + 4 + 32)]
    assert done.counter("warp_instructions") == [6]

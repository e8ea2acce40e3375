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
    counters = alone(bench, text)
    return {kind: counters[f"{kind}_stalls"] for kind in KINDS if counters[f"{kind}_stalls"]}


READ, SLOW = instruction("LDS", [1], [], [0] * 32, 4), instruction("MUFU.RCP", [2], [])
SIX = [ffma(r) for r in range(1, 7)]
# Situation -> keys of the GPU that differ, warps of each CTA, stalls that are not 0
STALLS = {
    **{f"a chain of {n} waits for results": ({}, [[warp(chain(n))]], {"dependence": (n - 1) * 6}) for n in (2, 50)},
    **{
        f"{n} independent instructions wait for their unit": (
            {"single_precision_interval": 3}, [[warp([ffma(r) for r in range(1, n + 1)])]], {"unit": (n - 1) * 2}
        )
        for n in (2, 50)
    },
    "a wait for a result goes on as one for the unit": (
        {"single_precision_interval": 10}, [[warp(chain(2))]], {"dependence": 6, "unit": 3}
    ),
    "a branch counts as dependence": ({"control_latency": 30}, [[warp([instruction("BRA"), ffma(1)])]], {"dependence": 29}),
    "shared memory counts as memory": ({"shared_latency": 40}, [[warp([READ, ffma(2, 1)])]], {"memory": 39}),
    "a fence counts as memory": (
        {"shared_latency": 40, "barrier_latency": 1}, [[warp([READ, instruction("MEMBAR.SC.GPU"), ffma(2)])]], {"memory": 38}
    ),
    "a result that comes last is the one waited for": (
        {"shared_latency": 40, "special_function_latency": 50}, [[warp([READ, SLOW, ffma(3, 1, 2)])]], {"dependence": 49}
    ),
    "memory that comes last is the one waited for": (
        {"shared_latency": 60, "special_function_latency": 50}, [[warp([READ, SLOW, ffma(3, 1, 2)])]], {"memory": 58}
    ),
    "a register that is written anew forgets that memory wrote it": (
        {"shared_latency": 40}, [[warp([READ, *chain(3)])]], {"memory": 39, "dependence": 12}
    ),
    # The late warp's barrier issues at 9 * 7 + 1 and opens 11 cycles later; the early one has waited since cycle 1.
    "a scheduler waits at a barrier for the warps of another": (
        {"schedulers_per_sm": 2, "barrier_latency": 11},
        [[warp([BARRIER, ffma(2)]), warp([*chain(10), BARRIER, ffma(2)])]],
        {"dependence": 9 * 6, "barrier": (9 * 7 + 1 + 11 - 1) + 10},
    ),
    "another warp that issues hides a wait": ({}, [[warp(chain(2)), warp(SIX)]], {}),
    "time before a CTA starts is no stall": ({"cta_dispatch_interval": 500, "max_ctas_per_sm": 1}, [[[EXIT]], [[EXIT]]], {}),
}  # fmt: skip


@pytest.mark.parametrize("name", STALLS)
def test_stalls_are_those_that_are_worked_out(fp, name):
    keys, ctas, expected = STALLS[name]
    fp.gpu.update(keys)
    assert stalls(fp, trace(ctas)) == expected


def test_data_of_memory_are_waited_for(fp):
    fp.gpu.update(l1_latency=20, l2_latency=100, dram_latency=300, dram_bytes_per_cycle=32)
    use = trace([[warp([load(2, [4096 + 4 * lane for lane in range(32)]), ffma(3, 2)])]])
    counters = alone(fp, use)
    assert stalls(fp, use) == {"memory": counters["cycles"] - fp.gpu["launch_latency"] - 1 - 7}
    assert counters["memory_stalls"] >= 20 + 100 + 300


def test_cycles_of_one_warp_are_those_that_issue_and_those_that_wait(bench, tmp_path):
    write_list([random_program(Memory(), n, 1, 32, 1) for n in range(12)], tmp_path, 12, {"name": "test", "seed": 0})
    for number in range(1, 13):
        counters = _native.fast_model.alone(str(tmp_path / f"kernel-{number}.traceg"), configuration_of([str(bench.config())]))
        issued = counters["warp_instructions"] + sum(counters[f"{kind}_stalls"] for kind in KINDS)
        assert 0 <= counters["cycles"] - bench.gpu["launch_latency"] - issued <= 1000  # results that nobody waits for


def test_stalls_are_those_of_one_launch_and_repeat(fp, tmp_path):
    fp.workload(trace([[warp(chain(9))]]))
    path, gpu = str(fp.folder / "kernel-1.traceg"), shipped("v100")
    assert _native.fast_model.alone(path, gpu) == _native.fast_model.alone(path, gpu)

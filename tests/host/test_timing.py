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


TEN = [ffma(r) for r in range(1, 11)]
MIXED = [line for r in range(1, 11) for line in (ffma(r), instruction("IADD3", [100 + r], []))]
OFF = instruction("FFMA", [1], [1], mask=0)
FENCED = [instruction("LDS", [1], [], [0] * 32, 4), instruction("MUFU.RCP", [2], []), instruction("MEMBAR.SC.GPU"), ffma(3)]
WAITS = warp([BARRIER, ffma(2)])
# Situation -> keys of the GPU that differ, warps of each CTA, cycles
WORKED_OUT = {
    **{f"{n} dependent instructions follow each other after the latency": ({}, [[warp(chain(n))]], n * 7) for n in (1, 2, 50)},
    **{
        f"{n} independent instructions follow each other after the interval": (
            {}, [[warp([ffma(r % 200 + 1) for r in range(n)])]], (n - 1) * 3 + 7
        )
        for n in (1, 2, 50)
    },
    "a second write of a register waits for the first": ({}, [[warp([ffma(1)] * 4)]], 4 * 7),
    "the zero register makes nobody wait": ({}, [[warp([ffma(255, 255)] * 4)]], 3 * 3 + 7),
    # The integer instruction slips into the gap of two cycles that the other unit leaves.
    "units work side by side": ({"integer_latency": 7, "integer_interval": 3}, [[warp(MIXED)]], 9 * 3 + 1 + 7),
    "a branch holds its warp back": ({"control_latency": 30}, [[warp([instruction("BRA"), ffma(1)])]], 30 + 7),
    "an instruction without active lanes takes an issue slot only": ({}, [[warp([OFF, OFF, ffma(1, 1)])]], 3 + 3 + 7),
    "two warps of a scheduler share its unit": ({}, [[warp(TEN)] * 2], 19 * 3 + 7),
    "two warps of two schedulers do not": ({"schedulers_per_sm": 2}, [[warp(TEN)] * 2], 9 * 3 + 7),
    # The first warp issues its 4 independent instructions in a row although the second is ready; the second's chain
    # starts after them and after the first's EXIT.
    "a scheduler is greedy, then takes the oldest": (
        {"single_precision_interval": 1}, [[warp(TEN[:4]), warp(chain(6))]], 4 + 1 + 6 * 7
    ),
    # The late warp arrives one cycle after it has issued its tenth FFMA.
    "a barrier waits for the last warp": (
        {"schedulers_per_sm": 2, "barrier_latency": 11},
        [[WAITS, warp([*chain(10), BARRIER, ffma(2)])]],
        9 * 7 + 1 + 11 + 7,
    ),
    # The barrier opens when the other warp issues its EXIT, one cycle after its third FFMA.
    "a warp that has exited is not waited for": (
        {"schedulers_per_sm": 2, "barrier_latency": 11}, [[WAITS, warp(chain(3))]], 2 * 7 + 1 + 11 + 7
    ),
    "a fence waits for the warp's memory accesses only": (
        {"barrier_latency": 1, "shared_latency": 40, "special_function_latency": 200},
        [[warp([*FENCED, ffma(4, 3), *chain(40, 4)])]],
        40 + 7 + 7 + 40 * 7,
    ),
    "an empty warp and an empty CTA take no cycles": ({}, [[[], warp(chain(2))], [[], []]], 2 * 7),
}  # fmt: skip


@pytest.mark.parametrize("name", WORKED_OUT)
def test_a_launch_takes_the_cycles_that_are_worked_out(fp, name):
    keys, ctas, cycles = WORKED_OUT[name]
    fp.gpu.update(keys)
    assert fp.cycles(trace(ctas)) == cycles


def test_a_barrier_that_is_never_reached_is_an_error_and_no_hang(bench):
    done = bench.run(trace([[warp([BARRIER]), chain(3)]]))
    assert done.code == 1
    assert "kernel-1.traceg: deadlock in CTA 0,0,0: 1 warps wait at a barrier" in done.stderr
    assert done.stderr.count("\n") == 1


def test_instructions_are_those_of_threads(bench):
    done = bench.run(trace([[warp([ffma(1), instruction("FFMA", [2], [], mask=0xF)])] * 2]))
    assert done.counter("instructions") == [2 * (32 + 4 + 32)]
    assert done.counter("warp_instructions") == [6]

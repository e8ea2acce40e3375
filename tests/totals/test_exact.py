"""Counters that traces determine have no error bar."""

import numpy as np
import pytest

from kernelpoint.estimation import Design, Engine, ErrorBudget, Estimate, Look
from kernelpoint.planning.plan import Plan
from kernelpoint.program import COUNTS, RECORD, Contents, Program
from kernelpoint.totals.exact import exact_values, with_exact, with_grids

N = 6
STREAMS = np.array([0, 0, 1, 1, 2, 2], dtype=np.int32)
WARP, THREAD, CTAS = np.array([10, 20, 30]), np.array([300, 600, 900]), np.array([1, 2, 3])


def plan(streams=STREAMS, **counts):
    records = np.zeros(4, dtype=RECORD)  # the last cannot be read
    for name, values in {"instructions": WARP, "thread_instructions": THREAD, "ctas": CTAS, **counts}.items():
        records["counts"][:3, COUNTS.index(name)] = values
    contents = Contents(records, np.zeros((4, 3), np.uint64), ("",) * 4, np.array([0, 1, 2, -1], dtype=np.int32))
    program = Program((N,), contents=contents, content=streams)
    return Plan(program, Design(np.zeros(N, np.int32), np.array([2]), np.linspace(0, 0.9, N)), {})


def engine_with(results, names=("cycles", "instructions", "warp_instructions", "ctas")):
    engine = Engine(plan().design, ErrorBudget(0.1))
    for unit, values in results.items():
        engine.record(unit, names, values)
    return engine


def exact_of(plan, engine, projected):
    values = {name: exact_values(plan, engine, projected, name) for name in engine.counters}
    return {name: of for name, of in values.items() if of is not None}


GOOD = {0: (500.0, 300.0, 10.0, 1.0), 4: (900.0, 900.0, 30.0, 3.0)}


def test_counters_that_equal_the_traces_in_every_simulated_launch_are_summed_over_all():
    exact = exact_of(plan(), engine_with(GOOD), set())
    assert {name: values.sum() for name, values in exact.items()} == {
        "instructions": 2 * THREAD.sum(),
        "warp_instructions": 2 * WARP.sum(),
        "ctas": 2 * CTAS.sum(),
    }


def test_a_host_whose_instructions_are_those_of_warps_is_recognised():
    exact = exact_of(plan(), engine_with({0: (500.0, 10.0), 5: (900.0, 30.0)}, ("cycles", "instructions")), set())
    assert exact["instructions"].tolist() == WARP[STREAMS].tolist()


def test_a_host_that_leaves_instructions_of_its_traces_out_is_recognised():
    unread = np.array([1, 2, 4])
    results = {0: (500.0, 9.0), 5: (900.0, 26.0)}
    exact = exact_of(plan(unread_instructions=unread), engine_with(results, ("cycles", "instructions")), set())
    assert exact["instructions"].tolist() == (WARP - unread)[STREAMS].tolist()


def test_a_counter_that_differs_in_one_simulated_launch_is_estimated():
    results = {**GOOD, 4: (900.0, 901.0, 30.0, 3.0)}
    assert set(exact_of(plan(), engine_with(results), set())) == {"warp_instructions", "ctas"}
    assert "instructions" in exact_of(plan(), engine_with(results), {4}), "a projection contradicts nothing"


def test_launches_without_a_trace_have_their_result_or_leave_the_total_unknown():
    broken = np.array([0, 0, 1, 1, -1, 2], dtype=np.int32)
    exact = exact_of(plan(broken), engine_with({**GOOD, 4: (9.0, 7.0, 5.0, 4.0)}), set())
    assert exact["instructions"][4] == 7.0
    assert exact_of(plan(broken), engine_with({0: GOOD[0], 5: GOOD[4]}), set()) == {}


def test_a_plan_without_traces_determines_nothing():
    assert exact_of(Plan(Program((N,)), plan().design, {}), engine_with(GOOD), set()) == {}


def estimate(name, value, relative):
    return Estimate(name, value, relative * value, relative, relative * value / 2, 3.0, 0.95, 1.0)


def test_ctas_and_warps_are_stated_where_the_host_reports_none():
    estimates = {name: estimate(name, 1000.0, 0.1) for name in ("cycles", "ctas")}
    look = Look(1, estimates, {}, True)
    warps, simulated = np.array([4, 8, 12]), np.array([True, False, False, False, True, False])
    stated = with_grids(look, plan(warps=warps), simulated)
    assert stated.estimates["ctas"] == estimates["ctas"], "the host's own stays"
    total = stated.estimates["warps"]
    assert (total.estimate, total.half_width, total.simulated) == (2 * warps.sum(), 0.0, 4 + 12)
    broken = plan(np.array([0, 0, 1, 1, -1, 2], dtype=np.int32), warps=warps)
    assert with_grids(look, broken, simulated) is look, "a launch without a trace"
    assert with_grids(look, Plan(Program((N,)), plan().design, {}), simulated) is look


def test_totals_and_ratios_of_a_look_are_made_with_exact_counters():
    estimates = {"cycles": estimate("cycles", 1000.0, 0.1), "instructions": estimate("instructions", 500.0, 0.4)}
    look = Look(1, estimates, {"ipc": estimate("ipc", 0.5, 0.3)}, True)
    stated = with_exact(look, {"instructions": 250.0})
    total = stated.estimates["instructions"]
    assert (total.estimate, total.half_width, total.simulated) == (250.0, 0.0, 1.0)
    assert stated.estimates["cycles"] == estimates["cycles"]
    ipc = stated.ratios["ipc"]
    assert (ipc.estimate, ipc.relative_half_width) == (pytest.approx(0.25), 0.1)
    assert ipc.half_width == pytest.approx(0.025) and ipc.std_error == pytest.approx(0.0125)

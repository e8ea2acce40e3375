"""Measured coverage on populations that need no files; sessions do as engines that are measured."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from made_up import BEYOND_ASSUMPTIONS, SYNTHETIC
from populations import SHARED_DATA, Population, known_from_traces, policy, population, with_traces
from runs import too_seldom
from workloads import synthesised

from kernelpoint.estimation import Engine, ErrorBudget
from kernelpoint.fast_model import predict, shipped
from kernelpoint.journal import load_run
from kernelpoint.randomness import generator
from kernelpoint.session import boundary
from kernelpoint.traces import read_trace_list

SEEDS = 60


def measured(name: str, eps: float) -> tuple[int, int, float]:
    """Of 60 runs at 95 %: those whose interval holds the total, those whose error is inside the budget; speedup."""
    runs = [population(name).run(ErrorBudget(eps), seed) for seed in range(SEEDS)]
    rows = [(run.held(), abs(run.error()) <= eps * (1.0 + 1e-9), run.spent) for run in runs]
    held, inside, spent = np.array(rows, dtype=float).T
    return int(held.sum()), int(inside.sum()), 1.0 / float(spent.mean())


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in SYNTHETIC if name not in BEYOND_ASSUMPTIONS])
@pytest.mark.parametrize("eps", [0.05, 0.01])
def test_stated_intervals_hold_the_truth_as_often_as_stated(name, eps):
    held, inside, speedup = measured(name, eps)
    assert not too_seldom(held, SEEDS) and not too_seldom(inside, SEEDS)
    assert speedup > 1.0


@pytest.mark.slow
def test_values_that_are_rare_large_and_unseen_are_missed():
    assert too_seldom(measured("violates", 0.005)[0], SEEDS)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["v100_resnet50", "simpletorch accelsim"])
def test_real_populations_are_covered_too(name):
    if not SHARED_DATA.is_dir():
        pytest.skip("the real profiles are not here (set KERNELPOINT_SHARED_DATA)")
    held, _, speedup = measured(name, 0.01)
    assert not too_seldom(held, SEEDS)
    assert speedup > 3.0


@pytest.fixture(scope="module")
def solver(tmp_path_factory):
    """The launches of a small synthesised solver, with results that vary within streams."""
    from kernelpoint.traces import read_trace_list

    traces = synthesised(tmp_path_factory.mktemp("solver") / "traces", "iterative-solver", 300)
    program = known_from_traces(read_trace_list(traces).traces)
    work = program.count("instructions").astype(float)
    y = np.round((3000.0 + work / 40.0) * generator(0, "recorded results").lognormal(0.0, 0.05, len(work)))
    return traces, with_traces("solver", y, program)


def in_session(
    list_path: Path, people: Population, eps: float, seed: int, folder: Path, fast_model: str
) -> tuple[list[list[int]], dict]:
    """A real session, answered with recorded results: launches of each pass, in order, and the summary record."""
    journal, config = folder / f"{seed}.kpjournal", folder / "kernelpoint.yaml"
    budget = {"relative_error": eps}
    content = {"version": 1, "policy": "kernelpoint", "error_budget": budget, "seed": seed, "journal": str(journal)}
    content["fast_model"] = fast_model
    config.write_text(json.dumps(content))
    session = boundary.open(str(config), {"simulator": "recorded", "list_paths": [str(list_path)]}, lambda line: None)
    after = -1
    while (answer := session.next(0, after))[0] == 0:
        after = answer[1]
        session.on_launch(0, after)
        session.on_complete(0, after, False, int(people.y[after]), 1)
    session.finish()
    session.journal.close()
    run = load_run(journal)
    results = [(record.pass_index, record.launch) for record in run.results.values()]
    passes = [[launch for number, launch in results if number == k] for k in range(results[-1][0] + 1)]
    return passes, run.content()


def engine(people: Population, list_path: Path, budget: ErrorBudget, seed: int, fast_model: str) -> Engine:
    """The engine on the shipped policy's design."""
    if fast_model == "off":
        return Engine(people.design(budget, seed), budget)
    predicted = predict(read_trace_list(str(list_path)), shipped("v100"), lambda line: None)
    program = replace(people.program, seed=seed, predictions=predicted.predictions)
    return Engine(policy(budget, seed).design(program), budget)


@pytest.mark.parametrize("fast_model, seed, eps", [("off", 0, 0.05), ("off", 1, 0.01), ("auto", 0, 0.05), ("auto", 1, 0.01)])
def test_a_session_and_an_engine_agree_record_for_record(solver, tmp_path, fast_model, seed, eps):
    list_path, people = solver
    passes, summary = in_session(list_path, people, eps, seed, tmp_path, fast_model)
    budget = ErrorBudget(eps)
    alone = engine(people, list_path, budget, seed, fast_model)
    for number, launches in enumerate(passes):
        wanted = alone.wanted()
        assert wanted.tolist() == launches, f"pass {number}"
        alone.record_many(wanted, ("cycles",), people.y[wanted][:, None])
        look = alone.look()
        assert (look.met or not alone.grow()) == (number == len(passes) - 1)
    estimate = look.estimates["cycles"]
    assert (summary["estimate"], summary["half_width"]) == (estimate.estimate, estimate.half_width)
    assert len(passes) > (fast_model == "off")

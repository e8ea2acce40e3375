"""Runs over a selection whose traced launches the fast model predicts, in the embedded host."""

import json
import runpy
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from workloads import synthesised

import kernelpoint as kp
from kernelpoint.config import parse_config
from kernelpoint.errors import JournalError
from kernelpoint.paired import compare_runs
from kernelpoint.selection import Selection, draw, read_census, write_output
from kernelpoint.selection.lists import join_lists

PROGRAM = Path(__file__).resolve().parents[2] / "examples" / "selective_tracing" / "program.py"
BUDGET = {"relative_error": 0.05}


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """A program's launches, and its cycles in a full run."""
    folder = tmp_path_factory.mktemp("program")
    traces = synthesised(folder / "whole", "iterative-solver", 400, rows=1024)
    full = kp.simulate(traces, folder / "full.kpjournal", policy="all", fast_model="off")
    return folder, full.ended().estimate


@pytest.fixture
def trace(program, tmp_path, monkeypatch):
    """Runs the program under what stands for the tracer, for a range of launches; the folder of the traces."""

    def run(ranges: str, name: str) -> Path:
        monkeypatch.setenv("DYNAMIC_KERNEL_RANGE", ranges)
        monkeypatch.setenv("TRACES_FOLDER", str(tmp_path / name))
        monkeypatch.setattr(sys, "argv", ["program.py", str(program[0] / "whole")])
        runpy.run_path(str(PROGRAM), run_name="__main__")
        return tmp_path / name / "traces"

    return run


@pytest.fixture
def drawn(trace, tmp_path):
    """A selection of the program, and the list of its traces."""
    census = read_census(trace("1000000000", "census") / "stats_ctx_0x1", None, print)
    config = parse_config({"version": 1, "policy": "kernelpoint", "error_budget": BUDGET})
    selection, _ = draw(census, config, 2.0, print)
    write_output(tmp_path / "drawn", selection)
    traces = trace((tmp_path / "drawn/kernel_range-1.txt").read_text().strip(), "run-1")
    return tmp_path / "drawn" / "selection.kpselect", traces / "kernelslist.g"


def go(selection, traces, journal, **keys):
    return kp.simulate(traces, journal, selection=str(selection), error_budget=BUDGET, **keys)


def test_the_model_saves_draws_and_the_bound_holds(program, drawn, tmp_path):
    with_model = go(*drawn, tmp_path / "with.kpjournal")
    without = go(*drawn, tmp_path / "without.kpjournal", fast_model="off")
    assert "fast_model" in with_model.hashes and "fast_model" not in without.hashes
    predicted, plain = with_model.ended(), without.ended()
    assert predicted.simulated < plain.simulated
    assert abs(predicted.estimate - program[1]) <= predicted.half_width < 0.2 * predicted.estimate
    assert any("units are observed" in line for line in predicted.assumptions)


def test_only_traced_launches_are_simulated_and_a_second_run_says_the_same(drawn, tmp_path):
    traced = Selection.load(drawn[0]).traced
    runs = [go(*drawn, tmp_path / f"{name}.kpjournal") for name in ("one", "two")]
    assert runs[0].results.keys() == runs[1].results.keys()
    assert all(traced[unit] for unit in runs[0].results)
    assert runs[0].ended().estimate == runs[1].ended().estimate


def test_the_next_selection_goes_on_with_every_result(program, drawn, trace, tmp_path):
    """Without spare draws for so tight a budget; as long as it takes."""
    path, traces = drawn
    journal, keys = tmp_path / "run.kpjournal", {"error_budget": {"relative_error": 0.003}}
    for further in range(6):
        run = kp.simulate(traces, journal, selection=str(path), **keys)
        if run.ended().met:
            break
        path = path.parent / "next" / "selection.kpselect"
        assert path.exists(), run.ended().warnings
        numbers = (path.parent / "kernel_range-1.txt").read_text().strip()
        name = f"joined-{further}"
        join_lists([traces.parent, trace(numbers, f"more-{further}")], tmp_path / name)
        traces = tmp_path / name / "kernelslist.g"
    assert run.ended().met and abs(run.ended().estimate - program[1]) <= run.ended().half_width
    lines = [r for r in journal.read_text().splitlines() if '"type":"outcome"' in r]
    assert len(lines) == len(run.results) == run.ended().simulated


@pytest.mark.parametrize("second", [{}, {"fast_model": "off"}], ids=["both with the model", "one without"])
def test_two_runs_with_unlike_samples_are_compared_by_their_own_bounds(program, drawn, tmp_path, second):
    runs = [go(*drawn, tmp_path / "v100.kpjournal"), go(*drawn, tmp_path / "rtx.kpjournal", gpu="rtx", **second)]
    comparison = compare_runs(*runs)
    cycles, ctas = (next(row for row in comparison.rows if row.counter == name) for name in ("cycles", "ctas"))
    full = kp.simulate(program[0] / "whole" / "kernelslist.g", tmp_path / "full.kpjournal", "rtx", "all")
    truth = (program[1], full.ended().estimate)
    assert cycles.ratio.contains(truth[1] / truth[0]) and cycles.difference.contains(truth[1] - truth[0])
    halves = [run.ended().half_width for run in runs]
    assert cycles.difference.half_width == sum(halves) and cycles.separate == cycles.ratio.half_width < 0.5
    assert comparison.confidence == pytest.approx(0.9) and "launches are not paired" in comparison.notes[0]
    assert comparison.common == len(runs[0].results.keys() & runs[1].results.keys())
    assert ctas.ratio.estimate == 1.0 and ctas.ratio.half_width == 0.0 and json.dumps(comparison.record())


def test_runs_over_other_selections_are_not_compared(drawn, tmp_path):
    first = go(*drawn, tmp_path / "one.kpjournal")
    head = replace(first.header, hashes={**first.header.hashes, "design": "of another selection"})
    with pytest.raises(JournalError, match=r"hashes\.design: .*'of another selection'"):
        compare_runs(first, replace(first, records=[head, *first.records[1:]]))


def test_the_log_says_what_the_model_and_replay_lack(drawn, capfd, tmp_path, program):
    from kernelpoint.session.setup import prepare
    from kernelpoint.workload.host_info import HostInfo

    lines: list[str] = []
    config = parse_config({"version": 1, "policy": "kernelpoint", "selection": str(drawn[0]), "error_budget": BUDGET})
    setup = prepare(config, HostInfo("any", list_paths=(str(drawn[1]),), launch_counts=(0,)), lines.append)
    assert setup.plan is not None and setup.plan.first_phase is not None
    count = int(np.count_nonzero(setup.plan.first_phase.observed))
    assert any(f"{count:,} of 400 launches are traced: replay and the fast model see only these" in line for line in lines)

"""The commands behind the pages of evidence run: one seeded cell of each."""

import os
import subprocess
import sys

import methods
import papers
import pytest
from compiled import ROOT
from full_runs import SHARED_DATA
from workloads import synthesised

import kernelpoint as kp
from kernelpoint.evaluation.evaluate import Row
from kernelpoint.evaluation.run import ResultsFile
from kernelpoint.evaluation.summary import per_workload
from kernelpoint.randomness import generator


def printed(*command: str) -> list[str]:
    """The lines that a program of `lab` prints; it must end well."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    done = subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, cwd=ROOT, env=environment, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines()


def test_a_file_is_a_population(tmp_path):
    random = generator(0, "a file as a population")
    rows = [
        f"{i},k{i % 3},{1 + i % 3},128,32,0,7,{i},{20 * (1 + i % 3) * random.lognormal(0, 0.02):.3f}"
        for i in range(300)
    ]
    file = tmp_path / "times.csv"
    file.write_text("\n".join(["idx,name,grid,block,regs,smem,stream,ts_us,dur_us", *rows]))
    *_, row = printed("lab/coverage/measure.py", "--populations", str(file), "--seeds", "3", "--budgets", "0.05")
    cells = [cell.strip() for cell in row.split("|")]
    assert cells[1:4] == [str(file), "5 %", "1.000"] and float(cells[4][:-1]) > 3.0


def test_quarters_of_a_run_are_targets_of_one_sample():
    *_, row = printed("lab/coverage/ranges.py", "--quarters", "--seeds", "2", "--budgets", "0.05", "mixed")
    name, budget, _, speed, run_held, quarters_held, _ = [cell.strip() for cell in row.split("|")][1:8]
    assert (name, budget, run_held, quarters_held) == ("mixed", "5 %", "1.000", "1.000")
    assert float(speed[:-1]) > 8.0


def test_the_steps_of_a_plan_are_measured(tmp_path):
    path = synthesised(tmp_path, "iterative-solver", 40, rows=1024)
    lines = printed("lab/benchmarks/steps.py", "plan", str(path), "--launches", "80")
    assert any("launches drawn first" in line for line in lines) and any(
        line.startswith("plan, read") for line in lines
    )


def test_recorded_runs_of_a_simulator_take_the_place_of_those_of_the_embedded_host(tmp_path):
    lists = {"solver": str(synthesised(tmp_path / "traces", "iterative-solver", 200, rows=[256, 512]))}
    recorded = tmp_path / "rtx"
    (recorded / "solver").mkdir(parents=True)
    kp.simulate(lists["solver"], recorded / "solver" / papers.FULL, "rtx", "all")
    kp.simulate(lists["solver"], recorded / "solver" / "sampled.kpjournal", "rtx", "kernelpoint")

    def measured(gpu):
        return papers.measured(lists, gpu, ("sieve", "gcl", "stem"), 0.05, 2, ResultsFile(None))

    rows, errors = measured(str(recorded))
    *lines, sampled = per_workload(rows)
    # the host's own full run; that of the journal begins each launch from replayed state
    computed = per_workload(measured("rtx")[0])
    assert [line.simulated for line in lines] == [line.simulated for line in computed]
    assert [line.harmonic for line in lines] == pytest.approx([line.harmonic for line in computed], rel=0.01)
    assert [line.bias for line in lines] == pytest.approx([line.bias for line in computed], abs=0.001)
    assert sampled.policy == "kernelpoint in the simulator, 1 %" and sampled.held == 1.0
    assert 0 < sampled.simulated < 200 and sampled.harmonic > 1.0
    assert any(sampled.policy in line for line in papers.tables(rows, errors, "rtx"))
    assert papers.request_of("another list", lists["solver"], str(recorded)) is None


def test_the_mean_error_over_lists_has_an_interval_over_seeds():
    def rows(**errors):
        return [
            Row(name, "random", 0.05, 0.95, seed, 10, error=e)
            for name, of in errors.items()
            for seed, e in enumerate(of)
        ]

    # one list: Student's interval of two degrees of freedom, 4.303 sd / sqrt(3); a list whose seeds agree adds none
    assert papers.mean_error(rows(a=[0.01, -0.02, 0.03])) == "2.00 +- 2.48 %"
    assert papers.mean_error(rows(a=[0.01, -0.02, 0.03], b=[0.04] * 3)) == "3.00 +- 1.24 %"
    assert papers.mean_error(rows(a=[0.01, 0.01], b=[-0.02])) == "1.50 %"


@pytest.mark.skipif(not SHARED_DATA.is_dir(), reason="the real profiles are not here (set KERNELPOINT_SHARED_DATA)")
def test_known_times_are_sampled_faster_than_stem_samples_them(monkeypatch):
    monkeypatch.setattr(methods, "NOISES", (0.0,))
    monkeypatch.setattr(methods, "TIMED", ("kernelpoint", "stem joint (eq. 6 over all)"))
    (_, ours), (_, stem) = methods.times((0.01,), 2, ("b200_eager", "h100_owlv2"))
    assert all(right == 1.0 for right, *_ in ours)
    assert ours[0][2] * ours[1][2] < 1.1 * stem[0][2] * stem[1][2]

"""The commands behind the pages of evidence run: one seeded cell of each."""

import io
import re
import runpy
import shlex
from contextlib import redirect_stdout

import methods
import numpy as np
import pytest
from compiled import ROOT
from embedded_host import run_host
from populations import SHARED_DATA
from workloads import synthesised

import kernelpoint as kp
from kernelpoint.randomness import generator

PAGE = (ROOT / "docs" / "evidence" / "coverage.md").read_text().replace("\\\n", " ")
TESTED_BELOW = ("attack.py", "heavy.py", "methods.py")  # with their numbers
COMMANDS = [
    words
    for command in dict.fromkeys(re.findall(r"python lab/coverage/([^`\n]+)", PAGE))
    if (words := shlex.split(command, comments=True))[0] not in TESTED_BELOW
]


def printed(script: str, *arguments: str) -> list[str]:
    """Run a program of `lab` and return the lines that it prints; fail if it ends with an error code.

    The program runs inside the test's process, where PyTorch and other slow imports are loaded already.
    """
    out = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out):
        patch.chdir(ROOT)
        patch.setattr("sys.argv", [script, *arguments])
        try:
            runpy.run_path(script, run_name="__main__")
        except SystemExit as end:
            assert not end.code, end.code
    return out.getvalue().splitlines()


def test_a_file_is_a_population(tmp_path):
    random = generator(0, "a file as a population")
    rows = [f"{i},k{i % 3},{1 + i % 3},128,32,0,7,{i},{20 * (1 + i % 3) * random.lognormal(0, 0.02):.3f}" for i in range(300)]
    file = tmp_path / "times.csv"
    file.write_text("\n".join(["idx,name,grid,block,regs,smem,stream,ts_us,dur_us", *rows]))
    *_, row = printed("lab/coverage/measure.py", "--populations", str(file), "--seeds", "3", "--budgets", "0.05")
    cells = [cell.strip() for cell in row.split("|")]
    assert cells[1:4] == [str(file), "5 %", "1.000"] and float(cells[4][:-1]) > 3.0


@pytest.mark.parametrize("script", sorted(path.name for path in (ROOT / "lab" / "benchmarks").glob("[!_]*.py")))
def test_a_benchmark_says_how_it_is_called(script):
    assert any(line.startswith("usage: ") for line in printed(f"lab/benchmarks/{script}", "--help"))


def test_a_population_that_attacks_the_estimator_is_made_and_measured():
    options = "--numbers", "14", "--given", "model", "--seeds", "3", "--budgets", "0.05"
    *_, row = printed("lab/coverage/attack.py", *options)
    cells = [cell.strip() for cell in row.split("|")]
    assert cells[1:4] == ["14 near constant latency", "5 %", "1.000"] and float(cells[4][:-1]) > 20.0


def test_heavy_launches_with_shapes_of_their_own_are_drawn():
    *_, row = printed("lab/coverage/heavy.py", "--only", "shapes of their own", "--seeds", "2", "--budgets", "0.05")
    _, budget, right, speedup, _, drawn, _ = [cell.strip() for cell in row.split("|")][1:8]
    assert (budget, right, drawn) == ("5 %", "1.000", "1.000") and float(speedup[:-1]) > 5.0


def test_quarters_of_a_run_are_targets_of_one_sample():
    *_, row = printed("lab/coverage/ranges.py", "--quarters", "--seeds", "2", "--budgets", "0.05", "mixed")
    name, budget, _, speed, run_held, quarters_held, _ = [cell.strip() for cell in row.split("|")][1:8]
    assert (name, budget, run_held, quarters_held) == ("mixed", "5 %", "1.000", "1.000")
    assert float(speed[:-1]) > 8.0


def test_the_steps_of_a_plan_are_measured(tmp_path):
    path = synthesised(tmp_path, "iterative-solver", 40, rows=1024)
    lines = printed("lab/benchmarks/steps.py", "plan", str(path), "--launches", "80")
    assert any("launches drawn first" in line for line in lines) and any(line.startswith("plan, read") for line in lines)


def test_the_error_of_gcl_is_split_into_clusters_and_first_launches(tmp_path):
    path = synthesised(tmp_path, "iterative-solver", 60, rows=[256, 512])
    *_, row = printed("lab/benchmarks/papers.py", "gcl", f"traces={path},host=rtx,name=solver")
    name, clusters, cov, mixed, cold = [cell.strip() for cell in row.split("|")][1:6]
    assert name == "solver" and 1 < int(clusters) < 60 and 0.0 <= float(cov) < 0.5
    assert all(abs(float(error.removesuffix(" %"))) < 10.0 for error in (mixed, cold))


@pytest.fixture(scope="module")
def full_runs(tmp_path_factory):
    """A folder with full runs of one list, and with a sampled run whose predictions are read."""
    folder = tmp_path_factory.mktemp("runs")
    path = synthesised(folder / "traces", "iterative-solver", 200, rows=[256, 512])
    for gpu, names in {"v100": ("v100", "accelsim"), "rtx": ("rtx",)}.items():
        for name in names:
            run_host(path, folder, None, "-config", gpu, "-results", f"solver-{name}.csv", check=True)
    kp.simulate(str(path), folder / "solver-simulator.kpjournal", "rtx", "all")
    kp.simulate(str(path), folder / "solver-predictions.kpjournal", "rtx", "kernelpoint")
    return folder


def test_the_page_has_commands():
    assert len(COMMANDS) > 15 and {"limits.py", "measure.py", "paired_designs.py"} == {script for script, *_ in COMMANDS}


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_each_command_of_the_page_prints_a_table(words, full_runs):
    """With one seed, on a small list or a made-up population."""
    places = {"FOLDER": str(full_runs), "NAME=LIST": f"solver={full_runs / 'traces' / 'kernelslist.g'}"}
    script, *options = (places.get(word, word) for word in words)
    options += ["--seeds", "1"] if script == "paired_designs.py" else ["--seeds", "1", "--budgets", "0.05"]
    if script == "measure.py" and "FOLDER" not in words:
        options += ["--populations", "drift:periodic"]
    lines = [line for line in printed(f"lab/coverage/{script}", *options) if line.startswith("| ")]
    heading, *rows = ([cell.strip() for cell in line.split("|")[1:-1]] for line in lines)
    rows = [row for row in rows if len(row) == len(heading)]  # a summary of several populations follows
    assert rows and all(cell and cell != "nan" for row in rows for cell in row)
    if "held" in heading:
        held = [float(row[heading.index("held")]) for row in rows]
        assert sum(held) > 0.8 * len(held)


def test_the_times_of_one_recording_plan_the_sample_of_another(tmp_path):
    random, files = generator(0, "two recordings"), []
    for name in ("first", "second"):
        times = 20 * (1 + np.arange(600) % 3) * random.lognormal(0, 0.02, 600)
        rows = [f"{i},k{i % 3},{1 + i % 3},128,32,0,7,{i},{time:.3f}" for i, time in enumerate(times)]
        files.append(tmp_path / f"{name}.csv")
        files[-1].write_text("\n".join(["idx,name,grid,block,regs,smem,stream,ts_us,dur_us", *rows]))
    pair = ",".join(map(str, files))
    options = "another", "--recordings", pair, "--seeds", "2", "--budgets", "0.05"
    cells = ([cell.strip() for cell in line.split("|")] for line in printed("lab/coverage/methods.py", *options)[2:])
    rows = {method: (float(right), float(speedup[:-1])) for _, _, method, _, right, _, speedup, _ in cells}
    assert rows["kernelpoint"][0] == rows["stem joint"][0] == 1.0
    assert rows["kernelpoint"][1] > 10.0


@pytest.mark.skipif(not SHARED_DATA.is_dir(), reason="the real profiles are not here (set KERNELPOINT_SHARED_DATA)")
def test_known_times_of_several_applications_are_predictions(monkeypatch):
    monkeypatch.setattr(methods, "NOISES", (0.0,))
    ((_, ((right, _, spent),)),) = methods.applications((0.05,), 2, (("b200_eager", "h100_owlv2"),))
    assert right == 1.0 and spent < 0.1


@pytest.mark.skipif(not SHARED_DATA.is_dir(), reason="the real profiles are not here (set KERNELPOINT_SHARED_DATA)")
def test_known_times_are_sampled_faster_than_stem_samples_them(monkeypatch):
    monkeypatch.setattr(methods, "NOISES", (0.0,))
    monkeypatch.setattr(methods, "TIMED", ("kernelpoint", "stem joint (eq. 6 over all)"))
    (_, ours), (_, stem) = methods.times((0.01,), 2, ("b200_eager", "h100_owlv2"))
    assert all(right == 1.0 for right, *_ in ours)
    assert ours[0][2] * ours[1][2] < 1.1 * stem[0][2] * stem[1][2]

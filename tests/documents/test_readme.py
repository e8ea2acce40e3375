"""The commands of the README, run in order in an empty folder; those that stand inside its sentences, one by one."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import slurm
from documented import run
from pages import section, tables
from profiler_files import WRITERS, Kernel

from kernelpoint.journal import load_run
from kernelpoint.pages.numbers import factor, percent
from kernelpoint.traces import read_header, read_trace_list

ROOT = Path(__file__).resolve().parents[2]
# Lines that a test cannot run: this test is part of the first.
ELSEWHERE = ("make demo", "make test")
README = (ROOT / "README.md").read_text()
HOST = "kernelpoint-host -trace traces/kernelslist.g -config v100 -kernel_sampling kernelpoint.yaml"


def blocks() -> list[str]:
    """The code blocks, in order."""
    return re.findall(r"^```[a-z]*\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def commands() -> list[str]:
    """Every line of a code block that is a command, without its comment."""
    lines = [re.sub(r"\s+#.*", "", line) for block in blocks() for line in block.splitlines()]
    return [line for line in lines if re.match(r"(make|kernelpoint|kernelpoint-host|accel-sim\.out|macsim|cd)\b", line)]


def test_every_command_of_the_readme_works_in_order(folder):
    """Both simulators are miniatures with their names, patched, built and run as the README says."""
    (yaml,) = (block for block in blocks() if block.startswith("version: 1"))
    lines = [line for line in commands() if not line.startswith(ELSEWHERE)]
    assert len(lines) >= 8
    # Files of a reader: traces of either simulator, and its files of options.
    run("kernelpoint lab synth iterative-solver -o . --set rows=256 --launches 8", folder)
    run("kernelpoint lab synth iterative-solver -o traced --set rows=256 --launches 8 --format macsim", folder)
    (folder / "trace_file_list").write_text("1\ntraced/kernel_config.txt\n")
    for name in ("gpgpusim.config", "trace.config", "params.in"):
        (folder / name).touch()
    (folder / "kernelpoint.yaml").write_text(yaml)
    for line in lines:
        line = line.replace("--launches 3000", "--launches 100").replace("--seeds 20", "--seeds 1")
        if "kernel_sampling" in line:  # each run has a journal of its own
            (folder / "run.kpjournal").unlink(missing_ok=True)
        run(line, folder)
        if line.startswith("kernelpoint report"):
            assert (folder / "run.html").exists()
    assert (folder / "run.kpjournal").exists()


def test_the_readme_fits_90_lines():
    assert len(README.splitlines()) <= 90


@pytest.mark.slow
def test_the_comparison_prints_the_table_of_the_readme(folder):
    synthesise, compare_methods = (line for line in commands() if re.match("kernelpoint (lab synth|compare)", line))
    run(f"{synthesise}\n{compare_methods}", folder)
    lines = {line["policy"]: line for line in json.loads((folder / "compare/comparison.json").read_text())["per_workload"]}
    for row in tables(section("README.md"))[0]:
        line = lines[row["Method"].strip("`")]
        right = "-" if line["held"] is None else f"{20 * line['held']:.0f} of 20"
        shown = [percent(line["error_mean"]), percent(line["error_max"]), factor(line["harmonic"])]
        assert [row["Right"], row["Mean error"], row["Largest"], row["Speedup in cycles"]] == [right, *shown]
        assert row["Simulated"].split()[0] == f"{line['simulated']:.0f}"


def inside_sentences(beginning: str) -> str:
    """The one command in a sentence that begins so."""
    (command,) = {text for text in re.findall(r"`([^`\n]+)`", README) if text.startswith(beginning)}
    return command


@pytest.fixture
def traces(folder):
    """A folder with a list in `traces` and a configuration."""
    run("kernelpoint lab synth iterative-solver -o traces --set rows=256 --launches 120", folder)
    (folder / "kernelpoint.yaml").write_text("version: 1\npolicy: kernelpoint\nerror_budget: {relative_error: 0.05}\n")
    return folder


def test_the_doctor_and_the_way_back_work(folder):
    run(inside_sentences("kernelpoint doctor"), folder)
    run("kernelpoint patch accelsim ~/accel-sim-framework", folder)
    run(
        inside_sentences("kernelpoint patch accelsim CHECKOUT --revert").replace("CHECKOUT", "~/accel-sim-framework"),
        folder,
    )


def test_the_line_of_python_works(traces):
    pytest.importorskip("pandas")
    run(HOST, traces)
    line = inside_sentences("import kernelpoint as kp")
    run(f"python -c '{line}; print(len({line.split('; ')[1]}))'", traces)


@pytest.mark.parametrize("name", WRITERS)
def test_a_run_plans_from_the_profile_of_a_tool(traces, name):
    """Files by the documented layout of Nsight Systems, Nsight Compute and the PyTorch profiler; the tools need a GPU."""
    shapes = [read_header(path) for path in read_trace_list(str(traces / "traces" / "kernelslist.g")).traces]
    WRITERS[name](traces / name, [Kernel(it.kernel_name, it.grid, it.block, 2000 + len(it.kernel_name)) for it in shapes])
    key = inside_sentences("profile: FILE").replace("FILE", name)
    (traces / "kernelpoint.yaml").write_text(f"version: 1\npolicy: stem\n{key}\n")
    run(HOST, traces)
    assert load_run(traces / "run.kpjournal").ended().launches == 120
    (traces / name).unlink()
    done = subprocess.run(HOST, shell=True, cwd=traces, capture_output=True, text=True, timeout=60)
    assert done.returncode != 0 and name in done.stderr, "the profile was not read"


@pytest.mark.skipif(bool(slurm.missing()), reason=f"Slurm is not installed: no {slurm.missing()}")
def test_the_line_for_slurm_runs_on_a_slurm(traces, tmp_path_factory):
    """The embedded host in place of Accel-Sim, and two workers in place of 64."""
    pytest.importorskip("dask_jobqueue", reason="kernelpoint[cluster] is not installed")
    line = inside_sentences("kernelpoint run --cluster slurm.yaml")
    with slurm.running(tmp_path_factory.mktemp("slurm")) as cluster:
        shutil.copy(cluster, traces / "slurm.yaml")
        run(line.replace("--workers 64", "--workers 2").replace("accel-sim.out ...", HOST), traces)
    assert load_run(traces / "run.kpjournal").ended().met

"""Mistakes and odd names that anybody can make: one message each, never Python's own words."""

import csv
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from simulated_host import SimulatedHost

from kernelpoint import cli
from kernelpoint.cli.host import program
from kernelpoint.errors import ConfigError, HostError, KernelPointError
from kernelpoint.journal import load_run
from kernelpoint.pages.tables import safe_cell
from kernelpoint.report.export import write_launches
from kernelpoint.session import boundary, embedded
from kernelpoint.session.orders import check_counters
from kernelpoint.workload.host_info import MOST_LAUNCHES, HostInfo

PACKAGE = Path(cli.__file__).parents[1]
LONG = "a" * 300
PYTHONS_WORDS = ("Traceback", "Errno", "<class", "object at 0x", "NoneType")


@pytest.mark.parametrize(
    "arguments",
    [
        ("report", LONG),
        ("report", f"{LONG}.kpjournal", "-o", "x.html"),
        ("plan", LONG, "-o", "x.kpplan"),
        ("file", "inspect", LONG),
        ("plan", "LIST", "--seed", "9" * 5000, "-o", "x.kpplan"),
        ("plan", "LIST", "-o", "no/such/folder/x.kpplan"),
        ("plan", "LIST", "-o", f"{LONG}.kpplan"),
        ("compare", "-w", LONG),
        ("compare", LONG, LONG),
        ("lab", "synth", "transformer-decode", "-o", f"x/{LONG}", "--launches", "3"),
    ],
    ids=lambda arguments: " ".join(arguments)[:30],
)
def test_a_name_or_a_number_that_cannot_be_is_one_message(here, refused, arguments):
    (here / "kernelslist.g").write_text("kernel-1.traceg\n")
    (here / "kernel-1.traceg").write_text("no trace\n")
    refused(*("kernelslist.g" if part == "LIST" else part for part in arguments))


@pytest.mark.parametrize(
    ("yaml", "expected"),
    [
        ("seed: " + 5000 * "9", "the number"),
        (f"journal: {LONG}", "File name too long"),
        ("journal: /dev/full", "device"),
        ("journal: /no/such/folder/run.kpjournal", "No such file or directory"),
        ("plan: nosuch", "nosuch"),
        (f"plan: {LONG}", "File name too long"),
        ("profile: nosuch", "nosuch"),
        (f"policy: {LONG}", "policy"),
        ("encoder.checkpoint: nosuch\nclusters: online\npolicy: kernelpoint", "nosuch"),
    ],
    ids=lambda value: value[:25],
)
def test_a_configuration_that_names_what_is_not_there_is_one_message(tmp_path, monkeypatch, yaml, expected):
    monkeypatch.chdir(tmp_path)
    policy = "" if "policy" in yaml else "policy: random\n"
    journal = "" if "journal" in yaml else "journal: run.kpjournal\n"
    Path("kernelpoint.yaml").write_text(f"version: 1\n{policy}{journal}{yaml}\n")
    with pytest.raises(KernelPointError, match=expected) as caught:
        boundary.open("kernelpoint.yaml", {"simulator": "test", "launch_counts": [9]}, lambda line: None)
    assert not any(word in str(caught.value) for word in PYTHONS_WORDS) and len(str(caught.value)) < 1200


@pytest.mark.parametrize(
    ("info", "expected"),
    [
        ({"process_count": 2**32 - 1}, "process_count: got 4,294,967,295; allowed: 1 to 65,536"),
        ({"process_count": 0}, "process_count: got 0"),
        ({"state_lines": 2**63}, "state_lines: got 9,223,372,036,854,775,808; allowed: at most 4,294,967,296"),
        ({"residency": (2**32 - 1, 0, 0, 0, 0)}, "sms: got 4,294,967,295; allowed: at most 65,536"),
        ({"residency": (80, 2**32 - 1, 0, 0, 0)}, "ctas_per_sm: got 4,294,967,295"),
        ({"residency": (80, 0, 2**20, 0, 0)}, "warps_per_sm: got 1,048,576"),
        ({"predictor": (60, 2)}, "predictor_history_bits: got 60; allowed: at most 24"),
        ({"predictor": (14, 40)}, "predictor_counter_bits: got 40; allowed: at most 8"),
        ({"predictor": (24, 2), "residency": (2**16, 0, 0, 0, 0)}, "counters of predictors: got 1,099,511,627,776"),
        ({"launch_counts": [2**63]}, f"allowed: at most {MOST_LAUNCHES:,} in all"),
    ],
)
def test_nothing_is_allocated_for_counts_that_a_host_only_names(tmp_path, info, expected):
    (tmp_path / "kernelpoint.yaml").write_text(f"version: 1\npolicy: random\njournal: {tmp_path}/run.kpjournal\n")
    with pytest.raises(HostError, match=expected):
        boundary.open(str(tmp_path / "kernelpoint.yaml"), {"simulator": "test", **info}, lambda line: None)


def test_a_launch_far_behind_all_that_came_is_refused_before_anything_is_allocated(tmp_path):
    (tmp_path / "kernelpoint.yaml").write_text(f"version: 1\npolicy: kernelpoint\njournal: {tmp_path}/run.kpjournal\n")
    session = boundary.open(str(tmp_path / "kernelpoint.yaml"), {"simulator": "test"}, lambda line: None)
    for index in (2**40, 2**63, 2**64 - 3):
        with pytest.raises(HostError, match="launches are numbered from 0 in program order, and 0 have come so far"):
            session.on_launch(0, index, None)
    assert session.on_launch(0, 5, None)[0] == 1  # the first pass reads launches and skips them
    session.journal.close()


def test_cells_of_a_csv_file_are_no_formulas(tmp_path):
    host = SimulatedHost(np.full(3, 7), tmp_path)
    formula = ("=cmd|' /C calc'!A0",)
    host.run(host.open("policy: all"), lambda run, index: run.on_complete(0, index, False, 7, 7, formula, (1.0,)))
    write_launches(load_run(tmp_path / "run.kpjournal"), tmp_path / "run.csv")
    with (tmp_path / "run.csv").open(newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert "'=cmd|' /C calc'!A0" in cells
    assert not any(cell.startswith(("=", "+", "@")) for cell in cells)
    safe = {"@x": "'@x", "+1": "'+1", "-x": "'-x", "\t=1": "'\t=1", "k": "k", -1: -1}
    assert [safe_cell(value) for value in safe] == list(safe.values())


@pytest.mark.parametrize("privileged", [False, True])
def test_a_privileged_process_takes_no_modules_from_the_environment(monkeypatch, tmp_path, privileged):
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    for name in ("sys.stdout", "sys.stderr", "signal.signal"):
        monkeypatch.setattr(name, None)
    monkeypatch.setattr("sys.path", [])
    embedded.settle(print, privileged)
    assert (str(tmp_path) in sys.path) is not privileged


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a program that runs as another user")
def test_a_set_user_id_program_runs_no_python_and_no_module_that_the_environment_names():
    """Another user starts the program; its file says that it runs as root."""
    nobody = 65534
    with tempfile.TemporaryDirectory(dir="/tmp") as name:  # pytest's own folder is closed to others
        folder = Path(name)
        folder.chmod(0o777)
        if os.statvfs(folder).f_flag & os.ST_NOSUID:
            pytest.skip("this file system knows no set-user-ID")
        program = folder / "host"
        shutil.copy(PACKAGE / "bin" / "kernelpoint-probe", program)
        named = folder / "python"
        named.write_text(f'#!/bin/sh\ntouch {folder}/ran\nexec {sys.executable} "$@"\n')
        named.chmod(0o755)
        (folder / "modules").mkdir()
        (folder / "modules" / "yaml.py").write_text(f"open('{folder}/imported', 'w')\n")
        config = folder / "kernelpoint.yaml"
        config.write_text(f"version: 1\npolicy: all\njournal: {folder}/run.kpjournal\n")
        environment = {**os.environ, "KERNELPOINT_PYTHON": str(named), "PYTHONPATH": str(folder / "modules")}
        for mode, is_run in ((0o755, True), (0o4755, False)):
            program.chmod(mode)
            done = subprocess.run(
                [program, PACKAGE / "lib" / "libkernelpoint.so", config],
                env=environment, user=nobody, group=nobody, extra_groups=[], capture_output=True, text=True,
            )  # fmt: skip
            if is_run and "cannot open shared object" in done.stderr:
                pytest.skip("another user may not read this installation")
            assert (folder / "ran").exists() is is_run, done.stderr
            (folder / "ran").unlink(missing_ok=True)
            (folder / "imported").unlink(missing_ok=True)
        assert done.returncode == 0 and not (folder / "imported").exists(), done.stderr


PROGRAM = """
#include "kernelpoint/loader.h"
int main(void) {
    kp_core core;
    char problem[KP_MESSAGE_SIZE];
    if (kp_load(&core, NULL, problem) != 0) puts(problem);
    return 0;
}
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a program that runs as another user")
def test_a_set_user_id_program_loads_no_plugin_that_the_environment_names(tmp_path):
    if shutil.which("cc") is None:
        pytest.skip("no C compiler (cc)")
    include = Path(__file__).parents[2] / "plugin" / "include"
    (tmp_path / "host.c").write_text(PROGRAM)
    program = tmp_path / "host"
    subprocess.run(["cc", f"-I{include}", tmp_path / "host.c", "-o", program, "-ldl"], check=True)
    environment = {**os.environ, "KERNELPOINT_PLUGIN": "/evil/plugin.so"}
    said = subprocess.run([program], env=environment, capture_output=True, text=True, check=True).stdout
    assert "/evil/plugin.so" in said, "as the user who starts it, the environment counts"
    os.chown(program, 65534, -1)
    program.chmod(0o4755)
    for folder in tmp_path.parents:
        if not os.access(folder, os.X_OK) or folder.stat().st_mode & 0o001 == 0:
            folder.chmod(folder.stat().st_mode | 0o011) if folder.owner() == "root" and "pytest" in str(folder) else None
    said = subprocess.run([program], env=environment, capture_output=True, text=True, check=True).stdout
    if os.statvfs(tmp_path).f_flag & os.ST_NOSUID:
        pytest.skip("this file system knows no set-user-ID")
    assert "/evil" not in said and "was not found" in said


def test_output_to_a_full_disk_is_one_message(tmp_path, refused):
    host = SimulatedHost(np.full(2, 7), tmp_path)
    host.run(host.open("policy: all"))
    for option in ("--csv", "-o"):
        assert "device" in refused("report", tmp_path / "run.kpjournal", option, "/dev/full")


def test_a_plan_for_a_gpu_that_nobody_named_warns(kernelpoint, traces, tmp_path):
    code, text = kernelpoint("plan", traces, "-o", tmp_path / "guessed.kpplan")
    assert code == 0
    assert "no --gpu was given" in text and "Name it with --gpu" in " ".join(text.split())
    code, text = kernelpoint("plan", traces, "-o", tmp_path / "named.kpplan", "--gpu", "v100")
    assert code == 0
    assert "--gpu" not in text


@pytest.mark.parametrize("name", ["", " ", "x" * 201, "a\nb", "\x1b[31m"])
def test_a_counter_name_that_nobody_can_write_or_see_is_refused(name):
    with pytest.raises(HostError, match=r"counter names: got .*; allowed: printable text of 1 to 200 characters"):
        HostInfo.from_mapping({"simulator": "test", "counter_names": ["reads", name]})
    with pytest.raises(HostError, match="counter names: got"):
        check_counters(0, {"cycles": 900.0, "reads": 1.0, name: 2.0}, None, "cycles")


def test_a_message_of_500_kb_is_cut(kernelpoint, tmp_path):
    (tmp_path / "k.yaml").write_text("version: 1\npolicy: " + "x" * 500_000 + "\n")
    code, text = kernelpoint("plan", tmp_path, "-o", tmp_path / "x.kpplan", "--config", tmp_path / "k.yaml")
    assert code == 1 and len(text) < 9000
    assert len(str(ConfigError("x" * 500_000))) < 8100
    done = subprocess.run([program(), "x" * 100_000], capture_output=True, timeout=60, check=False)
    assert done.returncode == 1 and 1000 < len(done.stderr) < 20_000


def test_no_warning_of_a_library_reaches_a_user(tmp_path):
    code = (
        "import sys, warnings\nfrom kernelpoint import cli\nsys.argv[1:] = ['--version']\ncli.main()\n"
        "import numpy as np\nnp.array([1.0]) / np.array([0.0])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0 and done.stderr == ""

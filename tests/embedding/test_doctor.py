"""`kernelpoint doctor` finds what is wrong, and tells simulators where the plugin is."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kernelpoint.cli import doctor


def ask(*arguments: str, **changes: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("KERNELPOINT_")}
    command = [sys.executable, "-c", "from kernelpoint.cli import main; main()", "doctor", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=180, env=kept | changes, check=False)


@pytest.fixture(autouse=True)
def built():
    if not (doctor.PLUGIN.is_file() and doctor.EMBEDDING.is_file()):
        pytest.skip("the plugin is not built (make build), or this Python has no shared libpython")


def test_a_sound_installation_is_found_sound():
    answer = ask()
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert "opening          works, with libpython /" in answer.stdout
    assert "PROBLEM" not in answer.stdout


def test_the_plugin_option_prints_one_existing_path():
    answer = ask("--plugin")
    assert answer.returncode == 0
    assert Path(answer.stdout.strip()).is_file()
    assert answer.stdout.count("\n") == 1


@pytest.mark.parametrize(
    ("variable", "complaint"),
    [("KERNELPOINT_PYTHON", "no executable file"), ("KERNELPOINT_PLUGIN", "cannot open shared object file")],
)
def test_a_wrong_variable_is_found_by_opening_the_plugin(variable, complaint):
    answer = ask(**{variable: "/nonexistent"})
    assert answer.returncode == 1
    assert f"{variable:16} /nonexistent" in answer.stdout
    assert complaint in answer.stderr


def test_a_missing_package_is_a_problem():
    finding = doctor._distribution("no-such-distribution")
    assert finding.value == "missing"
    assert "pip install no-such-distribution" in finding.problem


def test_a_static_python_is_recognised_and_explained(monkeypatch, tmp_path):
    monkeypatch.setattr(doctor, "EMBEDDING", tmp_path / "none.so")
    monkeypatch.setattr(doctor.sysconfig, "get_config_var", {"Py_ENABLE_SHARED": 0}.get)
    lines = {line.name: line for line in doctor.lines()}
    assert "built without a shared libpython" in lines["embedding"].problem
    assert "opening" not in lines


def test_a_plugin_that_ends_its_process_is_a_problem(monkeypatch, tmp_path):
    crash = tmp_path / "probe"
    crash.write_text("#!/bin/sh\nkill -SEGV $$\n")
    crash.chmod(0o755)
    monkeypatch.setattr(doctor, "PROBE", crash)
    assert doctor._opening().problem == "the plugin does not open: the process ended with code -11"

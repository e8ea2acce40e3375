"""`kernelpoint plan` from its options alone."""

import subprocess
import sys

import pytest

from kernelpoint.cli import synth


@pytest.fixture
def plan(tmp_path, monkeypatch):
    monkeypatch.setenv("KERNELPOINT_CACHE", str(tmp_path / "cache"))
    synth.synth("axpy", tmp_path / "traces", launches=3)

    def run(*options):
        command = [
            sys.executable,
            "-c",
            "from kernelpoint.cli import main; main()",
            "plan",
            str(tmp_path / "traces" / "kernelslist.g"),
        ]
        return subprocess.run(
            [*command, "-o", str(tmp_path / "a.kpplan"), *map(str, options)],
            capture_output=True,
            text=True,
            timeout=120,
        )

    return run


def test_a_policy_that_lacks_its_profile_is_told_of_the_option(plan):
    done = plan("--policy", "stem")
    assert done.returncode == 1 and "--profile" in done.stderr and "`profile:`" not in done.stderr


def test_a_profile_can_be_named_on_the_command_line(plan, tmp_path):
    rows = "".join(f"{i},,,{1000 + i}\n" for i in range(3))
    (tmp_path / "times.csv").write_text("launch_index,trace,kernel_name,cycles\n" + rows)
    done = plan("--policy", "stem", "--profile", tmp_path / "times.csv")
    assert done.returncode == 0, done.stderr
    assert "3 launches" in done.stdout and (tmp_path / "a.kpplan").exists()

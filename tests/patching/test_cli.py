"""The command `kernelpoint patch`."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

MINIATURE = Path(__file__).parents[1] / "accelsim_patch" / "miniature"
MACSIM = Path(__file__).parents[1] / "macsim_patch" / "miniature"


@pytest.fixture
def checkout(tmp_path):
    """An unpatched miniature simulator."""
    shutil.copytree(MINIATURE / "gpu-simulator", tmp_path / "gpu-simulator")
    shutil.copytree(MINIATURE / "class_layout", tmp_path / "gpu-simulator", dirs_exist_ok=True)
    return tmp_path


def patch(*arguments):
    command = [sys.executable, "-c", "from kernelpoint.cli import main; main()", "patch", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout + done.stderr


def test_dry_run_and_check_show_what_would_be_added_and_change_nothing(checkout):
    before = {path: path.read_bytes() for path in checkout.rglob("*") if path.is_file()}
    code, text = patch("accelsim", checkout, "--dry-run")
    assert code == 0 and "gpu-simulator/accel-sim.cc:" in text and "+ kernelpoint::register_option(parser);" in text
    code, text = patch("accelsim", checkout, "--check")
    assert code == 1 and "not patched" in text
    assert {path: path.read_bytes() for path in checkout.rglob("*") if path.is_file()} == before


def test_patching_checking_and_reverting(checkout):
    assert patch("accelsim", checkout)[0] == 0
    assert patch("accelsim", checkout, "--check") == (0, f"{checkout}: patched\n")
    code, text = patch("accelsim", checkout, "--revert")
    assert code == 0 and "restored" in text
    assert "was not patched" in patch("accelsim", checkout, "--revert")[1]


def test_a_second_patch_changes_nothing_and_says_so(checkout):
    patch("accelsim", checkout)
    before = {path: path.read_bytes() for path in checkout.rglob("*") if path.is_file()}
    code, text = patch("accelsim", checkout)
    assert code == 0 and "is patched already; nothing was changed" in text
    assert {path: path.read_bytes() for path in checkout.rglob("*") if path.is_file()} == before


def test_a_tree_that_cannot_be_patched_has_an_exit_code_of_its_own(checkout):
    (checkout / "gpu-simulator" / "accel-sim.cc").write_text("int main() {}\n")
    code, text = patch("accelsim", checkout, "--check")
    assert code == 2 and "cannot be patched" in text and "Traceback" not in text


def test_macsim_is_patched_checked_and_reverted_by_the_same_command(tmp_path):
    checkout = shutil.copytree(MACSIM, tmp_path / "macsim")
    before = {path: path.read_bytes() for path in checkout.rglob("*") if path.is_file()}
    code, text = patch("macsim", checkout, "--dry-run")
    assert code == 0 and "def/kernelpoint.param.def: new file" in text
    code, text = patch("macsim", checkout)
    assert code == 0 and "patched; build MacSim as usual" in text
    assert patch("macsim", checkout, "--check") == (0, f"{checkout}: patched\n")
    assert patch("macsim", checkout, "--revert")[0] == 0
    assert {path: path.read_bytes() for path in checkout.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    "arguments, reason",
    [(["gem5", "."], "allowed: accelsim, macsim"), (["accelsim", ".", "--check", "--revert"], "allowed: one of them")],
)
def test_wrong_arguments_are_one_message(arguments, reason):
    code, text = patch(*arguments)
    assert code == 1 and reason in text and "Traceback" not in text

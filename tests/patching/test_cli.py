"""The command `kernelpoint patch`."""

import pytest
import yaml
from command_line import run_command
from miniatures import accelsim_checkout, contents, macsim_checkout

from kernelpoint.config import load_config


@pytest.fixture
def checkout(tmp_path):
    """An unpatched miniature simulator."""
    return accelsim_checkout(tmp_path)


def patch(*arguments):
    done = run_command("patch", *arguments)
    return done.returncode, done.stdout + done.stderr


def test_dry_run_and_check_show_what_would_be_added_and_change_nothing(checkout):
    before = contents(checkout)
    code, text = patch("accelsim", checkout, "--dry-run")
    assert code == 0 and "gpu-simulator/accel-sim.cc:" in text and "+ kernelpoint::register_option(parser);" in text
    code, text = patch("accelsim", checkout, "--check")
    assert code == 1 and "not patched" in text and "--dry-run shows them" in text and len(text.splitlines()) == 2
    assert contents(checkout) == before


def test_patching_checking_and_reverting(checkout):
    assert patch("accelsim", checkout)[0] == 0
    assert patch("accelsim", checkout, "--check") == (0, f"{checkout}: patched\n")
    code, text = patch("accelsim", checkout)
    assert code == 0 and "is patched already; nothing was changed" in text
    code, text = patch("accelsim", checkout, "--revert")
    assert code == 0 and "restored" in text
    assert "was not patched" in patch("accelsim", checkout, "--revert")[1]


def test_a_folder_that_is_no_simulator_cannot_be_patched(tmp_path):
    code, text = patch("accelsim", tmp_path, "--check")
    assert code == 2 and "is no source tree of Accel-Sim" in text


def test_a_tree_that_cannot_be_patched_has_an_exit_code_of_its_own(checkout):
    (checkout / "gpu-simulator" / "accel-sim.cc").write_text("int main() {}\n")
    code, text = patch("accelsim", checkout, "--check")
    assert code == 2 and "cannot be patched" in text and "Traceback" not in text


def test_macsim_is_patched_checked_and_reverted_by_the_same_command(tmp_path):
    checkout = macsim_checkout(tmp_path / "macsim")
    before = contents(checkout)
    code, text = patch("macsim", checkout, "--dry-run")
    assert code == 0 and "def/kernelpoint.param.def: new file" in text
    code, text = patch("macsim", checkout)
    assert code == 0 and "patched; build MacSim as usual" in text
    assert patch("macsim", checkout, "--check") == (0, f"{checkout}: patched\n")
    assert patch("macsim", checkout, "--revert")[0] == 0
    assert contents(checkout) == before


@pytest.mark.parametrize(
    "arguments, reason",
    [(["gem5", "."], "allowed: accelsim, macsim"), (["accelsim", ".", "--check", "--revert"], "give only one of them")],
)
def test_wrong_arguments_are_one_message(arguments, reason):
    code, text = patch(*arguments)
    assert code == 1 and reason in text and "Traceback" not in text


def test_files_for_the_job_launcher_come_and_go_and_nothing_of_the_simulator_is_edited_for_them(checkout):
    configs = checkout / "util" / "job_launching" / "configs"
    assert "--launcher: " in patch("accelsim", checkout, "--launcher")[1]
    configs.mkdir(parents=True)
    upstream = configs / "define-standard-cfgs.yml"
    upstream.write_text("KEPT: {extra_params: -x}\n")
    before = contents(checkout)
    assert patch("accelsim", checkout, "--launcher")[0] == 0
    defined = yaml.safe_load((configs / "define-kernelpoint.yml").read_text())
    for name, entry in defined.items():
        option, path = entry["extra_params"].split()
        assert option == "-kernel_sampling" and "-" not in name  # names are split there
        assert load_config(path).error_budget.relative_error == float({"5": "0.05", "1": "0.01"}.get(name[2:], "0.005"))
    assert upstream.read_text() == "KEPT: {extra_params: -x}\n"
    assert "is patched already" in patch("accelsim", checkout)[1]  # they stay
    assert patch("accelsim", checkout, "--revert")[0] == 0
    assert contents(checkout) == before

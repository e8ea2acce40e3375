"""Patching a miniature MacSim: its own definition files, the link line, and lines at the beginning of functions."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from miniatures import accelsim_checkout, contents, macsim_checkout, rewrite

from kernelpoint.errors import PatchError
from kernelpoint.patching import SourceTree, State, load_description
from kernelpoint.patching.own_files import has_lines

CLANG_FORMAT = shutil.which("clang-format", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}") or ""
OURS = {"def/kernelpoint.param.def"}


@pytest.fixture
def checkout(tmp_path):
    """An unpatched miniature MacSim."""
    return macsim_checkout(tmp_path / "checkout")


def tree_of(root):
    return SourceTree(root, load_description("macsim"))


def added(path):
    return [re.split("//|#", line)[0].strip() for line in path.read_text().splitlines() if has_lines(line)]


def test_reverting_takes_the_definitions_away_and_lets_the_build_make_its_sources_again(checkout):
    tree_of(checkout).apply()
    knobs = checkout / "def" / "general.param.def"
    os.utime(knobs, (1, 1))
    assert set(tree_of(checkout).revert()) >= OURS
    assert knobs.stat().st_mtime > 1, "the build goes by time"


def test_a_definition_file_that_was_lost_is_noticed_and_laid_down_again(checkout):
    tree_of(checkout).apply()
    (checkout / "def" / "kernelpoint.param.def").unlink()
    assert tree_of(checkout).state() is State.OUTDATED
    tree_of(checkout).apply()
    assert tree_of(checkout).state() is State.PATCHED


def test_static_linking_is_taken_off_and_other_flags_stay(checkout):
    tree_of(checkout).apply()

    def flags_after(flags):
        script = (checkout / "SConscript").read_text().split("env.Program")[0].replace("['--static']", repr(flags))
        names = {"Environment": Environment}
        exec(script, names)  # the file is Python
        return names["env"]["LINKFLAGS"]

    class Environment(dict):
        def Split(self, value):  # noqa: N802  SCons's name
            return value.split() if isinstance(value, str) else list(value)

    assert "--static" not in flags_after(["--static"]) and "-static" not in flags_after("-static -pg")
    assert "-pg" in flags_after("-static -pg") and any("-ldl" in flag for flag in flags_after([]))


def test_the_lines_stand_first_in_their_functions_wherever_the_brace_is(checkout):
    tree_of(checkout).apply()
    text = (checkout / "src" / "process_manager.cc").read_text()
    for function, line in (
        ("setup_process", "if (!kernelpoint::begin_kernel(m_simBase, owner)) return;"),
        ("end_warp", "kernelpoint::end_of_warp(m_simBase, warp->m_process);"),
    ):
        body = re.search(rf"::{function}\([^)]*\)\s*\{{\n(.*)", text).group(1)
        assert body.strip().startswith(line)


def test_a_body_that_begins_on_the_line_of_its_brace_is_refused(checkout):
    path = checkout / "src" / "process_manager.cc"
    rewrite(path, lambda text: re.sub(r"(::setup_process\([^)]*\))\s*\{\n\s*", r"\1 { ", text))
    with pytest.raises(PatchError, match=r"cannot insert a line of the patch \(which kernel is set up"):
        tree_of(checkout).apply()


@pytest.mark.skipif(not CLANG_FORMAT, reason="clang-format is not installed")
@pytest.mark.parametrize("style", ["GNU", "Microsoft", "{BasedOnStyle: LLVM, ColumnLimit: 40, UseTab: Always}"])
def test_reformatted_and_renamed_sources_take_the_same_lines(checkout, style):
    names = {"owner": "application", "warp": "group"}
    paths = [checkout / "src" / name for name in ("process_manager.cc", "macsim.cc")]
    for path in paths:
        rewrite(path, lambda text: re.sub(r"(?<![\w/.>])\w+", lambda m: names.get(m[0], m[0]), text))
        subprocess.run([CLANG_FORMAT, f"--style={style}", "-i", str(path)], check=True, timeout=60)
    before = contents(checkout)
    tree_of(checkout).apply()
    assert "if (!kernelpoint::begin_kernel(m_simBase, application)) return;" in added(paths[0])
    assert "kernelpoint::end_of_warp(m_simBase, group->m_process);" in added(paths[0])
    assert added(paths[1])[-2:] == [
        "kernelpoint::before_statistics(m_simBase);",
        "kernelpoint::after_statistics(m_simBase);",
    ]
    tree_of(checkout).revert()
    assert contents(checkout) == before


@pytest.mark.parametrize(
    "name, reason",
    [
        ("m_no_of_threads_terminated", "the end of a kernel"),
        ("m_kernel_block_start_count", "which kernel is set up next"),
        ("saveStats", "the totals"),
        ("m_acc", "which applications run on the GPU"),
    ],
)
def test_a_missing_place_is_refused_and_changes_nothing(checkout, name, reason):
    for path in (checkout / "src").glob("*.cc"):
        rewrite(path, lambda text: text.replace(name, f"{name}_"))
    before = contents(checkout)
    with pytest.raises(PatchError, match=rf"{reason}.*has no place that matches .*nearest: .*{name}_"):
        tree_of(checkout).apply()
    assert contents(checkout) == before


def test_a_tree_of_the_other_simulator_is_refused(checkout):
    with pytest.raises(PatchError, match=r"no source tree of Accel-Sim"):
        SourceTree(checkout, load_description("accelsim"))
    with pytest.raises(PatchError, match=r"no source tree of MacSim"):
        tree_of(accelsim_checkout(checkout.parent / "accelsim"))

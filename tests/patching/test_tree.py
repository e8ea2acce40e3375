"""Patching miniature trees: added, added twice, taken out, reformatted, renamed, incomplete."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from miniatures import LAYOUTS, accelsim_checkout, contents, macsim_checkout, rewrite

from kernelpoint.errors import PatchError
from kernelpoint.patching import SourceTree, State, load_description, patchable
from kernelpoint.patching.own_files import add_lines, has_lines, strip_lines

PATCH = Path(__file__).parents[2] / "accelsim_patch" / "patch.yaml"
CLANG_FORMAT = shutil.which("clang-format", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}") or ""


@pytest.fixture(params=LAYOUTS)
def checkout(request, tmp_path):
    """An unpatched miniature simulator."""
    return accelsim_checkout(tmp_path / "checkout", request.param)


@pytest.fixture
def simulator(tmp_path):
    """An unpatched miniature simulator, where its layout does not matter."""
    return accelsim_checkout(tmp_path / "checkout")


@pytest.fixture(params=[*LAYOUTS, "macsim"])
def either(request, tmp_path):
    """An unpatched miniature of either simulator."""
    folder = tmp_path / "checkout"
    return macsim_checkout(folder) if request.param == "macsim" else accelsim_checkout(folder, request.param)


def tree_of(root):
    return SourceTree(root, load_description("macsim" if (root / "def").exists() else "accelsim"))


def driver(root):
    folder = root / "gpu-simulator"
    return folder / ("accel-sim.cc" if (folder / "accel-sim.cc").exists() else "main.cc")


def added(root):
    return [line.split("//")[0].strip() for line in driver(root).read_text().splitlines() if has_lines(line)]


def test_applying_adds_lines_and_files_and_changes_no_line_that_was_there(either):
    before = contents(either)
    assert tree_of(either).state() is State.PRISTINE
    additions = tree_of(either).apply()
    after = contents(either)
    assert tree_of(either).state() is State.PATCHED
    for name, text in before.items():
        kept = [line for line in after[name].split(b"\n") if b"[kernelpoint patch]" not in line]
        assert b"\n".join(kept) == text
    assert set(after) - set(before) == {name for name in additions.files if "kernelpoint" in name}
    assert "abi.h" in {Path(name).name for name in additions.files}


def test_applying_twice_is_applying_once(either):
    tree_of(either).apply()
    once = contents(either)
    tree_of(either).apply()
    assert contents(either) == once


def test_reverting_restores_every_byte(either):
    before = contents(either)
    tree_of(either).apply()
    assert tree_of(either).revert()
    assert contents(either) == before and tree_of(either).state() is State.PRISTINE
    assert not any(path.name == "kernelpoint" for path in either.rglob("*"))
    assert tree_of(either).revert() == [], "nothing is left to revert"


def test_work_done_after_patching_survives_reverting(simulator):
    tree_of(simulator).apply()
    rewrite(driver(simulator), lambda text: text + "\n// the user's own work\n")
    tree_of(simulator).revert()
    assert driver(simulator).read_text().endswith("\n// the user's own work\n")
    assert not has_lines(driver(simulator).read_text())


def test_a_file_of_ours_is_never_mixed_with_the_users(simulator):
    tree_of(simulator).apply()
    mine = simulator / "gpu-simulator" / "kernelpoint" / "mine.h"
    mine.write_text("// not ours\n")
    tree_of(simulator).revert()
    assert [p.name for p in mine.parent.iterdir()] == ["mine.h"]


def test_what_an_earlier_version_added_is_replaced(simulator):
    before = contents(simulator)
    tree_of(simulator).apply()
    folder = simulator / "gpu-simulator" / "kernelpoint"
    (folder / "old.h").write_text("// of an earlier version\n")
    rewrite(folder / "FILES", lambda text: text + "gpu-simulator/kernelpoint/old.h\n")
    rewrite(driver(simulator), lambda text: text.replace("kernelpoint::before_launch", "kernelpoint::earlier_name"))
    assert tree_of(simulator).state() is State.OUTDATED
    tree_of(simulator).apply()
    assert tree_of(simulator).state() is State.PATCHED and not (folder / "old.h").exists()
    tree_of(simulator).revert()
    assert contents(simulator) == before


def test_crlf_files_stay_crlf(simulator):
    rewrite(driver(simulator), lambda text: text.replace("\n", "\r\n"))
    before = contents(simulator)
    tree_of(simulator).apply()
    assert driver(simulator).read_bytes().replace(b"\r\n", b"").count(b"\n") == 0
    tree_of(simulator).revert()
    assert contents(simulator) == before


@pytest.mark.skipif(not CLANG_FORMAT, reason="clang-format is not installed")
@pytest.mark.parametrize("style", ["GNU", "{BasedOnStyle: LLVM, ColumnLimit: 40, UseTab: Always, TabWidth: 8}"])
def test_reformatted_sources_take_the_same_lines(checkout, style):
    tree_of(checkout).apply()
    expected = added(checkout)
    tree_of(checkout).revert()
    subprocess.run([CLANG_FORMAT, f"--style={style}", "-i", str(driver(checkout))], check=True, timeout=60)
    before = contents(checkout)
    tree_of(checkout).apply()
    assert sorted(added(checkout)) == sorted(expected)
    tree_of(checkout).revert()
    assert contents(checkout) == before


def test_renamed_locals_and_members_are_followed(checkout):
    names = {
        "m_gpu": "device",
        "gpu": "device",
        "m_commands": "todo",
        "commands": "todo",
        "m_position": "where",
        "i": "where",
    }
    names |= {
        "waiting": "next_one",
        "kernel": "next_one",
        "parser": "flags",
        "m_context": "shared",
        "context": "shared",
    }
    for path in driver(checkout).parent.glob("*.[ch]*"):
        rewrite(path, lambda text: re.sub(r"(?<![\w/.>])\w+", lambda m: names.get(m[0], m[0]), text))
    tree_of(checkout).apply()
    text = "\n".join(added(checkout))
    assert "kernelpoint::register_option(flags);" in text and "before_launch(next_one)" in text
    assert "kernelpoint_loop(device, shared," in text and "kernelpoint_loop.next(todo" in text


def test_a_copy_of_a_source_that_the_build_does_not_name_stays_as_it_is(checkout):
    sources = sorted(path.name for path in driver(checkout).parent.glob("*.cc"))
    rewrite(checkout / "gpu-simulator" / "Makefile", lambda text: text.replace("-o $@ *.cc", f"-o $@ {' '.join(sources)}"))
    copy = driver(checkout).with_name("main_before_my_change.cc")
    shutil.copy(driver(checkout), copy)
    tree_of(checkout).apply()
    assert added(checkout) and not has_lines(copy.read_text())


def test_a_reader_of_traces_that_takes_further_arguments_is_an_anchor_too(checkout):
    rewrite(driver(checkout), lambda text: text.replace(".command_string)", ".command_string, true, nullptr)"))
    tree_of(checkout).apply()
    assert any("kernelpoint_loop" in line for line in added(checkout))


@pytest.mark.parametrize(
    "name, other", [("parse_kernel_info", "parse_kernel_infos"), ("option_parser_cmdline", "option_parser_commandline")]
)
def test_a_missing_anchor_is_refused_with_the_nearest_candidates_and_changes_nothing(checkout, name, other):
    rewrite(driver(checkout), lambda text: text.replace(f"{name}(", f"{other}("))
    before = contents(checkout)
    line = 1 + driver(checkout).read_text().split(other)[0].count("\n")
    with pytest.raises(
        PatchError,
        match=rf"{name}.*nearest: .*{other} \({driver(checkout).parent.name}/{driver(checkout).name}:{line}\)",
    ):
        tree_of(checkout).apply()
    assert contents(checkout) == before


def test_an_ambiguous_anchor_is_refused_with_every_place(checkout):
    call = re.search(r"\n( *\S*->launch\(\w+\);)", driver(checkout).read_text()).group(1)
    rewrite(driver(checkout), lambda text: text.replace(call, f"{call}\n{call}"))
    with pytest.raises(PatchError, match=r"several places .*launch.*where the patch needs one: .*\.cc:\d+, .*\.cc:\d+"):
        tree_of(checkout).apply()


@pytest.mark.parametrize(
    ("statement", "changed", "reason"),
    [
        (r"(\w+->cycle\(\);)", r"if (true)\n \1", "progress.*into braces"),
        (r"(\w+->launch\(\w+\);)", r"int x = 0; \1", "cannot insert a line of the patch"),
    ],
)
def test_a_statement_without_braces_or_a_line_of_its_own_is_refused(checkout, statement, changed, reason):
    rewrite(driver(checkout), lambda text: re.sub(statement, changed, text))
    with pytest.raises(PatchError, match=reason):
        tree_of(checkout).apply()


def test_an_unknown_tree_is_refused_and_trees_near_it_are_named(simulator, tmp_path):
    for folder in (tmp_path, simulator / "gpu-simulator"):
        with pytest.raises(PatchError, match=f"no source tree of Accel-Sim.*nearest: .*{simulator.name}"):
            tree_of(folder)
    with pytest.raises(PatchError, match="nearest: nothing similar"):
        tree_of(tmp_path / "nowhere")


def test_a_line_of_ours_that_was_changed_since_is_named(simulator):
    tree_of(simulator).apply()
    rewrite(driver(simulator), lambda text: text.replace(" // [kernelpoint patch]", "", 1))
    with pytest.raises(PatchError, match=r"\.cc:\d+: the patch cannot be removed"):
        tree_of(simulator).revert()


def test_a_tree_without_build_files_is_refused(simulator):
    (simulator / "gpu-simulator" / "Makefile").unlink()
    with pytest.raises(PatchError, match="no build file"):
        tree_of(simulator).apply()


def test_the_mode_of_a_file_is_kept(simulator):
    driver(simulator).chmod(0o755)
    tree_of(simulator).apply()
    assert driver(simulator).stat().st_mode & 0o777 == 0o755


@given(
    text=st.text(st.characters(min_codepoint=0, max_codepoint=255), max_size=80).map(lambda t: t.replace("[", "")),
    where=st.lists(st.integers(0, 10), max_size=4),
)
def test_any_text_is_restored_after_any_lines_were_added(text, where):
    count = text.count("\n")
    patched = add_lines(text, [(min(number, count), "ours();") for number in where], "//")
    assert patched.count("[kernelpoint patch]") == len(where)
    assert strip_lines(patched) == text


def test_a_simulator_is_added_by_one_folder(tmp_path, monkeypatch):
    monkeypatch.setattr("kernelpoint.__file__", str(tmp_path / "python" / "kernelpoint" / "__init__.py"))
    folder = tmp_path / "newsim_patch"
    folder.mkdir()
    content = PATCH.read_text()
    (folder / "patch.yaml").write_text(content.replace("simulator: accelsim", "simulator: newsim"))
    assert list(patchable()) == ["newsim"]
    assert load_description("newsim").folder == folder
    with pytest.raises(PatchError, match="got 'accelsim'; allowed: newsim"):
        load_description("accelsim")

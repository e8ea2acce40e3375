"""A trace format outside the tree: one C++ file linked with the sources, and lists, launches and folders are read in it."""

import subprocess
from pathlib import Path

import pytest
from compiled import sanitised
from trace_writer import cta, small_trace

from kernelpoint import _native

HERE = Path(__file__).parent
PLUGIN = Path(_native.__file__).parents[2] / "plugin"
SHIPPED = _native.trace_formats()


@pytest.fixture(scope="module")
def read(tmp_path_factory):
    """Reads a list with a program that knows the foreign format; returns its lines behind the names of the formats."""
    path = tmp_path_factory.mktemp("program") / "read_list"
    sanitised([HERE / "read_list.cc", HERE / "counted_format.cc"], path)

    def read(source):
        done = subprocess.run([path, source], capture_output=True, text=True, check=True, timeout=60)
        lines = done.stdout.splitlines()
        names = sorted([*SHIPPED, "counted"])
        assert lines[: len(names)] == names
        return lines[len(names) :]

    return read


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "a.counted").write_text("3\n")
    (tmp_path / "b.counted").write_text("2\n")
    (tmp_path / "list.txt").write_text("counted launches\nb.counted\na.counted\nb.counted\n")
    return tmp_path


def test_a_list_is_read_in_it(read, folder):
    assert read(folder / "list.txt") == ["counted b.counted 2 2", "counted a.counted 3 3", "counted b.counted 2 2"]


def test_a_folder_is_read_in_it(read, folder):
    assert sorted(read(folder)) == ["counted a.counted 3 3", "counted b.counted 2 2"]


def test_its_error_is_told_as_any_other(read, folder):
    (folder / "b.counted").write_text("many\n")
    assert read(folder / "list.txt")[-1] == f"refused: {folder}/b.counted:1: expected a number of CTAs"


def test_the_formats_of_the_tree_are_read_as_before(read, tmp_path):
    (tmp_path / "kernel-1.traceg").write_text(small_trace(cta(["0000 ffffffff 0 EXIT 0 0"])))
    assert read(tmp_path) == ["accelsim kernel-1.traceg 1 1"]


def test_a_folder_without_traces_is_refused_with_the_files_of_every_format(read, tmp_path):
    (refused,) = read(tmp_path)
    accelsim = "a kernelslist.g, files kernel-N.traceg[.gz|.xz|.zst], kernel-N.tracez"
    assert all(content in refused for content in (accelsim, "files *.counted", "a kernel_config.txt"))


def test_python_has_the_formats_of_the_tree_one_folder_each():
    assert {"accelsim", "macsim"} <= set(SHIPPED)
    if PLUGIN.exists():
        assert sorted(path.parts[-3] for path in PLUGIN.glob("simulators/*/trace/format.cc")) == list(SHIPPED)

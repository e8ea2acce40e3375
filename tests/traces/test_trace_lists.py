"""Trace lists are read as Accel-Sim reads them, and refused where Accel-Sim would go wrong."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from trace_writer import cta, small_trace

from kernelpoint.errors import TraceError
from kernelpoint.file_names import name_problem
from kernelpoint.traces import read_trace_list

MARKS = ["\0", '"', "\u00a0", "\v", "- ", "KERNEL-1.traceg "]
TEXT = small_trace(cta(["0000 ffffffff 0 EXIT 0 0"]))


@pytest.fixture
def folder(tmp_path):
    for name in (
        "kernel-1.traceg",
        "kernel-2.traceg.xz",
        "kernel-10-ctx_0x5581.traceg.zst",
        "stats.csv",
        "kernel-1.trace",
    ):
        (tmp_path / name).write_text(TEXT)
    return tmp_path


def write_list(folder, text):
    path = folder / "kernelslist.g"
    path.write_text(text)
    return path


def test_launches_and_copies_keep_their_order(folder):
    path = write_list(
        folder,
        "MemcpyHtoD,0x7f0000000010,4096\nkernel-2.traceg.xz\nkernel-1.traceg\nMemcpyHtoD,0x20,8\nkernel-1.traceg\n",
    )
    commands = read_trace_list(path)
    names = ["kernel-2.traceg.xz", "kernel-1.traceg", "kernel-1.traceg"]
    assert list(commands.traces) == [str(folder / name) for name in names]
    assert commands.copies[0].tolist() == [[0, 0x7F0000000010, 4096], [3, 0x20, 8]]


def test_other_lines_are_ignored(folder):
    path = write_list(
        folder,
        "# kernel-9.traceg\n// kernel-9.traceg\n\nMemcpyDtoH,0x20,8\nncclAllReduce\n  kernel-1.traceg  \r\ncudaFree",
    )
    assert read_trace_list(path).traces == [str(folder / "kernel-1.traceg")]


def test_a_folder_is_its_list_and_without_one_its_traces_by_number(folder):
    names = ["kernel-1.traceg", "kernel-2.traceg.xz", "kernel-10-ctx_0x5581.traceg.zst"]
    assert read_trace_list(folder).traces == read_trace_list(f"{folder}/").traces == [str(folder / name) for name in names]
    write_list(folder, "MemcpyHtoD,0x20,8\nkernel-2.traceg.xz\n")
    commands = read_trace_list(f"{folder}/")
    assert list(commands.traces) == [str(folder / "kernel-2.traceg.xz")] and len(commands.copies[0]) == 1


def test_a_list_in_the_working_folder_is_found(folder, monkeypatch):
    write_list(folder, "kernel-1.traceg\n")
    monkeypatch.chdir(folder)
    assert read_trace_list("kernelslist.g").traces == ["kernel-1.traceg"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "at least one line that names a kernel's trace"),
        ("MemcpyHtoD,0x20,8\n", "at least one line that names a kernel's trace"),
        ("kernel-1.traceg\nkernel-3.traceg\n", r"kernelslist.g:2: the trace .*kernel-3.traceg does not exist"),
        ("kernel-1.traceg\nMemcpyHtoD,0x20\n", r"kernelslist.g:2: expected 'MemcpyHtoD,0x<address>,<bytes>'"),
        ("MemcpyHtoD,x,8\nkernel-1.traceg\n", r"kernelslist.g:1: expected 'MemcpyHtoD"),
        *((f"kernel-1.traceg\n{mark}kernel-1.traceg\n", "kernelslist.g:2: expected a trace's name") for mark in MARKS),
    ],
)
def test_a_list_that_cannot_be_run_is_refused(folder, text, expected):
    with pytest.raises(TraceError, match=expected):
        read_trace_list(write_list(folder, text))


def test_a_missing_list_an_empty_folder_and_a_launch_in_two_files_are_refused(folder, tmp_path_factory):
    with pytest.raises(TraceError, match="cannot be opened"):
        read_trace_list(folder / "none.g")
    empty = tmp_path_factory.mktemp("empty")
    with pytest.raises(TraceError, match=r"expected a kernelslist.g, files kernel-N.traceg"):
        read_trace_list(empty)
    (folder / "kernel-1.traceg.xz").write_text(TEXT)
    with pytest.raises(TraceError, match=r"found both kernel-1.traceg and kernel-1.traceg.xz"):
        read_trace_list(folder)


@pytest.mark.parametrize("name", ["kernel-1.trace", "kernel-1-ctx_0x1f13110.trace.xz"])
def test_traces_before_their_post_processing_are_refused_with_what_to_run(tmp_path, name):
    (tmp_path / name).write_text(TEXT)
    for path in (tmp_path, write_list(tmp_path, f"{name}\n")):
        with pytest.raises(TraceError, match=rf"{name} is not post-processed: run Accel-Sim's post-traces-processing"):
            read_trace_list(path)


NAMES = st.text(st.sampled_from("ab7._/+-; $\\'\"`|&<>\x00\x1b\x7f\u00e4\u202e\ud7ff"), max_size=12)


@given(NAMES)
@example("kernel-1;touch X;.traceg")
@example("/../x")
@example("-1.traceg")
def test_the_gate_for_names_is_the_same_in_lists_and_in_packs(tmp_path_factory, name):
    """One rule, a function of C++ and one of Python."""
    folder = tmp_path_factory.getbasetemp()
    name = f"kernel{name}".strip()
    path = folder / "any.g"
    path.write_text(f"{name}\n", newline="")
    with pytest.raises(TraceError) as caught:
        read_trace_list(path)
    expected = name_problem(name)
    assert str(caught.value) == f"{path}:1: {expected or f'the trace {folder}/{name} does not exist'}"


@pytest.mark.parametrize("name", ["kernel-1-ctx_0x1;touch X;.traceg", "kernel-1-ctx_0x1 .traceg.xz"])
def test_a_folder_that_stands_for_a_list_has_plain_names(tmp_path, name):
    (tmp_path / name).write_text(TEXT)
    with pytest.raises(TraceError, match=r"is refused: it contains"):
        read_trace_list(tmp_path)


@pytest.mark.parametrize("place", ["my traces", "it's (1)", "\u00e4"])
def test_the_users_own_folder_has_any_name(tmp_path, place):
    folder = tmp_path / place / "Kernel3"
    folder.mkdir(parents=True)
    (folder / "trace.txt").write_text("")
    (tmp_path / place / "kernel_config.txt").write_text(f"nvbit\n14\n-1\n{folder}/trace.txt\n")
    assert read_trace_list(tmp_path / place / "kernel_config.txt").traces == [str(folder / "trace.txt")]
    (tmp_path / place / "kernel-1.traceg").write_text(TEXT)
    (tmp_path / place / "kernelslist.g").write_text("kernel-1.traceg\n")
    assert read_trace_list(tmp_path / place / "kernelslist.g").traces == [str(tmp_path / place / "kernel-1.traceg")]

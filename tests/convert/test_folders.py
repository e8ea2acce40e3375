"""Launches that share a folder, places of code, and conversions that stop and go on."""

import resource
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import run_command
from plain_macsim import read_records
from trace_writer import cta, small_trace

from kernelpoint import _native
from kernelpoint.errors import TraceError
from kernelpoint.simulators.macsim.convert import FIRST_CODE, convert_to_macsim

ADD = "0000 ffffffff 1 R1 IADD3 2 R2 R3 0"
MOVE = "0000 ffffffff 1 R1 MOV 1 R2 0"
LOAD = "0010 0000000f 1 R1 LDG.E.SYS 1 R2 4 1 0x{:x} 4"
EXIT = "0020 ffffffff 0 EXIT 0 0"


def write_launches(folder: Path, *launches: tuple[str, list[str]]) -> Path:
    """Traces with the given kernel names and code, and their list."""
    for number, (name, body) in enumerate(launches, 1):
        text = small_trace(cta(body)).replace("_Z3addPf", name).replace("kernel id = 1", f"kernel id = {number}")
        (folder / f"kernel-{number}.traceg").write_text(text)
    source = folder / "kernelslist.g"
    source.write_text("".join(f"kernel-{number}.traceg\n" for number in range(1, len(launches) + 1)))
    return source


def listed(output: Path) -> list[str]:
    return [line.split("/")[1] for line in (output / "kernel_config.txt").read_text().splitlines()[3:]]


def files(output: Path) -> dict[str, bytes]:
    return {str(p.relative_to(output)): p.read_bytes() for p in sorted(output.rglob("*")) if p.is_file()}


def first_pc(output: Path, launch: str) -> int:
    return read_records(output / launch / "trace_0.raw")[0]["pc"]


def test_launches_with_equal_files_share_a_folder(tmp_path):
    same, other = [ADD, LOAD.format(0x7F00), EXIT], [ADD, LOAD.format(0x8F00), EXIT]
    source = write_launches(tmp_path, ("f", same), ("f", other), ("f", same), ("f", other), ("g", same))
    made = convert_to_macsim(source, tmp_path / "out")
    assert listed(tmp_path / "out") == ["Kernel0", "Kernel1", "Kernel0", "Kernel1", "Kernel4"]
    assert (made.launches, made.folders) == (5, 3)
    assert "Kernel3 name: f\n" in (tmp_path / "out/kernel_names.txt").read_text()


def test_launches_that_differ_in_shape_only_share_nothing(tmp_path):
    source = write_launches(tmp_path, ("f", [ADD, EXIT]), ("f", [ADD, EXIT]))
    second = tmp_path / "kernel-2.traceg"
    second.write_text(second.read_text().replace("block dim = (32,1,1)", "block dim = (16,2,1)"))
    convert_to_macsim(source, tmp_path / "out")
    assert listed(tmp_path / "out") == ["Kernel0", "Kernel1"]


def test_a_kernel_has_one_place_for_its_code_and_others_have_their_own(tmp_path):
    near, far = LOAD.format(0x7F00), LOAD.format(0x8F00)
    source = write_launches(tmp_path, ("f", [ADD, near, EXIT]), ("g", [MOVE, EXIT]), ("f", [ADD, far, EXIT]))
    out = tmp_path / "out"
    convert_to_macsim(source, out)
    pcs = [first_pc(out, name) for name in listed(out)]
    assert pcs == [FIRST_CODE, FIRST_CODE + _native.macsim.CODE_SIZE, FIRST_CODE]


def test_instructions_of_eight_bytes_that_differ_have_their_own_code(tmp_path):
    first, second = (f"0008 ffffffff 1 R1 {opcode} 1 R2 0" for opcode in ("MOV", "IADD3"))
    source = write_launches(tmp_path, ("f", [ADD, first, EXIT]), ("f", [ADD, second, EXIT]))
    out = tmp_path / "out"
    convert_to_macsim(source, out)
    assert [first_pc(out, f"Kernel{i}") for i in (0, 1)] == [FIRST_CODE, FIRST_CODE + _native.macsim.CODE_SIZE]


def test_launches_of_one_kernel_with_other_blocks_share_code(tmp_path):
    body = [ADD, "0010 ffffffff 0 BAR.SYNC 0 0", EXIT]
    source = write_launches(tmp_path, ("f", body), ("f", body))
    second = tmp_path / "kernel-2.traceg"
    second.write_text(second.read_text().replace("block dim = (32,1,1)", "block dim = (128,1,1)"))
    out = tmp_path / "out"
    convert_to_macsim(source, out)
    assert listed(out) == ["Kernel0", "Kernel1"] and first_pc(out, "Kernel0") == first_pc(out, "Kernel1")
    assert [read_records(out / k / "trace_0.raw")[1]["barrier"] for k in listed(out)] == [32, 128]


def test_two_functions_of_one_name_do_not_share_code(tmp_path):
    source = write_launches(tmp_path, ("f", [ADD, EXIT]), ("f", [MOVE, EXIT]), ("f", [ADD, LOAD.format(1), EXIT]))
    out = tmp_path / "out"
    convert_to_macsim(source, out)
    pcs = [first_pc(out, name) for name in listed(out)]
    assert pcs[0] == pcs[2] != pcs[1]


@pytest.fixture
def five(tmp_path):
    return write_launches(tmp_path, *((f"k{n}", [ADD, LOAD.format(4096 * n), EXIT]) for n in range(5)))


def test_the_number_of_threads_changes_nothing(five, tmp_path):
    for threads in (1, 4):
        convert_to_macsim(five, tmp_path / f"out{threads}", threads=threads)
    assert files(tmp_path / "out1") == files(tmp_path / "out4")


def test_an_interrupted_conversion_leaves_no_folder_and_the_next_one_begins_again(five, tmp_path):
    def stop(stage, done, total):
        if (stage, done) == ("writing", 3):
            raise KeyboardInterrupt

    out = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        convert_to_macsim(five, out, threads=1, progress=stop)
    assert not out.exists() and (tmp_path / ".out.unfinished" / "Kernel2").is_dir()
    convert_to_macsim(five, out)
    convert_to_macsim(five, tmp_path / "fresh")
    assert files(out) == files(tmp_path / "fresh") and not (tmp_path / ".out.unfinished").exists()


def test_a_folder_with_something_else_is_refused(five, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "notes.txt").write_text("mine")
    with pytest.raises(TraceError, match=r"out: expected a new or empty folder.* found notes.txt"):
        convert_to_macsim(five, tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["notes.txt"]


@pytest.mark.parametrize("level", [0, 10])
def test_a_level_that_gzip_lacks_is_refused(five, tmp_path, level):
    with pytest.raises(TraceError, match=f"level: got {level}; allowed: compression levels 1 to 9"):
        convert_to_macsim(five, tmp_path / "out", level=level)


def test_a_trace_that_cannot_be_read_stops_the_conversion_with_its_line(five, tmp_path):
    trace = tmp_path / "kernel-3.traceg"
    trace.write_text(trace.read_text().replace("IADD3 2 R2", "IADD3 2 R999"))
    with pytest.raises(TraceError, match=r"kernel-3.traceg:\d+: expected source register"):
        convert_to_macsim(five, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_full_disk_is_one_clear_message(five, tmp_path):
    out = tmp_path / "out"
    code = (
        f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (16, {resource.RLIM_INFINITY}));"
        "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "from kernelpoint.simulators.macsim.convert import convert_to_macsim;"
        f"convert_to_macsim({str(five)!r}, {str(out)!r})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert "TraceError" in done.stderr and f"{out}: cannot be made or read: File too large" in done.stderr


def test_the_command_converts_and_says_how_many_files_macsim_opens(five, tmp_path, monkeypatch):
    command = ["file", "convert", five, "-o", tmp_path / "out"]
    done = run_command(*command)
    assert done.returncode == 0, done.stderr
    assert "5 launches in 5 folders, 5 warps, 15 records" in done.stdout
    assert "at most 1 at once here" in done.stdout and "ulimit" not in done.stdout
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (32, 4096))
    command[-1] = tmp_path / "again"
    assert "before running MacSim: ulimit -n 33" in run_command(*command).stdout
    refused = run_command(*command, "--to", "gem5")
    assert refused.returncode == 1 and "--to: got 'gem5'; allowed: macsim" in refused.stderr

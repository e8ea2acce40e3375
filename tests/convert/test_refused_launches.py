"""Launches in MacSim's layout that cannot be used: refused with the file, the record, and what was expected."""

import gzip
import shutil
from pathlib import Path

import pytest
from fast_reader import read_fast
from plain_macsim import BODY, NUMBERS, START, pack, record, write_launch

from kernelpoint.errors import TraceError
from kernelpoint.traces import read_header, read_trace_list, scan_trace


def names_line(number=3, grid="2, 1, 1", block="64, 1, 1"):
    return (
        f"Kernel{number} name: void f<float>(float*, int)\n  Grid size: ({grid}), Block size: ({block}), "
        "maxBlockPerCore: 16, # of regs: 24, static shared mem: 100, dynamic shared mem: 28\n"
    )


def refusal(path: Path) -> str:
    with pytest.raises(TraceError) as caught:
        scan_trace(path)
    return str(caught.value).removeprefix(str(path.parent))


def test_the_launch_that_the_others_damage_is_accepted(tmp_path):
    work = scan_trace(write_launch(tmp_path / "Kernel3")).work
    assert (work.instructions, work.warps, work.ctas, work.bytes) == (12, 4, 2, 4 * 32 * 8)


def test_kernel_names_say_what_a_launch_was(tmp_path):
    header = read_header(write_launch(tmp_path / "Kernel3", names=names_line(2) + names_line(3)))
    assert header.kernel_id == 3
    assert header.kernel_name == "void f<float>(float*, int)"
    assert (header.grid, header.block) == ((2, 1, 1), (64, 1, 1))
    assert (header.registers, header.shared_memory) == (24, 128)


def test_without_names_the_shape_comes_from_the_warps_and_the_name_from_the_code(tmp_path):
    shape = read_header(write_launch(tmp_path / "Kernel3", names=names_line(2)))
    assert (shape.grid, shape.block, shape.registers) == ((2, 1, 1), (64, 1, 1), 0)
    assert shape.kernel_name == f"kernel_at_{START:#x}"


def test_a_names_file_that_changes_is_read_again(tmp_path):
    path = write_launch(tmp_path / "Kernel3", names=names_line())
    assert read_header(path).block == (64, 1, 1)
    (tmp_path / "kernel_names.txt").write_text(names_line(block="32, 2, 1"))
    assert read_header(path).block == (32, 2, 1)


@pytest.mark.parametrize("keep", range(1, 4))
def test_a_truncated_gzip_is_refused_with_the_record_it_ends_behind(tmp_path, keep):
    path = write_launch(tmp_path / "Kernel3", body=BODY * 500)
    warp = path.parent / "trace_1.raw"
    content = warp.read_bytes()
    warp.write_bytes(content[: len(content) * keep // 4])
    message = refusal(path)
    assert message.startswith("/trace_1.raw: behind record ") and message.endswith(": the gzip stream is truncated")


def test_a_corrupt_gzip_is_refused_with_its_place(tmp_path):
    path = write_launch(tmp_path / "Kernel3", body=BODY * 500)
    warp = path.parent / "trace_1.raw"
    content = bytearray(warp.read_bytes())
    content[-6] ^= 255  # its checksum
    warp.write_bytes(bytes(content))
    assert refusal(path) == "/trace_1.raw: behind record 1024: the gzip stream is damaged (incorrect data check)"
    content[20] ^= 255
    warp.write_bytes(bytes(content))
    assert refusal(path).startswith("/trace_1.raw: behind record ")


def test_part_of_a_record_at_the_end_is_refused(tmp_path):
    path = write_launch(tmp_path / "Kernel3")
    (path.parent / "trace_1.raw").write_bytes(gzip.compress(pack(BODY) + b"12345"))
    assert refusal(path) == "/trace_1.raw: behind record 4: expected records of 64 bytes, found 5 more bytes at the end"


def test_plain_files_and_several_gzip_members_are_read_as_zlib_does(tmp_path):
    path = write_launch(tmp_path / "Kernel3")
    before = read_fast(str(path))
    (path.parent / "trace_0.raw").write_bytes(pack(BODY))
    (path.parent / "trace_1.raw").write_bytes(gzip.compress(pack(BODY[:1])) + gzip.compress(pack(BODY[1:])))
    assert read_fast(str(path)) == before


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        ({"opcode": 210}, "record 1 (from 1): opcode 210 is not known; known are 0 to 205, and 255 for others"),
        ({"pc": START + 2**32}, "record 2 (from 1): expected a PC within 2 GiB of the launch's first one"),
        ({"opcode": 73, "is_fp": 1}, "record 1 (from 1): expected the access that this further sector belongs to"),
    ],
)
def test_a_record_that_cannot_be_is_refused(tmp_path, damage, expected):
    first = record(opcode=NUMBERS["MOV"], pc=START)
    path = write_launch(tmp_path / "Kernel3", body=[first | damage, first])
    assert refusal(path).startswith(f"/trace_0.raw: {expected}")


def test_more_sectors_than_lanes_are_refused(tmp_path):
    body = [instruction | {"mask": 1} for instruction in BODY]
    message = refusal(write_launch(tmp_path / "Kernel3", body=body))
    assert message == "/trace_0.raw: record 3 (from 1): expected at most one sector for each active lane"


def test_an_opcode_that_newer_tracers_write_for_any_other_is_read(tmp_path):
    path = write_launch(tmp_path / "Kernel3", body=[record(opcode=255, pc=START), record(opcode=204, pc=START + 16)])
    assert [i.opcode for _, body in read_fast(str(path))[0].warps for i in body][:2] == ["UNKNOWN", "ENDCOLLECTIVE"]


def test_counts_that_mean_none_are_understood(tmp_path):
    body = [record(opcode=NUMBERS["MOV"], pc=START, sources=255, destinations=255), record(opcode=139, pc=START + 16)]
    (first, _) = read_fast(str(write_launch(tmp_path / "Kernel3", body=body)))[0].warps[0][1]
    assert (first.sources, first.destinations) == ((), ())


LISTS = {
    "another simulator's": ("nvbit\n", "ptx\n", "/trace.txt:1: expected 'nvbit'"),
    "another version": ("\n14\n", "\n15\n", "/trace.txt:2: expected the trace version, 14, found '15'"),
    "no warps": ("\n4\n", "\n0\n", "/trace.txt:4: expected 1 to 1048576 warps, found 0"),
    "fewer warps than counted": ("65537 0\n", "", "/trace.txt:7: expected warp 4 of 4, '<id> 0', found the end"),
    "more warps than counted": (
        "65537 0\n",
        "65537 0\n7 0\n",
        "/trace.txt:9: expected the end of the file, found '7 0'",
    ),
    "a warp twice": ("\n1 0\n", "\n0 0\n", "/trace.txt: warp 0 occurs twice"),
    "a warp that no CTA has": ("\n1 0\n", "\n32 0\n", "/trace.txt:6: expected a warp's id"),
    "no number": ("\n1 0\n", "\none 0\n", "/trace.txt:6: expected warp 2 of 4, '<id> 0', found 'one 0'"),
}


@pytest.mark.parametrize("name", LISTS)
def test_a_damaged_list_of_warps_is_refused_with_its_line(tmp_path, name):
    old, new, expected = LISTS[name]
    path = write_launch(tmp_path / "Kernel3")
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))
    assert refusal(path).startswith(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0 4\n1 4\n65536 4\n", ": expected a line for warp 65537, found none"),
        ("0 4\n1 4\n0 4\n", ":3: warp 0 occurs twice"),
        ("0 4\n1\n", ":2: expected a warp's id and its number of instructions, found '1'"),
    ],
)
def test_damaged_counts_are_refused(tmp_path, text, expected):
    path = write_launch(tmp_path / "Kernel3")
    (path.parent / "trace_info.txt").write_text(text)
    assert refusal(path) == f"/trace_info.txt{expected}"


def test_a_warp_with_fewer_records_than_counted_is_refused(tmp_path):
    path = write_launch(tmp_path / "Kernel3")
    (path.parent / "trace_65536.raw").write_bytes(gzip.compress(pack(BODY[:3])))
    assert refusal(path) == "/trace_65536.raw: expected 4 records as trace_info.txt says, found 3"


def test_missing_files_are_named(tmp_path):
    path = write_launch(tmp_path / "Kernel3")
    (path.parent / "trace_1.raw").unlink()
    assert refusal(path) == "/trace_1.raw: cannot be opened: No such file or directory"
    (path.parent / "trace_info.txt").unlink()
    assert refusal(path) == "/trace_info.txt: cannot be opened: No such file or directory"
    shutil.rmtree(path.parent)
    assert refusal(path) == "/trace.txt: cannot be opened: No such file or directory"


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (
            names_line(grid="1, 1, 1"),
            "/Kernel3/trace.txt: warp 65536 lies outside the launch that kernel_names.txt names",
        ),
        (names_line(block="32, 1, 1"), "/Kernel3/trace.txt: warp 1 lies outside the launch"),
        (names_line(grid="3, 1, 1"), "/Kernel3/trace.txt: expected warps of 3 CTAs as the grid says, found 2"),
        (names_line(grid="0, 1, 1"), "/kernel_names.txt:2: expected 'Grid size: (x, y, z)"),
        (names_line(block="1024, 2, 1"), "/kernel_names.txt:2: expected 'Grid size: (x, y, z)"),
        ("Kernel3 is\n", "/kernel_names.txt:1: expected 'Kernel<N> name: ' and a kernel's name, found 'Kernel3 is'"),
    ],
)
def test_names_that_do_not_fit_are_refused(tmp_path, names, expected):
    path = write_launch(tmp_path / "Kernel3", names=names)
    with pytest.raises(TraceError) as caught:
        scan_trace(path)
    assert str(caught.value).removeprefix(str(tmp_path)).startswith(expected)


def test_a_list_is_read_as_macsim_reads_it(tmp_path):
    for number in (3, 12):
        write_launch(tmp_path / f"Kernel{number}")
    config = tmp_path / "kernel_config.txt"
    config.write_text("nvbit\n14\n-1\n./Kernel3/trace.txt\n/elsewhere/Kernel12/trace.txt\n./Kernel3/trace.txt\n")
    listed = read_trace_list(config)
    expected = [str(tmp_path / name / "trace.txt") for name in ("Kernel3", "Kernel12", "Kernel3")]
    assert list(listed.traces) == expected == read_trace_list(tmp_path).traces
    assert listed.numbers.tolist() == [3, 12, 3] and not any(map(len, listed.copies))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("nvbit\n13\n-1\n", ":2: expected '14'"),
        ("nvbit\n14\n-1\n", ": expected at least one line that names a launch"),
        ("nvbit\n14\n-1\nKernel3/trace.txt\n", ":4: expected './Kernel<N>/trace.txt', found 'Kernel3/trace.txt'"),
        ("nvbit\n14\n-1\n./Kernel3/other.txt\n", ":4: expected './Kernel<N>/trace.txt'"),
        (
            "nvbit\n14\n-1\n./Kernel3/trace.txt\n./Kernel4/trace.txt\n",
            ":5: the trace .*Kernel4/trace.txt does not exist",
        ),
    ],
)
def test_a_damaged_list_is_refused_with_its_line(tmp_path, text, expected):
    write_launch(tmp_path / "Kernel3")
    (tmp_path / "kernel_config.txt").write_text(text)
    with pytest.raises(TraceError, match="kernel_config.txt" + expected):
        read_trace_list(tmp_path / "kernel_config.txt")

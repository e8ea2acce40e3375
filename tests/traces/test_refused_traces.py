"""Every trace that cannot be used is refused with its file, its line and what was expected there."""

import re

import pytest
from trace_writer import cta, small_trace, write

from kernelpoint import _native
from kernelpoint.errors import TraceError
from kernelpoint.traces import read_header, scan_trace

ADD = "0000 ffffffff 1 R1 IADD3 2 R2 R3 0"
LOAD = "0010 0000000f 1 R1 LDG.E.SYS 1 R2 4 1 0x7f00 4"
EXIT = "0020 ffffffff 0 EXIT 0 0"
GOOD = small_trace(cta([ADD, LOAD, EXIT]))


def line_of(text, part):
    return next(number for number, line in enumerate(text.split("\n"), 1) if part in line)


def refusal(tmp_path, text):
    path = write(tmp_path, text)
    with pytest.raises(TraceError) as caught:
        scan_trace(path)
    message = str(caught.value)
    assert message.startswith(path + ":")
    return message.removeprefix(path)


def test_the_trace_that_the_others_damage_is_accepted(tmp_path):
    assert scan_trace(write(tmp_path, GOOD)).work.instructions == 3


INSTRUCTIONS = {
    "a PC that is no number": ("00xy ffffffff 0 EXIT 0 0", "hexadecimal PC"),
    "a mask of 9 digits": ("0000 0ffffffff 0 EXIT 0 0", "hexadecimal mask"),
    "too many destinations": ("0000 ffffffff 3 R1 R2 R3 MOV 0 0", "destination registers, at most 2"),
    "too many sources": ("0000 ffffffff 0 MOV 7 R1 R1 R1 R1 R1 R1 R1 0", "source registers, at most 6"),
    "fewer registers than counted": ("0000 ffffffff 1 R1 IADD3 2 R2 0", "source register 2 of 2"),
    "a register out of range": ("0000 ffffffff 1 R256 MOV 0 0", "destination register 1 of 1, R0 to R255"),
    "no opcode": ("0000 ffffffff 1 R1 7 0 0", "an opcode"),
    "no width": ("0000 ffffffff 0 EXIT 0", "memory width"),
    "STORE_DATA that is cut": ("0000 1 0 EXIT 0 0 STORE_DAT", "the end of the line"),
    "an unknown address mode": ("0000 1 0 LDG 0 4 3 0x0", "address mode after the memory width: 0 .list., 1"),
    "a short list": ("0000 3 0 LDG 0 4 0 0x0", "hexadecimal address 2 of 2"),
    "a list entry of 17 digits": ("0000 1 0 LDG 0 4 0 0x12345678123456781", "hexadecimal address 1 of 1"),
    "a base of 58 bits": ("0000 1 0 LDG 0 4 1 0x200000000000000 4", "more than 57 bits"),
    "a stride below address 0": ("0000 3 0 LDG 0 4 1 0x10 -32", "more than 57 bits"),
    "a base below zero": ("0000 1 0 LDG 0 4 1 -5 4", "a hexadecimal base address"),
    "a missing stride": ("0000 3 0 LDG 0 4 1 0x10", "decimal stride"),
    "a stride over lanes with a gap": ("0000 5 0 LDG 0 4 1 0x10 4", "a mask without gaps"),
    "a missing delta": ("0000 7 0 LDG 0 4 2 0x10 8", "decimal delta 2 of 2"),
    "something behind the last operand": ("0000 7 0 EXIT 0 0 1", "the end of the line"),
}


@pytest.mark.parametrize("name", INSTRUCTIONS)
def test_a_damaged_instruction_is_refused_with_its_line(tmp_path, name):
    line, expected = INSTRUCTIONS[name]
    text = small_trace(cta([ADD, line]))
    message = refusal(tmp_path, text)
    assert message.startswith(f":{line_of(text, line)}: ")
    assert re.search(expected, message)
    assert line in message or "bits" in expected


TMA = "0000 1 0 UTMALDG.2D 2 UR4 UR8 128"
VERSION_6 = {
    "no immediate": ("0000 1 0 EXIT 0 0 NoVal", "an immediate"),
    "an immediate that is no number": ("0000 1 0 EXIT 0 0 zero NoVal", "an immediate"),
    "neither Val nor NoVal": ("0000 1 0 EXIT 0 0 0 0", "'NoVal' or 'Val' after the immediates"),
    "a third immediate": ("0000 1 0 EXIT 0 0 0 0 0 NoVal", "'NoVal' or 'Val'"),
    "fields behind NoVal": ("0000 1 0 EXIT 0 0 0 0 NoVal 1", "the end of the line"),
    "a number of values that is not 1 or 32": (
        "0000 1 1 R1 MOV 0 0 0 Val 2 0x1 0x2",
        "values of operand 1 of 1, 1 or 32",
    ),
    "a missing value": ("0000 1 1 R1 MOV 1 R2 0 0 Val 1 0x1 1", "hexadecimal value 1 of operand 2 of 2"),
    "a GMMA without its commit flag": ("0000 1 0 HGMMA.64x8x16.F32 1 R24 x 0 0 NoVal", "a decimal commit flag"),
    "a wide mbarrier": (f"{TMA} 100000000 0 128 0 3 0 0 NoVal", "mbarrier address"),
    "a multicast flag of 2": (f"{TMA} 80 2 128 0 3 0 0 NoVal", "multicast flag, 0 or 1"),
    "a wide multicast mask": (f"{TMA} 80 1 10000 128 0 3 0 0 NoVal", "mask of 16 CTAs"),
    "a copy without bytes": (f"{TMA} 80 0 128 x 3 0 0 NoVal", "a bulk copy's bytes"),
    "a lane's address mode on a bulk copy": (f"{TMA} 80 0 128 0 1 0x10 4 0 NoVal", "address mode: 3 .list. or 4"),
    "a bulk copy's mode on a load": ("0000 1 0 LDG 0 4 3 1 0x10 0 NoVal", "address mode after the memory width"),
    "a count beyond all bounds": (f"{TMA} 80 0 128 0 3 4000000000 0x10 0 NoVal", "addresses, at most 16384"),
    "a count beyond the line": (f"{TMA} 80 0 128 0 3 16384 0x10 0x20", "hexadecimal address 3 of 16384"),
    "more bytes than a copy moves": (
        "0000 1 0 UTMALDG.2D 0 65535 80 0 128 0 4 0x0 17" + " 0" * 16 + " 0 NoVal",
        "17 addresses of 65535 bytes are more than the 1 MiB",
    ),
    "a missing delta of a copy": (f"{TMA} 80 0 128 0 4 0x10 3 128 NoVal", "decimal delta 2 of 2"),
}


@pytest.mark.parametrize("name", VERSION_6)
def test_a_damaged_instruction_of_version_6_is_refused_with_its_line(tmp_path, name):
    line, expected = VERSION_6[name]
    text = small_trace(cta(["0000 ffffffff 0 NOP 0 0 0 NoVal", line]), version=6)
    message = refusal(tmp_path, text)
    assert message.startswith(f":{line_of(text, line)}: ")
    assert re.search(expected, message)


@pytest.mark.parametrize("form", ["plain", "xz"])
@pytest.mark.parametrize("prefix", ["0 0 0 0", "0 0 0 0 0 0 0 0 0 0 0"])
def test_a_trace_before_its_post_processing_is_refused_with_what_to_run(tmp_path, form, prefix):
    path = write(tmp_path, small_trace(f"{prefix} {ADD} 0\n", version=6), form)
    with pytest.raises(TraceError, match=r"not post-processed.*post-traces-processing on its list.*kernelslist.g"):
        scan_trace(path)


HEADERS = {
    "tracer version 7": ("accelsim tracer version", "7", "version 7 is not known; known are versions 1 to 6"),
    "tracer version 0": ("accelsim tracer version", "0", "version 0 is not known"),
    "a tracer version that is no number": ("accelsim tracer version", "three", "a decimal number"),
    "a grid of four billion": ("grid dim", "(4000000000,1,1)", "each at least 1 and at most (2147483647,65535,65535)"),
    "an empty grid": ("grid dim", "(0,1,1)", "each at least 1"),
    "a grid of two dimensions": ("grid dim", "(1,1)", "(x,y,z)"),
    "a negative grid": ("grid dim", "(-1,1,1)", "(x,y,z)"),
    "a block of 2048 threads": ("block dim", "(1024,2,1)", "1024 threads in all"),
    "shared memory that is no number": ("shmem", "many", "fits 32 bits"),
    "registers beyond 32 bits": ("nregs", "4294967296", "fits 32 bits"),
    "a kernel name that is no text": ("kernel name", "\x01\u00e9", "printable text in UTF-8"),
    "a base address that is none": ("shmem base_addr", "here", "a hexadecimal address"),
}


@pytest.mark.parametrize("name", HEADERS)
def test_a_header_that_cannot_be_is_refused_with_its_line(tmp_path, name):
    key, value, expected = HEADERS[name]
    text = small_trace(cta([EXIT]), **{key: value})
    message = refusal(tmp_path, text)
    assert message.startswith(f":{line_of(text, f'-{key} =')}: ")
    assert expected in message


@pytest.mark.parametrize("place", ["-kernel name", "#BEGIN_TB"])
def test_a_header_is_read_for_200_lines_and_no_further(tmp_path, place):
    begin = GOOD.index(place)
    blank = 200 - GOOD[:begin].count("\n")
    assert scan_trace(write(tmp_path, GOOD[:begin] + "\n" * (blank - 20) + GOOD[begin:])).work.instructions == 3
    assert "within 200 lines" in refusal(tmp_path, GOOD[:begin] + "\n" * (blank + 2) + GOOD[begin:])


@pytest.mark.parametrize("place", ["thread block", "warp = ", "insts = ", "#END_TB", None])
def test_empty_lines_of_a_trace_are_read_up_to_a_limit(tmp_path, place):
    begin = GOOD.index(place) if place else len(GOOD)
    assert scan_trace(write(tmp_path, GOOD[:begin] + "\n" * 150 + GOOD[begin:])).work.instructions == 3
    assert "at most 200 empty lines" in refusal(tmp_path, GOOD[:begin] + "\n" * 201 + GOOD[begin:])


@pytest.mark.parametrize("key", ["kernel name", "kernel id", "grid dim", "block dim", "shmem", "nregs", "binary version"])
def test_a_header_without_a_needed_field_is_refused_by_name(tmp_path, key):
    text = "\n".join(line for line in GOOD.split("\n") if not line.startswith(f"-{key}"))
    assert f"'-{key}" in refusal(tmp_path, text)


BODIES = {
    "no CTA": ("", "expected 1 CTAs as the grid says (the file has 0), found the end of the file"),
    "fewer instructions than counted": (cta([ADD, EXIT]).replace("insts = 2", "insts = 3"), "instruction 3 of 3 of warp 0"),
    "more instructions than counted": (cta([ADD, EXIT]).replace("insts = 2", "insts = 1"), "after the 1 instructions"),
    "a million million instructions": (cta([EXIT]).replace("insts = 1", "insts = 1000000000000"), "at most 2147483648"),
    "two billion instructions": (cta([EXIT]).replace("insts = 1", "insts = 2147483648"), "instruction 2 of 2147483648"),
    "a CTA without its end": (cta([EXIT]).replace("#END_TB", ""), "found the end of the file"),
    "more CTAs than the grid": (cta([EXIT]) + cta([EXIT]), "no more CTAs than the grid has (1)"),
    "a CTA outside the grid": (cta([EXIT], index="1,0,0"), "within the grid (1,1,1)"),
    "a CTA without index": (cta([EXIT]).replace("thread block = 0,0,0", ""), "'thread block = x,y,z'"),
    "a warp outside the CTA": (cta([EXIT]).replace("warp = 0", "warp = 2"), "a warp of the CTA, at most 1"),
    "a warp that occurs twice": (cta([EXIT], [EXIT]).replace("warp = 1", "warp = 0"), "warp 0 occurs twice"),
    "a warp without its count": (cta([EXIT]).replace("insts = 1\n", ""), "'insts ='"),
    "no instruction at all": (cta([]), "at least one instruction"),
    "a cluster without its rank": (
        cta([EXIT]).replace("0,0,0\n", "0,0,0\ncluster rank = many\n", 1), "'cluster rank = n', found 'cluster rank = many'"
    ),
    "text between CTAs": ("hello\n" + cta([EXIT]), "'#BEGIN_TB', found 'hello'"),
}  # fmt: skip


@pytest.mark.parametrize("name", BODIES)
def test_a_body_that_does_not_add_up_is_refused(tmp_path, name):
    body, expected = BODIES[name]
    assert expected in refusal(tmp_path, small_trace(body, block="(64,1,1)"))


def test_a_launch_that_lacks_one_of_its_ctas_is_refused(tmp_path):
    assert "expected 2 CTAs as the grid says (the file has 1)" in refusal(tmp_path, small_trace(cta([EXIT]), grid="(2,1,1)"))


def test_an_instruction_of_another_warp_is_refused_in_old_versions(tmp_path):
    text = small_trace(cta([f"0 0 0 1 {EXIT}"]), version=2)
    assert "starts with its CTA and warp, 0 0 0 0" in refusal(tmp_path, text)


def test_a_missing_immediate_is_refused_in_version_5(tmp_path):
    assert "a decimal immediate" in refusal(tmp_path, small_trace(cta([EXIT]), version=5))


def test_an_empty_file_a_binary_a_folder_and_a_missing_file_are_refused(tmp_path):
    empty, binary = tmp_path / "empty", tmp_path / "binary"
    empty.write_bytes(b"")
    binary.write_bytes(bytes(range(256)) * 100)
    for path, expected in [
        (empty, "found an empty file"),
        (binary, "expected a header line"),
        (tmp_path, "expected a file, found a folder"),
        (tmp_path / "none", "cannot be opened: No such file or directory"),
    ]:
        with pytest.raises(TraceError, match=expected):
            scan_trace(path)


def test_reading_only_the_header_does_not_need_the_rest(tmp_path):
    text = GOOD[: GOOD.index("#BEGIN_TB") + 10]
    assert read_header(write(tmp_path, text)).kernel_name == "_Z3addPf"


def test_a_reader_that_stops_early_has_seen_whole_ctas_only(tmp_path):
    text = small_trace(cta([EXIT]) + cta([EXIT], index="1,0,0")[:60], grid="(2,1,1)")
    reader = _native.read_ctas(write(tmp_path, text))
    assert next(reader)["index"] == (0, 0, 0)
    with pytest.raises(TraceError):
        next(reader)

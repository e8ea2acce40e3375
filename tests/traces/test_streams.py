"""Counts of a scan, classes of opcodes, and what the stream hash sees and does not see."""

import re

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from slow_reader import read_slowly
from trace_writer import cluster_lines, cta, small_trace, traces, write

from kernelpoint import _native
from kernelpoint.program import UNITS
from kernelpoint.traces import fields_of, scan_trace

SETTINGS = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
LOADS = [
    "0000 ffffffff 1 R1 S2R 0 0",
    "0010 ffffffff 1 R2 LDG.E.SYS 1 R4 4 1 0x7f0000001000 4",
    "0020 00000007 1 R2 LDG.E.64.SYS 1 R4 8 2 0x7f0000002000 640 -320",
    "0010 ffffffff 1 R2 LDG.E.SYS 1 R4 4 1 0x7f0000001800 4",
    "0030 ffffffff 0 STS 2 R2 R3 4 1 0x40 4",
    "0040 ffffffff 0 EXIT 0 0",
]
KERNEL = small_trace(cta(LOADS, LOADS[:3]))


@pytest.fixture
def stream(tmp_path):
    return lambda text: scan_trace(write(tmp_path, text)).stream


def space(opcode):
    return _native.classify_opcode(opcode)["space"]


@SETTINGS
@given(text=traces(wild=False))
def test_work_is_what_counting_by_hand_gives(tmp_path, text):
    work = scan_trace(write(tmp_path, text)).work
    ctas = read_slowly(text)[1]
    instructions = [i for cta in ctas for _, warp in cta.warps for i in warp]
    assert work.instructions == len(instructions) == sum(work.by_unit)
    assert work.thread_instructions == sum(bin(i.mask).count("1") for i in instructions)
    assert (work.ctas, work.warps) == (len(ctas), sum(len(cta.warps) for cta in ctas))
    window = range(0x7FA646000000, 0x7FA646000000 + (16 << 20))
    accesses = [i for i in instructions if i.addresses]
    shared = [i for i in accesses if space(i.opcode) == "shared" or (space(i.opcode) == "generic" and i.addresses[0] in window)]
    in_global = [i for i in accesses if i not in shared and space(i.opcode) != "constant"]
    assert work.shared_accesses == len(shared)
    assert work.global_accesses == len(in_global)
    copies = [i.bulk_copy for i in in_global if i.bulk_copy]
    in_lanes = sum(i.width * len(i.addresses) for i in in_global if not i.bulk_copy)
    assert work.bytes == in_lanes + sum(copy.bytes - copy.bytes_outside for copy in copies)
    assert work.sectors == sum(
        len({s for a in i.addresses for s in range(a >> 5, (a + i.width - 1 >> 5) + 1)}) for i in in_global
    )
    units = [_native.classify_opcode(i.opcode)["unit"] for i in instructions]
    assert work.by_unit == tuple(units.count(unit) for unit in UNITS)


def test_a_scan_counts_sectors_and_lanes(tmp_path):
    work = scan_trace(write(tmp_path, KERNEL)).work
    assert (work.instructions, work.warps, work.ctas) == (9, 2, 1)
    assert work.sectors == (4 + 3 + 4) + (4 + 3)
    assert work.bytes == (128 + 24 + 128) + (128 + 24)
    assert (work.global_accesses, work.shared_accesses) == (5, 1)
    assert work.by_unit[UNITS.index("memory")] == 6


MOVED = {
    "other buffers": lambda text: text.replace("0x7f00000", "0x6a00000"),
    "buffers moved against each other": lambda text: text.replace("0x7f0000002000", "0x7f00aaaa2000"),
    "another name, id and CUDA stream": lambda text: (
        text.replace("_Z3addPf", "other").replace("kernel id = 1", "kernel id = 9").replace("stream id = 0", "stream id = 3")
    ),
    "another notation of the same addresses": lambda text: text.replace(
        "2 0x7f0000002000 640 -320", "0 0x7f0000002000 0x7f0000002280 0x7f0000002140"
    ),
    "tracer version 5 with immediates": lambda text: re.sub(
        r"^(\d{4} .*?) *$", r"\1 7", text.replace("version = 3", "version = 5"), flags=re.M
    ),
}
CHANGED = {
    "another stride": lambda text: text.replace("0x7f0000001000 4", "0x7f0000001000 8"),
    "another alignment": lambda text: text.replace("0x7f0000001000 4", "0x7f0000001004 4"),
    "another delta": lambda text: text.replace("640 -320", "640 -352"),
    "another distance from the previous access": lambda text: text.replace("0x7f0000001800", "0x7f0000001880"),
    "another opcode": lambda text: text.replace("S2R", "CS2R"),
    "another register": lambda text: text.replace("1 R1 S2R", "1 R7 S2R"),
    "another mask": lambda text: text.replace("ffffffff 0 EXIT", "fffffffe 0 EXIT"),
    "another PC": lambda text: text.replace("0040 ffffffff 0 EXIT", "0050 ffffffff 0 EXIT"),
    "another grid": lambda text: (
        text.replace("grid dim = (1,1,1)", "grid dim = (2,1,1)") + cta(LOADS, index="1,0,0")
    ),
    "another block": lambda text: text.replace("(64,1,1)", "(32,2,1)"),
    "more shared memory": lambda text: text.replace("shmem = 0", "shmem = 1024"),
    "more registers": lambda text: text.replace("nregs = 16", "nregs = 24"),
    "an instruction less": lambda text: text.replace("insts = 3", "insts = 2").replace(f"{LOADS[2]} \n\n", "\n"),
}  # fmt: skip


@SETTINGS
@given(text=traces(wild=False), shift=st.integers(1, 2**20))
def test_moving_all_global_memory_by_whole_sectors_keeps_the_stream(tmp_path, text, shift):
    def move(match):
        return f"{match[1]}0x{(int(match[2], 16) + 4096 * shift) % 2**64:x}"

    text = text.replace("LD.E.S16", "LDG.E.S16")
    lines = [re.sub(r"(\s)0x([0-9a-f]+)", move, line) if line[:1].isdigit() else line for line in text.split("\n")]
    before = scan_trace(write(tmp_path, text))
    assert scan_trace(write(tmp_path, "\n".join(lines))).stream == before.stream


TMA = "0000 00000001 0 UTMALDG.2D.MULTICAST 2 UR4 UR8 32 80 1 3 96 32 3 2 0x7f0000001000 0x7f0000001020 0 NoVal"
HOPPER = small_trace(
    cta([TMA, "0010 ffffffff 0 EXIT 0 0 0 NoVal"]).replace("0,0,0\n", "0,0,0\n" + cluster_lines((1, 0, 0), 2), 1),
    version=6,
)
HOPPER_MOVED = {
    "other buffers": lambda text: text.replace("0x7f00000", "0x6a00000"),
    "another notation": lambda text: text.replace("3 2 0x7f0000001000 0x7f0000001020", "4 0x7f0000001000 2 32"),
    "another mbarrier": lambda text: text.replace(" 80 1 3 ", " 88 1 3 "),
    "another cluster of the grid": lambda text: text.replace("cluster id = 0,0,0", "cluster id = 9,0,0"),
    "operand values": lambda text: text.replace("1020 0 NoVal", "1020 0 Val 1 0x5 1 0x6"),
    "a second immediate": lambda text: text.replace("EXIT 0 0 0", "EXIT 0 0 0 0x77"),
}
HOPPER_CHANGED = {
    "other receivers": lambda text: text.replace(" 80 1 3 ", " 80 1 f "),
    "one receiver": lambda text: text.replace(" 80 1 3 ", " 80 0 "),
    "more bytes": lambda text: text.replace(" 96 32 ", " 128 32 "),
    "more bytes out of bounds": lambda text: text.replace(" 96 32 ", " 96 64 "),
    "an address more": lambda text: text.replace("3 2 0x7f0000001000", "3 3 0x7f0000000fe0 0x7f0000001000"),
    "another rank": lambda text: text.replace("rank = 1", "rank = 0"),
    "another place in the cluster": lambda text: text.replace("cluster cta = 1,0,0", "cluster cta = 0,1,0"),
}


EQUAL = [(KERNEL, MOVED), (HOPPER, HOPPER_MOVED)]
DIFFERENT = [(KERNEL, CHANGED), (HOPPER, HOPPER_CHANGED)]


def each_of(tables):
    return [pytest.param(text, change, id=name) for text, changes in tables for name, change in changes.items()]


@pytest.mark.parametrize(("text", "change"), each_of(EQUAL))
def test_the_stream_does_not_depend_on(text, change, stream):
    assert change(text) != text
    assert stream(change(text)) == stream(text)


@pytest.mark.parametrize(("text", "change"), each_of(DIFFERENT))
def test_the_stream_depends_on(text, change, stream):
    assert change(text) != text
    assert stream(change(text)) != stream(text)


def test_a_bulk_copy_is_one_access_of_its_bytes_inside_the_tensor(tmp_path):
    work = scan_trace(write(tmp_path, HOPPER)).work
    assert (work.global_accesses, work.sectors, work.bytes, work.thread_instructions) == (1, 2, 64, 33)


def test_unknown_opcodes_are_counted_by_name_and_not_refused(tmp_path):
    body = ["0000 ffffffff 0 FROB.X 0 0", "0010 ffffffff 0 FROB.X 0 0", "0020 1 0 ZAP 1 R1 0", LOADS[-1]]
    scan = scan_trace(write(tmp_path, small_trace(cta(body))))
    assert scan.unknown_opcodes == {"FROB.X": 2, "ZAP": 1}
    assert scan.work.by_unit[UNITS.index("other")] == 3


def test_store_data_of_a_fork_is_left_out_and_counted(tmp_path):
    store = "0000 3 0 STG.E.64.SYS 2 R2 R4 8 1 0x7f0000001000 8 0"
    data = "STORE_DATA F64 1 REG0:T0:1.5 T1:-2.5e-07  "
    plain, fork = (small_trace(cta([line, "0010 ffffffff 0 EXIT 0 0 0"]), version=5) for line in (store, f"{store} {data}"))
    scans = [scan_trace(write(tmp_path, text)) for text in (plain, fork)]
    assert [scan.store_data_left_out for scan in scans] == [0, 1]
    assert scans[0].stream == scans[1].stream and fields_of(scans[0].work) == fields_of(scans[1].work)


def test_streams_of_many_small_changes_do_not_collide(tmp_path):
    masks = np.random.default_rng(1).integers(0, 2**32, 500)
    texts = [KERNEL.replace("ffffffff 0 EXIT", f"{mask:08x} 0 EXIT") for mask in set(masks.tolist())]
    assert len({scan_trace(write(tmp_path, text)).stream for text in texts}) == len(texts)


EXPECTED = {
    "IMAD.WIDE.U32": {"unit": "integer", "space": "none"},
    "ULOP3.LUT": {"unit": "integer"},
    "HFMA2.MMA": {"unit": "single_precision"},
    "DFMA": {"unit": "double_precision"},
    "MUFU.EX2": {"unit": "special_function"},
    "HMMA.16816.F32.BF16": {"unit": "tensor"},
    "HGMMA.64x256x16.F32": {"unit": "tensor"},
    "S2R": {"unit": "move"},
    "BRA.U": {"unit": "control", "is_branch": True},
    "EXIT": {"unit": "control", "is_exit": True, "is_branch": False},
    "BAR.SYNC.DEFER_BLOCKING": {"unit": "barrier", "is_barrier": True},
    "LDG.E.128.SYS": {"unit": "memory", "space": "global", "is_load": True, "is_store": False, "is_atomic": False},
    "LDGSTS.E.BYPASS.128": {"unit": "memory", "space": "global", "is_load": True},
    "STS.64": {"unit": "memory", "space": "shared", "is_store": True, "is_load": False},
    "LDSM.16.M88.4": {"space": "shared", "is_load": True},
    "STL": {"space": "local", "is_store": True},
    "LD.E": {"space": "generic", "is_load": True},
    "ULDC.64": {"space": "constant", "is_load": True},
    "ATOMG.E.ADD.STRONG.GPU": {"space": "global", "is_atomic": True, "is_load": True, "is_store": True},
    "RED.E.ADD.F32.FTZ.RN": {"space": "generic", "is_atomic": True, "is_store": True, "is_load": False},
    "TEX.SCR.LL": {"space": "texture", "is_load": True},
    "UTMALDG.2D": {"space": "global", "is_load": True, "is_bulk_copy": True},
    "UTMASTG.3D": {"space": "global", "is_load": False, "is_store": True, "is_bulk_copy": True},
    "UTMAREDG.2D.ADD": {"space": "global", "is_atomic": True, "is_store": True, "is_bulk_copy": True},
    "UBLKCP.S.G": {"space": "global", "is_load": True, "is_store": False, "is_bulk_copy": True},
    "UBLKCP.G.S": {"space": "global", "is_load": False, "is_store": True, "is_bulk_copy": True},
    "UTMACMDFLUSH": {"unit": "barrier", "is_bulk_copy": False},
    "SYNCS.PHASECHK.TRANS64.TRYWAIT": {"unit": "barrier", "space": "shared"},
    "UCGABAR_WAIT": {"unit": "barrier", "is_barrier": True},
    "QGMMA.64x64x32.F32.E4M3.E4M3": {"unit": "tensor"},
    "UTCHMMA": {"unit": "tensor"},
    "UTCBAR.MULTICAST": {"unit": "barrier", "space": "shared"},
    "LDTM.x32": {"unit": "memory", "space": "shared", "is_load": True},
    "QMMA.16832.F32.E4M3.E4M3": {"unit": "tensor"},
    "LDCU.64": {"unit": "memory", "space": "constant", "is_load": True},
    "FFMA2": {"unit": "single_precision"},
    "NO_SUCH_OPCODE.X": {"unit": "other", "space": "none", "is_load": False},
}


@pytest.mark.parametrize("text", EXPECTED)
def test_an_opcode_has_its_unit_and_space(text):
    classified = _native.classify_opcode(text)
    assert {key: classified[key] for key in EXPECTED[text]} == EXPECTED[text]

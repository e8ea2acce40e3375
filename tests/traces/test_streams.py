"""What a scan counts, and what the stream hash sees and does not see."""

import re

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from slow_reader import read_slowly
from trace_writer import cta, small_trace, traces, write

from kernelpoint import _native
from kernelpoint.traces import UNITS, scan_trace

SETTINGS = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
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
    shared = [
        i
        for i in accesses
        if space(i.opcode) == "shared" or (space(i.opcode) == "generic" and i.addresses[0] in window)
    ]
    in_global = [i for i in accesses if i not in shared and space(i.opcode) != "constant"]
    assert work.shared_accesses == len(shared)
    assert work.global_accesses == len(in_global)
    assert work.bytes == sum(i.width * len(i.addresses) for i in in_global)
    assert work.sectors == sum(len({b >> 5 for a in i.addresses for b in range(a, a + i.width)}) for i in in_global)
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
        text.replace("_Z3addPf", "other")
        .replace("kernel id = 1", "kernel id = 9")
        .replace("stream id = 0", "stream id = 3")
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


@pytest.mark.parametrize("name", MOVED)
def test_the_stream_is_the_same_with(name, stream):
    changed = MOVED[name](KERNEL)
    assert changed != KERNEL
    assert stream(changed) == stream(KERNEL)


@pytest.mark.parametrize("name", CHANGED)
def test_the_stream_differs_with(name, stream):
    changed = CHANGED[name](KERNEL)
    assert changed != KERNEL
    assert stream(changed) != stream(KERNEL)


@SETTINGS
@given(text=traces(wild=False), shift=st.integers(1, 2**20))
def test_moving_all_global_memory_by_whole_sectors_keeps_the_stream(tmp_path, text, shift):
    def move(match):
        return f"{match[1]}0x{(int(match[2], 16) + 4096 * shift) % 2**64:x}"

    text = text.replace("LD.E.S16", "LDG.E.S16")
    lines = [re.sub(r"(\s)0x([0-9a-f]+)", move, line) if line[:1].isdigit() else line for line in text.split("\n")]
    before = scan_trace(write(tmp_path, text))
    assert scan_trace(write(tmp_path, "\n".join(lines))).stream == before.stream


def test_streams_of_many_small_changes_do_not_collide(tmp_path):
    masks = np.random.default_rng(1).integers(0, 2**32, 500)
    texts = [KERNEL.replace("ffffffff 0 EXIT", f"{mask:08x} 0 EXIT") for mask in set(masks.tolist())]
    assert len({scan_trace(write(tmp_path, text)).stream for text in texts}) == len(texts)

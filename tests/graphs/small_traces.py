"""Small trace files for tests, and a hypothesis strategy that draws them."""

from pathlib import Path

from hypothesis import strategies as st
from trace_writer import cta, small_trace

BASE = 0x7F6000000000

Warp = list[str]

LOAD = "0000 ffffffff 1 R1 LDG.E.SYS 1 R4 4 1 0x7f6000000000 4"
ADD = "0010 ffffffff 1 R2 IADD3 3 R1 R4 R255 0 "
EXIT = "0020 ffffffff 0 EXIT 0 0 "


def trace_text(ctas: list[list[Warp]], order: list[int] | None = None, version: int = 3) -> str:
    """A trace whose CTA i has the warps ctas[i], written in the given order of CTAs."""
    text = "".join(cta(*ctas[i], index=f"{i},0,0") for i in (range(len(ctas)) if order is None else order))
    threads = 32 * max(len(warps) for warps in ctas)
    return small_trace(text, f"({len(ctas)},1,1)", f"({threads},1,1)", version, **{"kernel name": "test_kernel"})


def write_trace(folder: Path, ctas: list[list[Warp]], name: str = "kernel-1.traceg", **options) -> Path:
    path = folder / name
    path.write_text(trace_text(ctas, **options))
    return path


REGISTERS = ["R0", "R1", "R2", "R3", "R10", "R255"]
PLAIN = ["IADD3", "FFMA", "MOV", "ISETP.GE.U32.AND", "BRA", "EXIT", "BAR.SYNC", "MUFU.RCP", "HMMA.1688.F32", "XYZZY.2"]
MEMORY = ["LDG.E.SYS", "STG.E.128.SYS", "LDS.U.64", "STS", "ATOMG.ADD", "LDG.E.U8.SYS", "LDL"]


@st.composite
def addresses(draw: st.DrawFn, lanes: int, base: int) -> str:
    mode = draw(st.sampled_from([0, 1, 2]))
    first = base + 4 * draw(st.integers(0, 64))
    if mode == 1:
        return f"1 0x{first:x} {draw(st.sampled_from([-8, 0, 1, 4, 16, 128]))}"
    steps = draw(st.lists(st.sampled_from([-32, 0, 4, 8, 1000]), min_size=lanes - 1, max_size=lanes - 1))
    if mode == 2:
        return " ".join([f"2 0x{first:x}", *map(str, steps)])
    values = [first + sum(steps[:i]) for i in range(lanes)]
    return " ".join(["0", *(f"0x{value:x}" for value in values)])


@st.composite
def instruction(draw: st.DrawFn, pc: int, base: int) -> str:
    lanes = draw(st.sampled_from([1, 2, 31, 32]))
    mask = (1 << lanes) - 1
    sources = draw(st.lists(st.sampled_from(REGISTERS), max_size=4))
    destination = draw(st.sampled_from(["0", "1 R1", "1 R2", "1 R255"]))
    head = f"{pc:04x} {mask:08x} {destination} "
    tail = f" {len(sources)} " + "".join(f"{register} " for register in sources)
    if draw(st.booleans()):
        return head + draw(st.sampled_from(PLAIN)) + tail + "0 "
    return head + draw(st.sampled_from(MEMORY)) + tail + "4 " + draw(addresses(lanes, base))


@st.composite
def warps(draw: st.DrawFn, base: int = BASE) -> Warp:
    pcs = draw(st.lists(st.integers(0, 6), max_size=8))
    return [draw(instruction(16 * pc, base)) for pc in pcs]


@st.composite
def launches(draw: st.DrawFn) -> list[list[Warp]]:
    """CTAs whose warps come from a small pool, so that equal ones are common."""
    pool = draw(st.lists(warps(), min_size=1, max_size=4))
    count = draw(st.integers(1, 3))
    warps_of_cta = st.lists(st.sampled_from(pool), min_size=count, max_size=count)
    result = draw(st.lists(warps_of_cta, min_size=1, max_size=6))
    result[0][0] = result[0][0] or ["0000 ffffffff 0 EXIT 0 0 "]  # a launch executes something
    return result


OPERANDS = ["0x0", "0x1", "0x7", "0xffffffff", "0x3f800000", "0x7f800000", "0x7fc00001", "0x7f6000000040", "0x80000000"]


def operand_count(line: str) -> int:
    """Destinations and sources of a line of tracer version 3."""
    words = line.split()
    destinations = int(words[2])
    return destinations + int(words[4 + destinations])


@st.composite
def valued(draw: st.DrawFn, ctas: list[list[Warp]]) -> list[list[Warp]]:
    """The same launch in tracer version 6, every line with operand values of its own or without any."""

    def with_values(line: str) -> str:
        if draw(st.integers(0, 4)) == 0:
            return f"{line} 0 NoVal"
        fields = []
        for _ in range(operand_count(line)):
            count = draw(st.sampled_from([1, 32]))
            seed = draw(st.integers(0, len(OPERANDS) - 1))
            values = [OPERANDS[(seed + lane * lane) % len(OPERANDS)] for lane in range(count)]
            fields.append(" ".join([str(count), *values]))
        return " ".join([line, "0", "Val", *fields])

    return [[[with_values(line) for line in warp] for warp in warps] for warps in ctas]


@st.composite
def valued_launches(draw: st.DrawFn) -> list[list[Warp]]:
    """Launches in tracer version 6 with operand values."""
    return draw(valued(draw(launches())))

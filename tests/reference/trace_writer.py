"""Random valid traces in every tracer version and address mode."""

import lzma
import re
from itertools import pairwise
from pathlib import Path

from hypothesis import strategies as st

HEADER = """-kernel name = {name}
-kernel id = {id}
-grid dim = ({grid[0]},{grid[1]},{grid[2]})
-block dim = ({block[0]},{block[1]},{block[2]})
-shmem = {shared}
-nregs = {registers}
-binary version = 70
-cuda stream id = {stream}
-shmem base_addr = 0x00007fa646000000
-local mem base_addr = 0x00007fa644000000
-nvbit version = 1.5.3
-accelsim tracer version = {version}
{lineinfo}
#traces format = [line_num] PC mask dest_num [reg_dests] opcode src_num [reg_srcs] mem_width [mode] [addresses] [imm]


"""
REGISTERS = st.one_of(
    st.integers(0, 255).map("R{}".format), st.integers(0, 63).map("UR{}".format), st.integers(0, 7).map("P{}".format)
)
PLAIN = ["MOV", "IMAD.WIDE.U32", "FFMA", "HMMA.16816.F32", "EXIT", "BAR.SYNC", "NEW_OPCODE.X"]
GMMA = ["HGMMA.64x128x16.F32", "QGMMA.64x256x32.F32.E4M3.E4M3"]
BULK = ["UTMALDG.2D.MULTICAST", "UTMASTG.3D", "UTMAPF.2D", "UTMAREDG.2D.ADD", "UBLKCP.S.G", "UBLKCP.G.S", "UBLKRED.G.S"]
MEMORY = ["LDG.E.SYS", "LDG.E.64.SYS", "LDG.E.U8.SYS", "STG.E.128", "LDS.U.128", "LD.E.S16", "ATOMG.E.ADD", "LDC.64"]
SMALL = st.integers(-(2**31), 2**31 - 1)


@st.composite
def instruction(draw, version: int, wild: bool) -> tuple[int, str]:
    """(PC, rest of the line from the mask on)."""
    kind = draw(st.sampled_from(["plain", "memory", "memory", "bulk", "gmma"] if version >= 6 else ["plain", "memory"]))
    mask = draw(st.one_of(st.sampled_from([0, 1, 0xFFFFFFFF, 0x80000000, 0x0FF0]), st.integers(0, 2**32 - 1)))
    opcode = draw(st.sampled_from({"plain": PLAIN, "memory": MEMORY, "bulk": BULK, "gmma": GMMA}[kind]))
    destinations = draw(st.lists(REGISTERS, max_size=2))
    sources = draw(st.lists(REGISTERS, max_size=5))
    words = [f"{mask:08x}", str(len(destinations)), *destinations, opcode, str(len(sources)), *sources]
    if kind == "gmma":
        words.append(str(draw(st.integers(0, 1))))
    if kind == "memory":
        words += ["4", *draw(addresses(mask, wild))]
    elif kind == "bulk":
        words += [str(draw(st.sampled_from([0, 16, 32, 128, 10485]))), *draw(bulk_copy(wild))]
    else:
        words.append("0")
    if version >= 5:
        words.append(str(draw(SMALL)))
    if version >= 6:
        words += draw(st.sampled_from([[], ["0"], ["0x1f"], ["-3"]]))
        words += draw(values(len(destinations) + len(sources)))
    elif version == 5 and draw(st.integers(0, 9)) == 0:
        words += ["STORE_DATA", "F32", "1", "REG0:T0:1.5", "T1:-2e-07"]
    return 16 * draw(st.integers(0, 40)), " ".join(words)


@st.composite
def addresses(draw, mask: int, wild: bool) -> list[str]:
    lanes = bin(mask).count("1")
    contiguous = "0" not in f"{mask:b}".strip("0")
    mode = draw(st.sampled_from([0, 1, 2] if contiguous else [0, 2]))
    if mode == 1:
        return ["1", f"0x{draw(st.integers(2**40, 2**56) if wild else st.integers(2**47, 2**48)):x}", str(draw(SMALL))]
    listed = draw(st.lists(st.integers(0, 2**57 - 1 if wild else 2**49), min_size=lanes, max_size=lanes))
    if mode == 0:
        return ["0", *(f"0x{a:016x}" for a in listed)]
    return ["2", f"0x{(listed or [0])[0]:x}", *(str(b - a) for a, b in pairwise(listed))]


@st.composite
def bulk_copy(draw, wild: bool) -> list[str]:
    """The fields of a TMA instruction behind its width."""
    words = [f"{draw(st.integers(0, 2**32 - 1)):x}"]
    words += draw(st.sampled_from([["0"], ["1", "3"], ["1", "ffff"]]))
    total = draw(st.integers(0, 2**18))
    words += [str(total), str(draw(st.integers(0, total)))]
    count = draw(st.sampled_from([0, 1, 2, 5, 40, 100]))
    base = draw(st.integers(2**48, 2**56) if wild else st.integers(2**47, 2**48))
    if draw(st.booleans()):
        step = draw(st.integers(0, 2**40))
        return [*words, "3", str(count), *(f"0x{base + i * step:x}" for i in range(count))]
    deltas = draw(st.lists(st.integers(-(2**40), 2**40), min_size=max(count - 1, 0), max_size=max(count - 1, 0)))
    return [*words, "4", f"0x{base:x}", str(count), *map(str, deltas)]


@st.composite
def values(draw, operands: int) -> list[str]:
    """'NoVal', or 'Val' and one or 32 values for each operand."""
    if draw(st.booleans()):
        return ["NoVal"]
    words = ["Val"]
    for _ in range(operands):
        count = draw(st.sampled_from([1, 1, 32]))
        first = draw(st.integers(0, 2**64 - 1))
        words += [str(count), *(f"0x{(first * (i + 1)) % 2**64:x}" for i in range(count))]
    return words


def cluster_lines(index: tuple[int, int, int], size: int) -> str:
    """The lines that version 6 writes behind a CTA's index, for clusters of `size` CTAs along x."""
    x, y, z = index
    return f"cluster id = {x // size},{y},{z}\ncluster cta = {x % size},0,0\ncluster rank = {x % size}\n"


@st.composite
def traces(draw, wild: bool = True, version: int | None = None, newest: int = 6) -> str:
    """Text of a trace with one to four CTAs; unless `wild`, addresses stay inside the 49 bits that GPUs have."""
    version = draw(st.integers(1, newest)) if version is None else version
    line_numbers = version >= 4 and draw(st.booleans())
    grid = draw(st.sampled_from([(1, 1, 1), (2, 1, 1), (1, 2, 2)]))
    block = draw(st.sampled_from([(32, 1, 1), (33, 1, 1), (16, 4, 2)]))
    text = HEADER.format(
        name=draw(st.sampled_from(["_Z3addPf", "void f<int>(float, a = b)"])),
        id=draw(st.integers(1, 10**6)), grid=grid, block=block, shared=draw(st.integers(0, 10**5)),
        registers=draw(st.integers(0, 255)), stream=draw(st.integers(0, 2**40)), version=version,
        lineinfo=f"-enable lineinfo = {int(line_numbers)}\n" if version >= 4 else "",
    )  # fmt: skip
    indices = [(x, y, z) for z in range(grid[2]) for y in range(grid[1]) for x in range(grid[0])]
    cluster = draw(st.sampled_from([1, grid[0]]))
    warps = (block[0] * block[1] * block[2] + 31) // 32
    for number, index in enumerate(indices):
        text += "#BEGIN_TB\n\nthread block = {},{},{}\n".format(*index)
        text += cluster_lines(index, cluster) if version >= 6 else ""
        chosen = draw(st.lists(st.integers(0, warps - 1), unique=True, min_size=number == 0, max_size=warps))
        for warp in chosen:
            body = draw(st.lists(instruction(version, wild), min_size=number == 0, max_size=5))
            text += f"warp = {warp}\ninsts = {len(body)}\n"
            for line, (pc, rest) in enumerate(body):
                prefix = "{} {} {} {} ".format(*index, warp) if version < 3 else ""
                text += prefix + (f"{line + 1} " if line_numbers else "") + f"{pc:04x} {rest} \n"
            text += "\n"
        text += "#END_TB\n\n"
    return text


def write(folder: Path, text: str, form: str = "plain") -> str:
    """Write a trace plain or compressed; the name says nothing about the form on purpose."""
    data = text.encode()
    if form == "xz":
        data = lzma.compress(data)
    elif form == "zst":
        import zstandard

        data = zstandard.compress(data)
    path = folder / "kernel-1.traceg"
    path.write_bytes(data)
    return str(path)


def small_trace(body: str, grid: str = "(1,1,1)", block: str = "", version: int = 3, **fields: str) -> str:
    """A trace around the text that follows its header. By default a block has the warps that the text names."""
    warps = {int(number) for number in re.findall(r"^warp = (\d{1,2})$", body, re.MULTILINE)}
    block = block or f"({32 * min(1 + max(warps, default=1), 32)},1,1)"
    text = HEADER.format(
        name="_Z3addPf", id=1, grid=(1, 1, 1), block=(64, 1, 1), shared=0, registers=16, stream=0, version=version,
        lineinfo="",
    )  # fmt: skip
    text = text.replace("grid dim = (1,1,1)", f"grid dim = {grid}").replace("block dim = (64,1,1)", f"block dim = {block}")
    for key, value in fields.items():
        old = next(line for line in text.split("\n") if line.startswith(f"-{key} ="))
        text = text.replace(old, f"-{key} = {value}")
    return text + body


def numbered(text: str, name: str) -> str:
    """The trace as a tracer writes it to a file of this name: that of kernel-N.traceg is of launch N."""
    number = re.match(r"kernel-(\d+)", name)
    return text if number is None else re.sub(r"(?m)^-kernel id = \d+$", f"-kernel id = {number[1]}", text, count=1)


def cta(*warps: list[str], index: str = "0,0,0") -> str:
    """A CTA whose warp i has the given instruction lines."""
    text = f"#BEGIN_TB\n\nthread block = {index}\n\n"
    for number, lines in enumerate(warps):
        text += f"warp = {number}\ninsts = {len(lines)}\n" + "".join(f"{line} \n" for line in lines) + "\n"
    return text + "#END_TB\n\n"

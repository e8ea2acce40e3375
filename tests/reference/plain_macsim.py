"""MacSim's layout as its tracer writes it, written and read as plainly as can be: the oracle for both directions."""

import gzip
import struct
from collections.abc import Sequence
from pathlib import Path

from slow_reader import SlowCta, SlowInstruction

RECORD = struct.Struct("<BBBBBB4H4HBxIIQQQBxHBBBx")
FIELDS = [
    *("opcode", "is_fp", "is_load", "cf", "sources", "destinations", "src0", "src1", "src2", "src3"),
    *("dst0", "dst1", "dst2", "dst3", "size", "mask", "taken", "pc", "target", "address"),
    *("access_size", "barrier", "space", "level", "operator"),
]
# The opcodes that random traces use (trace_writer.PLAIN and MEMORY), and what is written for one that MacSim lacks.
NUMBERS = {
    "MOV": 60, "IMAD": 36, "FFMA": 4, "HMMA": 17, "EXIT": 139, "BAR": 151, "NEW_OPCODE": 156, "IADD3": 32, "BRA": 132,
    "LDG": 73, "STG": 78, "LDS": 75, "LD": 71, "ATOMG": 85, "LDC": 72, "LDGSTS": 73,
    "S2R": 159, "ISETP": 43, "DADD": 22, "DMUL": 24,
}  # fmt: skip
NAMES = {73: "LDG", 156: "NOP"} | {number: name for name, number in NUMBERS.items() if number not in (73, 156)}
FLOATING = {4, 17}
LOADS, STORES, ATOMICS = {71, 72, 73, 75}, {78}, {85}
SPACES = {"LDG": 3, "STG": 3, "LDS": 4, "LD": 2, "ATOMG": 3, "LDC": 5, "LDGSTS": 3}
CONTROL = {"BRA": 2}
RZ = 255


def read_records(path: Path) -> list[dict[str, int]]:
    content = path.read_bytes()
    content = gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
    assert len(content) % 64 == 0
    return [dict(zip(FIELDS, values, strict=True)) for values in RECORD.iter_unpack(content)]


def pack(records: list[dict[str, int]]) -> bytes:
    return b"".join(RECORD.pack(*(record[name] for name in FIELDS)) for record in records)


def record(**values: int) -> dict[str, int]:
    return {**dict.fromkeys(FIELDS, 0), "size": 16, "mask": 0xFFFFFFFF, "access_size": 4, **values}


START = 0x7F00_0000_1000
BODY = [
    record(opcode=NUMBERS["MOV"], pc=START, destinations=1, dst0=4),
    record(opcode=NUMBERS["LDG"], is_load=1, pc=START + 16, destinations=1, dst0=2, address=0x1000, access_size=16),
    record(opcode=NUMBERS["LDG"], is_load=1, is_fp=1, pc=START + 16, address=0x1080, destinations=1, access_size=8),
    record(opcode=NUMBERS["EXIT"], pc=START + 32),
]


def write_launch(
    folder: Path,
    warps: Sequence[int] = (0, 1, 65536, 65537),
    body: list[dict[str, int]] = BODY,
    names: str | None = None,
) -> Path:
    """A launch of warps that all execute `body`, and the names beside its folder: its trace.txt."""
    folder.mkdir(parents=True)
    for warp in warps:
        (folder / f"trace_{warp}.raw").write_bytes(gzip.compress(pack(body)))
    (folder / "trace_info.txt").write_text("".join(f"{warp} {len(body)}\n" for warp in warps))
    (folder / "trace.txt").write_text(f"nvbit\n14\n16\n{len(warps)}\n" + "".join(f"{warp} 0\n" for warp in warps))
    if names is not None:
        (folder.parent / "kernel_names.txt").write_text(names)
    return folder / "trace.txt"


def records_of(instructions: tuple[SlowInstruction, ...], code: int, threads: int) -> list[dict[str, int]]:
    """MacSim's records of a warp of an Accel-Sim trace."""
    result: list[dict[str, int]] = []
    for i in instructions:
        if i.mask == 0:
            continue
        base = i.opcode.split(".")[0]
        number, pc = NUMBERS[base], code + i.pc
        if result and result[-1]["cf"] == 2:
            result[-1]["target"] = pc
        sources = (i.sources[1:] if i.width else i.sources)[:4]
        registers = {f"src{n}": r & 255 for n, r in enumerate(sources)}
        registers |= {f"dst{n}": r & 255 for n, r in enumerate(i.destinations)}
        fields = record(
            opcode=number, is_fp=number in FLOATING, is_load=number in LOADS, cf=CONTROL.get(base, 0), sources=len(sources),
            destinations=len(i.destinations), mask=i.mask, pc=pc, target=pc + 16, access_size=i.width or 4,
            barrier=threads if base == "BAR" else 0, space=SPACES.get(base, 0), **registers,
        )  # fmt: skip
        sectors = sorted({a // 128 * 128 for a in i.addresses}) if number in LOADS | STORES else []
        first = {"address": sectors[0]} if sectors else {}
        if len(sectors) > 1:
            first["access_size"] = min(fields["access_size"] * len(sectors), 255)
        result.append(fields | first)
        result += [fields | {"is_fp": 1, "address": sector} for sector in sectors[1:]]
    return result or [record(opcode=139, mask=0, pc=code, target=code + 16)]


def read_launch_plainly(folder: Path, grid: tuple[int, int, int]) -> list[SlowCta]:
    """A launch as the fast reader shall see it; opcodes as in NAMES."""
    words = (folder / "trace.txt").read_text().split()
    assert words[:2] == ["nvbit", "14"] and int(words[3]) == len(words[4:]) // 2
    ids = sorted(map(int, words[4::2]))
    start = read_records(folder / f"trace_{ids[0]}.raw")[0]["pc"]
    ctas: dict[int, list] = {}
    for number in ids:
        warp = tuple(_instructions(read_records(folder / f"trace_{number}.raw"), start))
        ctas.setdefault(number >> 16, []).append((number & 65535, warp))
    x, y, _ = grid
    return [SlowCta((n % x, n // x % y, n // x // y), tuple(warps)) for n, warps in ctas.items()]


def _instructions(records: list[dict[str, int]], start: int) -> list[SlowInstruction]:
    groups: list[list[dict[str, int]]] = []
    for fields in records:
        is_child = fields["opcode"] in LOADS | STORES and fields["is_fp"]
        groups[-1].append(fields) if is_child else groups.append([fields])
    return [_instruction(group, start) for group in groups]


def _instruction(group: list[dict[str, int]], start: int) -> SlowInstruction:
    first = group[0]
    sources = tuple(first[f"src{n}"] for n in range(first["sources"]))
    destinations = tuple(first[f"dst{n}"] for n in range(min(first["destinations"], 2)))
    width, addresses = 0, ()
    nowhere = first["opcode"] == NUMBERS["LDC"] and first["address"] == 0 and len(group) == 1
    if first["opcode"] in LOADS | STORES | ATOMICS and not nowhere:
        width, sources = group[-1]["access_size"], (RZ, *sources)
    if width and first["opcode"] not in ATOMICS:
        addresses = spread([each["address"] for each in group], first["mask"].bit_count(), width)
    return SlowInstruction(
        (first["pc"] - start) % 2**32, first["mask"], destinations, NAMES[first["opcode"]], sources, width, tuple(addresses)
    )


def spread(sectors: list[int], lanes: int, width: int) -> list[int]:
    """Lanes in order, evenly over the sectors, side by side within each."""
    where = [lane * len(sectors) // lanes for lane in range(lanes)]
    return [(sectors[s] + (lane - where.index(s)) * width % 128) % 2**64 for lane, s in enumerate(where)]

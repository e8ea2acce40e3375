"""Accel-Sim's trace format as its description says, read as plainly as can be: the oracle for the fast reader."""

from __future__ import annotations

from dataclasses import dataclass

FILES = {"R": 0, "UR": 1, "P": 2, "UP": 3}


@dataclass(frozen=True)
class SlowInstruction:
    pc: int
    mask: int
    destinations: tuple[int, ...]
    opcode: str
    sources: tuple[int, ...]
    width: int
    addresses: tuple[int, ...]


@dataclass(frozen=True)
class SlowCta:
    index: tuple[int, int, int]
    warps: tuple[tuple[int, tuple[SlowInstruction, ...]], ...]


def read_slowly(text: str) -> tuple[dict[str, str], list[SlowCta]]:
    """Header fields and CTAs of a valid trace."""
    header: dict[str, str] = {}
    lines = [line.strip() for line in text.split("\n")]
    for line in lines:
        if line.startswith("#"):
            break
        if line.startswith("-"):
            key, value = line[1:].split("=", 1)
            header[key.strip()] = value.strip()
    ctas = []
    for block in text.split("#BEGIN_TB")[1:]:
        rows = [row for row in block.split("#END_TB")[0].split("\n") if row.strip()]
        ctas.append(read_cta(rows, int(header["accelsim tracer version"]), header.get("enable lineinfo") == "1"))
    return header, ctas


def read_cta(rows: list[str], version: int, line_numbers: bool) -> SlowCta:
    x, y, z = (int(part) for part in rows[0].split("=")[1].split(","))
    warps, at = [], 1
    while at < len(rows):
        warp, count = int(rows[at].split("=")[1]), int(rows[at + 1].split("=")[1])
        body = rows[at + 2 : at + 2 + count]
        warps.append((warp, tuple(read_instruction(row.split(), version, line_numbers) for row in body)))
        at += 2 + count
    return SlowCta((x, y, z), tuple(warps))


def read_instruction(words: list[str], version: int, line_numbers: bool) -> SlowInstruction:
    if version < 3:
        words = words[4:]
    if line_numbers:
        words = words[1:]
    pc, mask, count, *words = int(words[0], 16), int(words[1], 16), int(words[2]), *words[3:]
    destinations, words = words[:count], words[count:]
    opcode, count, words = words[0], int(words[1]), words[2:]
    sources, words = words[:count], words[count:]
    traced_width, words = int(words[0]), words[1:]
    lanes = mask.bit_count() if hasattr(mask, "bit_count") else bin(mask).count("1")
    width, addresses = 0, []
    if traced_width:
        width = width_of(opcode)
        mode, words = int(words[0]), words[1:]
        if mode == 0:
            addresses = [int(word, 16) for word in words[:lanes]]
        elif mode == 1:
            addresses = [int(words[0], 16) + lane * int(words[1]) for lane in range(lanes)]
        elif lanes:
            addresses = [int(words[0], 16)]
            for word in words[1:lanes]:
                addresses.append(addresses[-1] + int(word))
    registers = [tuple(register(word) for word in part) for part in (destinations, sources)]
    return SlowInstruction(pc, mask, registers[0], opcode, registers[1], width, tuple(a % 2**64 for a in addresses))


def register(word: str) -> int:
    letters = word.rstrip("0123456789")
    return FILES[letters] << 8 | int(word[len(letters) :])


def width_of(opcode: str) -> int:
    for part in opcode.split("."):
        digits = part[1:] if part.startswith("U") else part
        if digits.isdigit():
            return max(1, int(digits) // 8)
    return 4

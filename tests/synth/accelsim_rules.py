"""The rules of Accel-Sim's trace reader and of the hardware behind a trace, checked line by line.

Written from the format's description alone: it shares no code with the writer or with the project's own reader.
`Trace(path)` parses and checks; what breaks a rule raises `RuleBroken` with file and line.
"""

import re
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

HEADER = (
    "kernel name", "kernel id", "grid dim", "block dim", "shmem", "nregs", "binary version", "cuda stream id",
    "shmem base_addr", "local mem base_addr", "nvbit version", "accelsim tracer version", "enable lineinfo",
)  # fmt: skip
GLOBAL = {"LDG", "STG", "RED", "ATOMG", "ATOM"}
SHARED = {"LDS", "STS", "ATOMS"}
# Opcodes of Volta that Accel-Sim's table knows and that the families use.
OTHERS = {
    "FADD", "FFMA", "FMUL", "FMNMX", "FSEL", "FSETP", "MUFU", "HADD2", "HFMA2", "HMUL2", "HMMA", "DADD", "DFMA",
    "DMUL", "IADD3", "IMAD", "IMNMX", "ISETP", "LEA", "LOP3", "SHF", "MOV", "SEL", "SHFL", "S2R", "CS2R", "BAR",
    "BRA", "BSSY", "BSYNC", "EXIT", "F2F", "I2F", "F2I", "POPC", "PRMT", "VOTE", "NOP", "LDC", "WARPSYNC",
}  # fmt: skip
RZ = "R255"


class RuleBroken(AssertionError):
    """A trace that Accel-Sim would misread or that no GPU could have produced."""


@dataclass
class Instruction:
    line: int
    pc: int
    mask: int
    destination: str | None
    opcode: str
    sources: tuple[str, ...]
    width: int = 0
    mode: int = -1
    addresses: list[int] = field(default_factory=list)

    @property
    def base(self) -> str:
        return self.opcode.split(".")[0]


def lanes(mask: int) -> list[int]:
    return [lane for lane in range(32) if mask >> lane & 1]


def width_from_suffix(opcode: str) -> int:
    for part in opcode.split(".")[1:]:
        if re.fullmatch(r"U?(8|16|32|64|128)", part):
            return int(part.lstrip("U")) // 8
    return 4


def mode_of_tracer(mask: int, addresses: list[int]) -> int:
    """The compression a tracer picks: base and stride for contiguous lanes, otherwise deltas."""
    active = lanes(mask)
    if not active:
        return 1
    contiguous = len(active) > 1 and active[-1] - active[0] == len(active) - 1
    strides = {b - a for a, b in pairwise(addresses)}
    if contiguous and len(strides) == 1 and abs(next(iter(strides))) < 2**31:
        return 1
    return 0 if any(abs(s) >= 2**31 for s in strides) else 2


class Trace:
    """One trace file; `ctas` maps (x, y, z) to the instruction lists of its warps."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines = path.read_text(encoding="ascii").split("\n")
        self.at = 0
        self.header = self._header()
        self.version = int(self.header["accelsim tracer version"])
        self.grid, self.block = (self._dimensions(self.header[key]) for key in ("grid dim", "block dim"))
        self.threads = self.block[0] * self.block[1] * self.block[2]
        self.ctas: dict[tuple[int, int, int], list[list[Instruction]]] = {}
        while self._next_content("#BEGIN_TB"):
            self._cta()
        self._whole_grid()
        self._registers()

    # Reading

    def need(self, condition: object, message: str, line: int | None = None) -> None:
        if not condition:
            number = self.at if line is None else line
            raise RuleBroken(f"{self.path}:{number + 1}: {message}: {self.lines[min(number, len(self.lines) - 1)]!r}")

    def _header(self) -> dict[str, str]:
        header = {}
        while not self.lines[self.at].startswith("#"):
            line = self.lines[self.at]
            if line:
                match = re.fullmatch(r"-([a-z_ ]+) = (.+)", line)
                self.need(match and match[1] in HEADER and match[1] not in header, "not a header line")
                assert match
                header[match[1]] = match[2]
            self.at += 1
        self.need(list(header) == [key for key in HEADER if key in header], "header order")
        self.need(len(header) >= len(HEADER) - 1, "a header line is missing")
        self.need(self.lines[self.at].startswith("#traces format"), "format line expected")
        self.at += 1
        return header

    def _dimensions(self, text: str) -> tuple[int, int, int]:
        match = re.fullmatch(r"\((\d+),(\d+),(\d+)\)", text)
        self.need(match and all(int(g) > 0 for g in match.groups()), "dimensions")
        assert match
        return int(match[1]), int(match[2]), int(match[3])

    def _next_content(self, expected: str) -> bool:
        while self.at < len(self.lines) and not self.lines[self.at]:
            self.at += 1
        if self.at == len(self.lines):
            return False
        self.need(self.lines[self.at] == expected, f"{expected} expected")
        self.at += 1
        return True

    def _field(self, pattern: str) -> tuple[int, ...]:
        while not self.lines[self.at]:
            self.at += 1
        match = re.fullmatch(pattern, self.lines[self.at])
        self.need(match, f"{pattern} expected")
        assert match
        self.at += 1
        return tuple(map(int, match.groups()))

    def _cta(self) -> None:
        x, y, z = self._field(r"thread block = (\d+),(\d+),(\d+)")
        if self.version >= 6:
            for key in ("id", "cta"):
                self.need(self._field(rf"cluster {key} = (\d+),(\d+),(\d+)") == (0, 0, 0), "no clusters before sm_90")
            self.need(self._field(r"cluster rank = (\d+)") == (0,), "no clusters before sm_90")
        warps: list[list[Instruction]] = []
        for number in range(-(-self.threads // 32)):
            self.need(self._field(r"warp = (\d+)") == (number,), "warps in order", self.at - 1)
            (count,) = self._field(r"insts = (\d+)")
            warps.append([self._instruction(self.at + i) for i in range(count)])
            self.at += count
            self.need(self.lines[self.at] == "", "insts does not count the lines")
            self._warp(warps[-1], number)
        self.need(self._next_content("#END_TB"), "#END_TB missing")
        self.need((x, y, z) not in self.ctas, "a CTA twice")
        barriers = {sum(i.base == "BAR" for i in warp) for warp in warps}
        self.need(len(barriers) == 1, "warps of a CTA meet a different number of barriers")
        self.ctas[x, y, z] = warps

    def _instruction(self, number: int) -> Instruction:
        words = self.lines[number].split()
        self.need(len(words) > 5, "too short", number)
        self.need(re.fullmatch(r"[0-9a-f]{4,}", words[0]) and re.fullmatch(r"[0-9a-f]{8}", words[1]), "pc mask", number)
        self.need(words[2] in "01", "at most one destination", number)
        destination = words.pop(3) if words[2] == "1" else None
        opcode, count = words[3], int(words[4])
        self.need(count <= 4, "at most four sources", number)
        sources, rest = tuple(words[5 : 5 + count]), words[5 + count :]
        for register in [*sources, *([destination] if destination else [])]:
            self.need(re.fullmatch(r"R\d+", register) and int(register[1:]) <= 255, f"register {register}", number)
        result = Instruction(number, int(words[0], 16), int(words[1], 16), destination, opcode, sources, int(rest[0]))
        rest = rest[1:]
        if self.version >= 6:
            self.need(rest[-1:] == ["NoVal"] and re.fullmatch(r"\d+", rest[-2]), "two immediates and NoVal", number)
            rest = rest[:-2]
        if self.version >= 5:
            self.need(rest and re.fullmatch(r"-?\d+", rest[-1]), "immediate expected", number)
            rest = rest[:-1]
        self._access(result, rest)
        return result

    def _access(self, i: Instruction, rest: list[str]) -> None:
        memory = i.base in GLOBAL | SHARED
        self.need(memory or i.base in OTHERS, "unknown opcode", i.line)
        self.need((i.width > 0) == memory, "access width on the wrong opcode", i.line)
        if not memory:
            self.need(not rest, "trailing fields", i.line)
            return
        self.need(i.width == width_from_suffix(i.opcode), "width differs from the suffix", i.line)
        i.mode, active = int(rest[0]), lanes(i.mask)
        if i.mode == 1:
            self.need(len(rest) == 3, "base and stride expected", i.line)
            base, stride = int(rest[1], 16), int(rest[2])
            i.addresses = [base + n * stride for n in range(len(active))]
        elif i.mode == 2:
            self.need(len(rest) == 1 + len(active), "base and one delta per further lane expected", i.line)
            i.addresses = [int(rest[1], 16)]
            for delta in rest[2:]:
                i.addresses.append(i.addresses[-1] + int(delta))
        else:
            self.need(i.mode == 0 and len(rest) == 1 + len(active), "one address per lane expected", i.line)
            i.addresses = [int(word, 16) for word in rest[1:]]
        self.need(i.mode == mode_of_tracer(i.mask, i.addresses), "a tracer would compress otherwise", i.line)
        self.need(all(a % i.width == 0 for a in i.addresses), "misaligned", i.line)

    # Rules of execution

    def _warp(self, warp: list[Instruction], number: int) -> None:
        last = self.at - 1
        self.need(warp and warp[-1].base == "EXIT", "every warp ends in EXIT", last)
        live = (1 << min(32, self.threads - 32 * number)) - 1
        written: dict[str, int] = {}
        for here, following in zip(warp, [*warp[1:], None], strict=True):
            self.need(here.mask & ~live == 0, "a lane executes after its EXIT or does not exist", here.line)
            for source in here.sources:
                is_written = source == RZ or here.mask & ~written.get(source, 0) == 0
                self.need(is_written, f"{source} is read before it is written", here.line)
            if here.destination:
                written[here.destination] = written.get(here.destination, 0) | here.mask
            if here.base == "EXIT":
                live &= ~here.mask
            if here.base == "BAR":
                self.need(here.mask == live, "a barrier inside divergent code", here.line)
            if following and following.pc != here.pc + 16:
                jumps = here.base == "BRA" and here.mask
                self.need(jumps, "the next pc is elsewhere without a taken branch", following.line)
        self.need(live == 0, "lanes never exit", last)

    def _whole_grid(self) -> None:
        x, y, z = self.grid
        expected = [(i, j, k) for k in range(z) for j in range(y) for i in range(x)]
        self.need(list(self.ctas) == expected, "every CTA of the grid, once and in order")

    def _registers(self) -> None:
        numbers = [int(r[1:]) for i in self.instructions() for r in [*i.sources, i.destination or RZ] if r != RZ]
        self.need(max(numbers) < int(self.header["nregs"]) <= 255, "nregs")

    def instructions(self) -> list[Instruction]:
        return [i for warps in self.ctas.values() for warp in warps for i in warp]

    def program(self) -> dict[int, tuple]:
        """Instructions at each program counter; a pc with two meanings breaks a rule."""
        static: dict[int, tuple] = {}
        for i in self.instructions():
            text = (i.opcode, i.destination, i.sources)
            self.need(static.setdefault(i.pc, text) == text, "two instructions at one pc", i.line)
        return static


def check_list(directory: Path) -> list[str]:
    """The lines of kernelslist.g, after checking what Accel-Sim needs of them."""
    lines = (directory / "kernelslist.g").read_text(encoding="ascii").splitlines()
    for number, line in enumerate(lines):
        copy = re.fullmatch(r"MemcpyHtoD,0x[0-9a-f]{16},(\d+)", line)
        kernel = re.fullmatch(r"kernel-\d+\.traceg", line)
        if not copy and not (kernel and (directory / line).is_file()):
            raise RuleBroken(f"kernelslist.g:{number + 1}: neither a copy nor a trace that exists: {line!r}")
        if copy and int(copy[1]) >= 2**32:
            raise RuleBroken(f"kernelslist.g:{number + 1}: a copy of 4 GiB or more: {line!r}")
    if not lines or not lines[-1].startswith("kernel"):
        raise RuleBroken("kernelslist.g: the last line must be a kernel")
    return lines

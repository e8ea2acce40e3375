"""The rules of Accel-Sim's trace reader and of the hardware behind a trace, checked instruction by instruction.

Written from the format's description alone: it shares no code with the writer or with the project's fast reader. `Trace(path)`
reads a trace with `tests/reference/slow_reader.py`. From the values that it read it makes each line of the trace again, and
compares this line with that in the file. Then it checks the rules of execution. A broken rule raises `RuleBroken`.
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from slow_reader import SlowCta, SlowInstruction, read_slowly

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
RZ = 255
TAILS = {5: r" -?\d+", 6: r" -?\d+ \d+ NoVal"}  # behind an instruction of these versions: immediates, and no operand values


class RuleBroken(AssertionError):
    """A trace that Accel-Sim would misread or that no GPU could have produced."""


def need(condition: object, message: str, where: object) -> None:
    if not condition:
        raise RuleBroken(f"{message}: {where!r}")


def base(i: SlowInstruction) -> str:
    """The opcode without its modifiers."""
    return i.opcode.split(".")[0]


def lanes(mask: int) -> list[int]:
    return [lane for lane in range(32) if mask >> lane & 1]


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


def mode(i: SlowInstruction) -> int:
    return mode_of_tracer(i.mask, list(i.addresses))


def line_of(i: SlowInstruction) -> str:
    """The line that a tracer writes of an instruction, without immediates and operand values."""
    parts = [f"{i.pc:04x} {i.mask:08x} {len(i.destinations)}", *(f"R{r}" for r in i.destinations)]
    parts += [i.opcode, str(len(i.sources)), *(f"R{r}" for r in i.sources), str(i.width)]
    steps = [b - a for a, b in pairwise(i.addresses)]
    first = f"0x{i.addresses[0] if i.addresses else 0:x}"
    if i.width:
        form = {0: [f"0x{a:x}" for a in i.addresses], 1: [first, str(steps[0] if steps else 0)], 2: [first, *map(str, steps)]}
        parts += [str(mode(i)), *form[mode(i)]]
    return " ".join(parts)


class Trace:
    """One trace file that keeps all rules."""

    def __init__(self, path: Path) -> None:
        self.path = path
        head, body = path.read_text(encoding="ascii").split("#traces format", 1)
        self.header, self.ctas = read_slowly(f"{head}#{body}")
        need(re.fullmatch(r"(-[a-z_ ]+ = .+\n|\n)+", head), "lines of a header", head)
        keys = re.findall(r"^-(.+?) = ", head, re.MULTILINE)
        need(keys == [key for key in HEADER if key in keys], "each key of the header once and in order", head)
        need(len(self.header) >= len(HEADER) - 1, "a header line is missing", head)
        self.version = int(self.header["accelsim tracer version"])
        self.grid, self.block = (self._dimensions(self.header[key]) for key in ("grid dim", "block dim"))
        self.threads = self.block[0] * self.block[1] * self.block[2]
        rows = [line.rstrip() for line in body.split("\n")[1:] if line]
        for number, (row, expected) in enumerate(zip([*rows, ""], [*self._lines(), ""], strict=False)):
            row = re.sub(r"0x0*(?=[0-9a-f])", "0x", row)
            tail = TAILS.get(self.version, "") if re.match(r"[0-9a-f]{4,} ", row) else ""
            need(re.fullmatch(re.escape(expected) + tail, row), f"line {number} of the body; expected {expected!r}", row)
        x, y, z = self.grid
        order = [(i, j, k) for k in range(z) for j in range(y) for i in range(x)]
        need([cta.index for cta in self.ctas] == order, "every CTA of the grid, once and in order", path)
        for cta in self.ctas:
            self._cta(cta)
        numbers = [r for i in self.instructions() for r in (*i.sources, *i.destinations) if r != RZ]
        need(max(numbers) < int(self.header["nregs"]) <= 255, "nregs", path)

    @staticmethod
    def _dimensions(text: str) -> tuple[int, ...]:
        match = re.fullmatch(r"\(([1-9]\d*),([1-9]\d*),([1-9]\d*)\)", text)
        need(match, "dimensions", text)
        assert match
        return tuple(map(int, match.groups()))

    def _lines(self) -> Iterator[str]:
        """The lines that are not blank of a body with these CTAs."""
        for cta in self.ctas:
            yield from ("#BEGIN_TB", "thread block = {},{},{}".format(*cta.index))
            if self.version >= 6:  # no clusters before sm_90
                yield from ("cluster id = 0,0,0", "cluster cta = 0,0,0", "cluster rank = 0")
            for number, (_, warp) in enumerate(cta.warps):
                yield from (f"warp = {number}", f"insts = {len(warp)}", *map(line_of, warp))
            yield "#END_TB"

    # Rules of execution

    def _cta(self, cta: SlowCta) -> None:
        need(len(cta.warps) == -(-self.threads // 32), "every warp of a CTA", cta.index)
        for number, warp in cta.warps:
            for i in warp:
                self._instruction(i)
            self._warp(warp, number)
        barriers = {sum(base(i) == "BAR" for i in warp) for _, warp in cta.warps}
        need(len(barriers) == 1, "warps of a CTA meet a different number of barriers", cta.index)

    def _instruction(self, i: SlowInstruction) -> None:
        memory = base(i) in GLOBAL | SHARED
        need(len(i.destinations) <= 1 and len(i.sources) <= 4, "at most one destination and four sources", i)
        need(all(r <= RZ for r in (*i.destinations, *i.sources)), "registers are R0 to R255", i)
        need(memory or base(i) in OTHERS, "unknown opcode", i)
        need((i.width > 0) == memory, "access width on the wrong opcode", i)
        need(all(a % i.width == 0 for a in i.addresses), "misaligned", i)

    def _warp(self, warp: tuple[SlowInstruction, ...], number: int) -> None:
        need(warp and base(warp[-1]) == "EXIT", "every warp ends in EXIT", number)
        live = (1 << min(32, self.threads - 32 * number)) - 1
        written: dict[int, int] = {}
        for here, following in zip(warp, [*warp[1:], None], strict=True):
            need(here.mask & ~live == 0, "a lane executes after its EXIT or does not exist", here)
            for source in here.sources:
                is_written = source == RZ or here.mask & ~written.get(source, 0) == 0
                need(is_written, f"R{source} is read before it is written", here)
            for destination in here.destinations:
                written[destination] = written.get(destination, 0) | here.mask
            if base(here) == "EXIT":
                live &= ~here.mask
            if base(here) == "BAR":
                need(here.mask == live, "a barrier inside divergent code", here)
            if following and following.pc != here.pc + 16:
                need(base(here) == "BRA" and here.mask, "the next pc is elsewhere without a taken branch", following)
        need(live == 0, "lanes never exit", number)

    def instructions(self) -> list[SlowInstruction]:
        return [i for cta in self.ctas for _, warp in cta.warps for i in warp]

    def program(self) -> dict[int, tuple]:
        """Instructions at each program counter; a pc with two meanings breaks a rule."""
        static: dict[int, tuple] = {}
        for i in self.instructions():
            text = (i.opcode, i.destinations, i.sources)
            need(static.setdefault(i.pc, text) == text, "two instructions at one pc", i)
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

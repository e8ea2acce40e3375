"""The slow way to everything that replay does: every touch of every launch, in Python."""

import heapq
from collections import OrderedDict
from dataclasses import dataclass, field

from kernelpoint import _native

MEMORY_STEPS = 50
NEAR_SECTORS = 128
ALL = 0xF


def slow_footprint(path: str, slots: int) -> list[tuple[int, int, int, int]]:
    """(line address, touched, written, filled) of sectors in order of last touch, from every byte of every access."""
    reader = _native.read_ctas(path)
    shared = reader.header.shared_base
    touches: dict[int, list] = {}  # sector -> [read, bytes written]
    last: dict[int, int] = {}  # sector -> step
    free = [0] * slots
    for cta in reader:
        start = heapq.heappop(free)
        ends = [start]
        for warp in cta["warps"]:
            step = start
            loads, loaded_at = 0, {}  # sectors that the L1 lacked so far, and when this warp used each of them last
            begin = int(warp["first_instruction"])
            for row in cta["instructions"][begin : begin + int(warp["instruction_count"])]:
                name = reader.opcodes[int(row["opcode"])].split(".")[0]
                first = int(row["first_address"])
                addresses = cta["addresses"][first : first + int(row["address_count"])].tolist()
                kind = {"LDG": "r", "LD": "r", "STG": "w", "ST": "w", "ATOMG": "rw", "RED": "rw"}.get(name, "")
                if kind and addresses and not shared <= addresses[0] < shared + (1 << 24):
                    for address in addresses:
                        for byte in range(address, address + max(int(row["width"]), 1)):
                            sector = touches.setdefault(byte // 32, [False, set()])
                            sector[0] |= "r" in kind
                            if "w" in kind:
                                sector[1].add(byte % 32)
                        for at in range(address // 32, (address + max(int(row["width"]), 1) - 1) // 32 + 1):
                            is_near = kind == "r" and loads - loaded_at.get(at, -NEAR_SECTORS) < NEAR_SECTORS
                            if not is_near:
                                last[at] = max(last.get(at, 0), step)
                            if kind == "r":
                                loads += not is_near
                                loaded_at[at] = loads
                    if "r" in kind:
                        step += MEMORY_STEPS
                step += 1
            ends.append(step)
        heapq.heappush(free, max(ends))
    together: dict[tuple[int, int], list[int]] = {}  # (step, line) -> sectors
    for sector in sorted(last):
        together.setdefault((last[sector], sector // 4), []).append(sector % 4)
    return [(line * 128, *masks(touches, line, sectors)) for (_, line), sectors in sorted(together.items())]


def masks(touches: dict[int, list], line: int, sectors: list[int]) -> tuple[int, int, int]:
    touched = written = filled = 0
    for sector in sectors:
        read, wrote = touches.get(line * 4 + sector, [False, set()])
        touched |= (read or bool(wrote)) << sector
        written |= bool(wrote) << sector
        filled |= (read or len(wrote) == 32) << sector
    return touched, written, filled


@dataclass
class State:
    """A fully associative cache: line -> [valid, dirty, filled], the one used last at the end."""

    capacity: int
    lines: OrderedDict[int, list[int]] = field(default_factory=OrderedDict)

    def touch(self, line: int, touched: int, written: int, filled: int, copied: bool = False) -> None:
        before = self.lines.pop(line, [0, 0, 0])
        if copied:
            before = [0, 0, 0]
        self.lines[line] = [before[0] | touched, before[1] | written, before[2] | filled]
        if len(self.lines) > self.capacity:
            self.lines.popitem(last=False)

    def copy(self, address: int, size: int) -> None:
        if size:
            for line in range(address // 128, (address + size - 1) // 128 + 1):
                self.touch(line * 128, ALL, 0, ALL, copied=True)


def state_of(touches, capacity: int) -> State:
    """The state that replayed touches leave."""
    state = State(capacity)
    for touch in touches:
        masks = (int(touch[name]) for name in ("touched", "written", "filled"))
        state.touch(int(touch["line"]), *masks, bool(touch["copied"]))
    return state

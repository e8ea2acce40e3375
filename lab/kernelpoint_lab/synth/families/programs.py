"""Random warp programs: kernels nobody wrote, so that an encoder sees more than the families."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelpoint.randomness import generator
from kernelpoint_lab.synth.families.common import address, thread_index
from kernelpoint_lab.synth.launch import Launch, Memory, Tensor, make_launch
from kernelpoint_lab.synth.machine import Warps

# Opcodes of each unit's operations; a unit's first opcode writes as many registers as all of its others.
OPCODES = {
    "single": ("FFMA", "FADD", "FMUL"),
    "integer": ("IMAD", "IADD3", "LOP3.LUT"),
    "half": ("HFMA2", "HADD2"),
    "double": ("DFMA", "DADD"),
    "special": ("MUFU.EX2", "MUFU.RCP"),
    "tensor": ("HMMA.884.F32.F32.STEP0",),
}
MEMORY = ("load", "store", "shared", "atomic")
PATTERNS = ("stream", "strided", "broadcast", "gather")
FOOTPRINTS = tuple(1 << bits for bits in range(10, 21, 2))  # elements: 4 KiB to 4 MiB
STRIDES = (2, 3, 8, 32)
SHARED_BYTES = 4096
HASH = 2654435761


@dataclass(frozen=True)
class Step:
    """One operation of a program.

    Attributes:
        kind: key of OPCODES, or an entry of MEMORY.
        chain: index of the chain of values that the operation continues.
        pattern, stride: pattern and stride of a memory access.
    """

    kind: str
    opcode: str
    chain: int
    pattern: str = ""
    stride: int = 1


@dataclass(frozen=True)
class Segment:
    """A loop of a program: its steps, trips, the lanes that take it, and whether a barrier follows."""

    steps: tuple[Step, ...]
    trips: int
    lanes: int
    barrier: bool


@dataclass(frozen=True)
class Program:
    """Segments, the number of independent chains of values, and the elements that accesses to global memory wrap at."""

    segments: tuple[Segment, ...]
    chains: int
    footprint: int


def draw_program(number: int) -> Program:
    """Program `number`, with its own random instruction mix, depth of dependences, strides, divergence and reuse.

    Model: a mix is Dirichlet with concentration 0.5 over arithmetic units and kinds of access, so that most programs lean
    on a few; 1 to 8 chains give each result 1 to 8 instructions until it is needed; half of the segments are for all lanes.

    >>> draw_program(3) == draw_program(3), draw_program(3) == draw_program(4)
    (True, False)
    """
    random = generator(number, "random warp program")
    kinds = (*OPCODES, *MEMORY)
    mix = random.dirichlet(np.full(len(kinds), 0.5))
    patterns = random.dirichlet(np.full(len(PATTERNS), 0.5))
    chains = int(random.integers(1, 9))
    segments = []
    for _ in range(random.integers(1, 5)):
        steps = tuple(_step(random, kinds, mix, patterns, chains) for _ in range(random.integers(2, 15)))
        lanes = 32 if random.random() < 0.5 else int(random.integers(1, 32))
        segments.append(Segment(steps, int(random.integers(1, 7)), lanes, bool(random.random() < 0.3)))
    return Program(tuple(segments), chains, int(random.choice(FOOTPRINTS)))


def _step(random: np.random.Generator, kinds: tuple[str, ...], mix: np.ndarray, patterns: np.ndarray, chains: int) -> Step:
    kind, chain = str(random.choice(kinds, p=mix)), int(random.integers(chains))
    if kind in OPCODES:
        return Step(kind, str(random.choice(OPCODES[kind])), chain)
    pattern, stride = str(random.choice(PATTERNS, p=patterns)), int(random.choice(STRIDES))
    return Step(kind, "", chain, pattern, stride)


def random_program(memory: Memory, number: int, ctas: int, block: int, trips: int) -> Launch:
    """A launch of program `number`; every loop runs `trips` times its drawn trips."""
    program = draw_program(number)
    data = memory.tensor(program.footprint)

    def run(w: Warps) -> None:
        index = thread_index(w)
        address(w, "at", "i")
        w.op("SHF.L.U32", "shared_at", "tid", "RZ")
        for chain in range(program.chains):
            w.op("MOV", f"v{chain}", "RZ")
        for wide in ("d", "t"):
            w.op("CS2R", wide)
        done = 0
        for segment in program.segments:
            with w.branch(w.lane < segment.lanes):
                for i in w.loop(segment.trips * trips):
                    for number, step in enumerate(segment.steps):
                        _execute(w, step, program, data, index, (done + i) * len(segment.steps) + number)
            done += segment.trips * trips
            if segment.barrier:
                w.op("BAR.SYNC")
        w.store("STG.E.SYS", "at", "v0", data.at(index % data.count))

    return make_launch("program", f"random_program_{number}", run, (ctas,), (block,), [data], shared=SHARED_BYTES, trips=trips)


def _execute(w: Warps, step: Step, program: Program, data: Tensor, index: np.ndarray, count: int) -> None:
    value, next_value = f"v{step.chain}", f"v{(step.chain + 1) % program.chains}"
    if step.kind in ("double", "tensor"):
        wide = step.kind[0]
        w.op(step.opcode, wide, wide, wide)
    elif step.kind == "special":
        w.op(step.opcode, value, value)
    elif step.kind in OPCODES:
        w.op(step.opcode, value, value, next_value)
    elif step.kind == "shared":
        places = w.addresses(4 * (_elements(w, step, w.thread, count) % (SHARED_BYTES // 4)))
        w.store("STS", "shared_at", value, places)
        w.load("LDS.U", value, "shared_at", places)
    else:
        places = w.addresses(data.at(_elements(w, step, index, count) % data.count))
        w.op("IADD3", "at", "at", "RZ")
        if step.kind == "load":
            w.load("LDG.E.SYS", value, "at", places)
        elif step.kind == "store":
            w.store("STG.E.SYS", "at", value, places)
        else:
            w.store("RED.E.ADD.F32.FTZ.RN.STRONG.GPU", "at", value, places)


def _elements(w: Warps, step: Step, index: np.ndarray, count: int) -> np.ndarray:
    """Elements that the lanes of all warps access at the program's step number `count`."""
    if step.pattern == "broadcast":
        return w.cta + np.zeros_like(index) + count
    if step.pattern == "gather":
        return (index * HASH + count * 40503) >> 7
    return index * (step.stride if step.pattern == "strided" else 1) + count * w.block

"""One thread per element: copies, vector updates and activations; and the 2-D five-point stencil."""

from __future__ import annotations

from collections.abc import Sequence

from kernelpoint_lab.synth.families.common import LOADS, TYPES, arithmetic, blocks, bounded_index, fetch, put
from kernelpoint_lab.synth.launch import Launch, make_launch
from kernelpoint_lab.synth.machine import Warps
from kernelpoint_lab.synth.memory import Tensor

# The instructions between the loads of x0 (x1) and the store of x0; "@" marks arithmetic in the data's width.
BODIES: dict[str, list[tuple[str, str, tuple[str, ...]]]] = {
    "copy": [],
    "add": [("@ADD", "x0", ("x0", "x1"))],
    "axpy": [("@FMA", "x0", ("x0", "x1"))],
    "relu": [("FMNMX", "x0", ("x0", "RZ"))],
    "gelu": [
        ("FMUL", "t", ("x0", "x0")),
        ("FFMA", "t", ("t", "x0")),
        ("FMUL", "t", ("t",)),
        ("MUFU.EX2", "t", ("t",)),
        ("FADD", "t", ("t",)),
        ("MUFU.RCP", "t", ("t",)),
        ("FFMA", "x0", ("x0", "t", "x0")),
    ],
}


def elementwise(kind: str, inputs: Sequence[Tensor], target: Tensor, count: int, block: int = 256) -> Launch:
    """target[i] = f(inputs[0][i], ...) for i < count; `kind` is a key of BODIES."""
    width = target.width

    def program(w: Warps) -> None:
        index = bounded_index(w, count)
        for number, tensor in enumerate(inputs):
            fetch(w, f"x{number}", f"a{number}", "i", tensor, index)
        for opcode, destination, sources in BODIES[kind]:
            if opcode.startswith("@"):
                opcode = arithmetic(opcode[1:], width)
            w.op(opcode, destination, *sources)
        put(w, "x0", "out", "i", target, index)

    return make_launch(
        "copy" if kind == "copy" else "elementwise", f"{kind}_{TYPES[width]}", program,
        (blocks(count, block),), (block,), [*inputs, target], n=count,
    )  # fmt: skip


def stencil(source: Tensor, target: Tensor, rows: int, columns: int) -> Launch:
    """Five-point stencil on a rows x columns grid, CTAs of 32 x 8 threads; border threads only copy."""
    width = target.width

    def program(w: Warps) -> None:
        for special in ("cta_x", "cta_y", "tid_x", "tid_y"):
            w.op("S2R", special)
        w.op("IMAD", "x", "cta_x", "tid_x")
        w.op("IMAD", "y", "cta_y", "tid_y")
        x, y = w.cta_x * 32 + w.lane, w.cta_y * 8 + w.warp
        w.op("ISETP.GE.AND", None, "x")
        w.op("ISETP.GE.OR", None, "y")
        w.exit_where((x >= columns) | (y >= rows))
        w.op("IMAD", "i", "y", "x")
        here = y * columns + x
        fetch(w, "centre", "a", "i", source, here)
        for _ in range(4):
            w.op("ISETP.NE.AND", None, "x", "y")
        inner = (x > 0) & (x < columns - 1) & (y > 0) & (y < rows - 1)
        with w.branch(inner):
            for offset in (-columns, -1, 1, columns):
                w.load(LOADS[width], "neighbour", "a", source.at(here + offset))
                w.op(arithmetic("FMA", width), "centre", "neighbour", "centre")
        put(w, "centre", "out", "i", target, here)

    return make_launch(
        "stencil", f"stencil5_{TYPES[width]}", program, (blocks(columns, 32), blocks(rows, 8)), (32, 8),
        [source, target], rows=rows, columns=columns,
    )  # fmt: skip

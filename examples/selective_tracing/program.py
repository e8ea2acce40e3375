"""Stands for a CUDA program under Accel-Sim's tracer, where there is no GPU: its launches are those of a synthesised list.

    DYNAMIC_KERNEL_RANGE="3 5-8" TRACES_FOLDER=run python program.py whole

Writes what the tracer and its post-processing write: the census (`stats_ctx_0x1`) of every launch, links to the traces of the
launches in the range, and their list with every copy from the host.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from kernelpoint.traces import read_header, read_trace_list

HEADER = (
    "kernel id, kernel mangled name, grid_dimX, grid_dimY, grid_dimZ, #blocks, block_dimX, block_dimY, block_dimZ, #threads, "
    "total_insts, total_reported_insts"
)


def is_asked(number: int, ranges: str) -> bool:
    """True if a launch lies in the value of DYNAMIC_KERNEL_RANGE; an empty one asks for all."""
    for item in ranges.split():
        first, dash, last = item.partition("-")
        if int(first) <= number and (number <= int(last or first) or (dash and not last)):
            return True
    return not ranges


def main() -> None:
    """Trace the launches in the range."""
    whole, ranges = Path(sys.argv[1]).resolve(), os.environ.get("DYNAMIC_KERNEL_RANGE", "")
    folder = Path(os.environ["TRACES_FOLDER"]) / "traces"
    folder.mkdir(parents=True, exist_ok=True)
    paths = read_trace_list(whole / "kernelslist.g").traces
    rows, commands, number = [HEADER], [], 0
    for line in (whole / "kernelslist.g").read_text().splitlines():
        if line.startswith("MemcpyHtoD"):
            commands.append(line)
        if not line.startswith("kernel"):
            continue
        shape = read_header(paths[number])
        number += 1
        (x, y, z), (bx, by, bz) = shape.grid, shape.block
        sizes = f"{x}, {y}, {z}, {x * y * z}, {bx}, {by}, {bz}, {bx * by * bz}, 0,0"
        rows.append(f"kernel-{number}-ctx_0x1.trace.xz, {shape.kernel_name}, {sizes}")
        if is_asked(number, ranges):
            commands.append(f"kernel-{number}-ctx_0x1.traceg")
            (folder / commands[-1]).unlink(missing_ok=True)
            (folder / commands[-1]).symlink_to(paths[number - 1])
    (folder / "stats_ctx_0x1").write_text("\n".join(rows) + "\n")
    (folder / "kernelslist.g").write_text("\n".join(commands) + "\n")


if __name__ == "__main__":
    main()

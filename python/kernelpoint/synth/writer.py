"""Writes a sequence of launches as Accel-Sim traces: kernel-N.traceg files, kernelslist.g and workload.json."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path

from kernelpoint.synth.launch import Launch
from kernelpoint.synth.machine import Warps
from kernelpoint.synth.memory import Tensor

WARPS_AT_ONCE = 1024
TRACER_VERSIONS = (3, 4, 5)
LIST, DESCRIPTION = "kernelslist.g", "workload.json"
_FORMAT = (
    "#traces format = threadblock_x threadblock_y threadblock_z warpid_tb PC mask dest_num [reg_dests] opcode src_num "
    "[reg_srcs] mem_width [adrrescompress?] [mem_addresses]"
)


@dataclass(frozen=True)
class HostCopy:
    """A copy from host to device of a whole tensor."""

    tensor: Tensor

    def line(self) -> str:
        """The copy's line in kernelslist.g.

        >>> HostCopy(Tensor(0x7F3000000000, 10)).line()
        'MemcpyHtoD,0x00007f3000000000,40\\n'
        """
        return f"MemcpyHtoD,0x{self.tensor.base:016x},{self.tensor.bytes}\n"


@dataclass(frozen=True)
class Written:
    """A trace file and what it holds; one entry of workload.json's `launches`."""

    file: str
    family: str
    kernel: str
    label: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    warp_instructions: int
    thread_instructions: int
    bytes: int


@dataclass
class Totals:
    """Content of a list."""

    launches: int = 0
    files: int = 0
    bytes: int = 0
    warp_instructions: int = 0


def header(launch: Launch, number: int, registers: int, version: int) -> str:
    """The header of a trace file, as the tracer of that version writes it."""
    x, y, z = launch.grid
    bx, by, bz = launch.block
    lines = [
        f"kernel name = {launch.kernel}",
        f"kernel id = {number}",
        f"grid dim = ({x},{y},{z})",
        f"block dim = ({bx},{by},{bz})",
        f"shmem = {launch.shared}",
        f"nregs = {max(registers, 16)}",
        "binary version = 70",
        "cuda stream id = 0",
        "shmem base_addr = 0x00007f2000000000",
        "local mem base_addr = 0x00007f1e00000000",
        f"nvbit version = {'1.7' if version >= 5 else '1.5.3'}",
        f"accelsim tracer version = {version}",
    ]
    if version >= 4:
        lines.append("enable lineinfo = 0")
    return "".join(f"-{line}\n" for line in lines) + f"\n{_FORMAT}\n\n\n\n"


def write_trace(launch: Launch, path: Path, number: int, version: int = 3) -> Written:
    """Writes the trace of one launch, some CTAs at a time, and returns what it holds."""
    step = max(1, WARPS_AT_ONCE // launch.warps_per_cta)
    warp_instructions = thread_instructions = 0
    with path.open("w", encoding="ascii", newline="\n", buffering=1 << 20) as file:
        for first in range(0, launch.ctas, step):
            # Tracer version 5 ends a line with the immediate operand.
            warps = Warps(launch, first, min(first + step, launch.ctas), "0 " if version >= 5 else "")
            launch.program(warps)
            texts = warps.finish()
            if first == 0:
                file.write(header(launch, number, warps.registers.used, version))
            file.write(_ctas(launch, warps, texts))
            warp_instructions += int(warps.instructions.sum())
            thread_instructions += warps.lanes
        size = file.tell()
    return Written(
        path.name, launch.family, launch.kernel, launch.label, launch.grid, launch.block,
        warp_instructions, thread_instructions, size,
    )  # fmt: skip


def _ctas(launch: Launch, warps: Warps, texts: list[str]) -> str:
    pieces = []
    per_cta = launch.warps_per_cta
    counts = warps.instructions.tolist()
    places = zip(warps.cta_x[::per_cta, 0].tolist(), warps.cta_y[::per_cta, 0].tolist(),
                 warps.cta_z[::per_cta, 0].tolist(), strict=True)  # fmt: skip
    for cta, (x, y, z) in enumerate(places):
        pieces.append(f"#BEGIN_TB\n\nthread block = {x},{y},{z}\n\n")
        for warp in range(per_cta):
            row = cta * per_cta + warp
            pieces.append(f"warp = {warp}\ninsts = {counts[row]}\n{texts[row]}\n")
        pieces.append("#END_TB\n\n")
    return "".join(pieces)


def write_list(
    sequence: Iterable[Launch | HostCopy],
    directory: Path,
    launches: int,
    description: Mapping[str, object],
    version: int = 3,
    on_launch: Callable[[Totals], None] = lambda _: None,
) -> Totals:
    """Writes the first `launches` launches of a sequence; equal launches share one trace file.

    Args:
        sequence: launches and host copies in program order; may be endless.
        directory: an existing folder.
        launches: how many kernel lines the list gets; the copies before the last of them are kept.
        description: the head of workload.json: name, parameters, seed.
        version: of the tracer, 3, 4 or 5.
        on_launch: called after each launch.
    """
    written: dict[str, int] = {}
    distinct: list[Written] = []
    order: list[int] = []
    totals, numbers = Totals(), count(1)
    with (directory / LIST).open("w", encoding="ascii") as lines:
        for item in sequence:
            if isinstance(item, HostCopy):
                lines.write(item.line())
                continue
            if item.key not in written:
                number = next(numbers)
                written[item.key] = len(distinct)
                distinct.append(write_trace(item, directory / f"kernel-{number}.traceg", number, version))
                totals.files, totals.bytes = number, totals.bytes + distinct[-1].bytes
            order.append(written[item.key])
            lines.write(distinct[order[-1]].file + "\n")
            totals.launches += 1
            totals.warp_instructions += distinct[order[-1]].warp_instructions
            on_launch(totals)
            if totals.launches == launches:
                break
    document = {"version": 1, **description, "launches": [asdict(w) for w in distinct], "sequence": order}
    (directory / DESCRIPTION).write_text(json.dumps(document, separators=(",", ":")) + "\n", encoding="ascii")
    return totals

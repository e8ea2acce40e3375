"""Writes a sequence of launches as Accel-Sim traces: kernel-N.traceg or .tracez, kernelslist.g and workload.json."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from kernelpoint.files import open_output
from kernelpoint_lab.synth.launch import Launch
from kernelpoint_lab.synth.machine import Warps
from kernelpoint_lab.synth.tracez import TracezWriter
from kernelpoint_lab.synth.values import ValuedWarps

WARPS_AT_ONCE = 1024
TRACER_VERSIONS = (3, 4, 5, 6)
_FORMAT = (
    "#traces format = threadblock_x threadblock_y threadblock_z warpid_tb PC mask dest_num [reg_dests] opcode src_num "
    "[reg_srcs] mem_width [adrrescompress?] [mem_addresses]"
)


# Fields behind the operands of a line: from version 5 on an immediate, in version 6 two and `NoVal` (`Val`: values.py).
TAILS = {3: "", 4: "", 5: "0 ", 6: "0 0 NoVal "}
NVBIT = {3: "1.5.3", 4: "1.5.3", 5: "1.7", 6: "1.8"}
# Model: no clusters, as in traces of GPUs before compute capability 9.0.
_CLUSTER = "cluster id = 0,0,0\ncluster cta = 0,0,0\ncluster rank = 0\n"


Parts = Iterator[tuple[Warps, list[str]]]


@dataclass(frozen=True)
class Written:
    """A trace file and its content; one entry of workload.json's `launches`."""

    file: str
    family: str
    kernel: str
    label: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    warp_instructions: int
    thread_instructions: int
    bytes: int


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
        f"nvbit version = {NVBIT[version]}",
        f"accelsim tracer version = {version}",
    ]
    if version >= 4:
        lines.append("enable lineinfo = 0")
    return "".join(f"-{line}\n" for line in lines) + f"\n{_FORMAT}\n\n\n\n"


def write_trace(launch: Launch, path: Path, number: int, version: int = 3, values: int | None = None) -> Written:
    """Writes the trace of one launch, some CTAs at a time, and returns its content. The suffix .tracez chooses that format.

    Args:
        launch: what is traced.
        path: the file.
        number: the kernel's id.
        version: of the tracer.
        values: seed of the operand values, for version 6; None writes none.
    """
    counts = [0, 0]

    def parts() -> Iterator[tuple[Warps, list[str]]]:
        step = max(1, WARPS_AT_ONCE // launch.warps_per_cta)
        for first in range(0, launch.ctas, step):
            last = min(first + step, launch.ctas)
            warps = Warps(launch, first, last, TAILS[version])
            if values is not None:
                warps = ValuedWarps(launch, first, last, values)
            launch.program(warps)
            yield warps, warps.finish()
            counts[0] += int(warps.instructions.sum())
            counts[1] += warps.lanes

    write = _write_tracez if path.suffix == ".tracez" else _write_text
    size = write(launch, path, number, version, parts())
    return Written(
        path.name, launch.family, launch.kernel, launch.label, launch.grid, launch.block, counts[0], counts[1], size,
    )  # fmt: skip


def _write_text(launch: Launch, path: Path, number: int, version: int, parts: Parts) -> int:
    with open_output(path) as file:
        for first, (warps, texts) in enumerate(parts):
            if first == 0:
                file.write(header(launch, number, warps.registers.used, version))
            file.write(_ctas(launch, warps, texts, _CLUSTER if version >= 6 else ""))
        return file.tell()


def _write_tracez(launch: Launch, path: Path, number: int, version: int, parts: Parts) -> int:
    first_warps, first_texts = next(parts)
    top = header(launch, number, first_warps.registers.used, version)
    lines = [line for text in first_texts for line in text.splitlines()]
    with TracezWriter(path, top, lines) as writer:
        for warps, texts in chain([(first_warps, first_texts)], parts):
            per_cta = launch.warps_per_cta
            for cta, place in enumerate(_places(launch, warps)):
                writer.add_cta(place, texts[cta * per_cta : (cta + 1) * per_cta])
    return writer.size


def _places(launch: Launch, warps: Warps) -> list[tuple[int, int, int]]:
    step = launch.warps_per_cta
    columns = (warps.cta_x[::step, 0].tolist(), warps.cta_y[::step, 0].tolist(), warps.cta_z[::step, 0].tolist())
    return list(zip(*columns, strict=True))


def _ctas(launch: Launch, warps: Warps, texts: list[str], cluster: str) -> str:
    pieces = []
    per_cta = launch.warps_per_cta
    counts = warps.instructions.tolist()
    for cta, (x, y, z) in enumerate(_places(launch, warps)):
        pieces.append(f"#BEGIN_TB\n\nthread block = {x},{y},{z}\n{cluster}\n")
        for warp in range(per_cta):
            row = cta * per_cta + warp
            pieces.append(f"warp = {warp}\ninsts = {counts[row]}\n{texts[row]}\n")
        pieces.append("#END_TB\n\n")
    return "".join(pieces)

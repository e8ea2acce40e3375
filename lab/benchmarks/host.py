"""Speed and memory of the embedded host: `python lab/benchmarks/host.py`.

Speed: warp instructions a second on a loaded GPU, for three kinds of launch, with reading the same traces as the
alternative measured in the same run (what is left is simulation). Memory: peak of the process for traces of growing
size at the same residency; the ratio to the smallest shows that it does not follow the trace.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from kernelpoint._native import scan
from kernelpoint.cli.host import program

REPEATS = 3
MEASURE = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""
HEADER = """-kernel name = {name}
-kernel id = 1
-grid dim = ({ctas},1,1)
-block dim = (256,1,1)
-shmem = 0
-nregs = 32
-binary version = 70
-cuda stream id = 0
-shmem base_addr = 0x00007f0000000000
-local mem base_addr = 0x00007e0000000000
-nvbit version = 1.5.5
-accelsim tracer version = 3
#traces format = PC mask dest_num [reg_dests] opcode src_num [reg_srcs] mem_width [adrrescompress?] [mem_addresses]
"""


def arithmetic(position: int, base: int, rng: random.Random) -> str:
    """An FFMA with a few independent chains."""
    register = 4 + position % 8
    return f"ffffffff 1 R{register} FFMA 2 R{register} R2 0"


def streaming(position: int, base: int, rng: random.Random) -> str:
    """One coalesced load in four instructions."""
    if position % 4:
        return arithmetic(position, base, rng)
    return f"ffffffff 1 R{12 + position % 8} LDG.E 1 R2 4 1 0x{base + 128 * position:x} 4"


def scattered(position: int, base: int, rng: random.Random) -> str:
    """One load in eight instructions, every lane in its own sector."""
    if position % 8:
        return arithmetic(position, base, rng)
    addresses = " ".join(f"0x{rng.randrange(1 << 24) * 32:x}" for _ in range(32))
    return f"ffffffff 1 R{12 + position % 8} LDG.E 1 R2 4 0 {addresses}"


def write_trace(path: Path, kind, ctas: int, length: int = 128) -> int:
    """One launch of `ctas` CTAs of eight warps; returns its warp instructions."""
    rng = random.Random(0)
    with path.open("w") as file:
        file.write(HEADER.format(name=kind.__name__, ctas=ctas))
        for cta in range(ctas):
            file.write(f"#BEGIN_TB\nthread block = {cta},0,0\n")
            for warp in range(8):
                base = (1 << 32) + (cta * 8 + warp) * 128 * length
                lines = [f"{16 * i:04x} {kind(i, base, rng)}" for i in range(length)]
                exit_line = f"{16 * length:04x} ffffffff 0 EXIT 0 0"
                file.write("\n".join([f"warp = {warp}", f"insts = {length + 1}", *lines, exit_line, ""]))
            file.write("#END_TB\n")
    return ctas * 8 * (length + 1)


def processor_seconds(action) -> float:
    """The least processor time of a few runs, of this process and its children: other loads do not count."""
    times = []
    for _ in range(REPEATS):
        start = os.times()
        action()
        times.append(sum(os.times()[:4]) - sum(start[:4]))
    return min(times)


def command(trace: Path, config: str) -> list[str]:
    listed = trace.parent / "kernelslist.g"
    listed.write_text(trace.name + "\n")
    return [str(program()), "-trace", str(listed), "-config", config]


def measure_speed(folder: Path) -> Table:
    names = ("launch", "GPU", "M warp inst", "host s", "M warp inst/s", "reading alone s", "host / reading")
    table = Table(*names, title="Speed on a loaded GPU")
    trace = folder / "kernel-1.traceg"
    for kind in (arithmetic, streaming, scattered):
        instructions = write_trace(trace, kind, ctas=1500) / 1e6
        reading = processor_seconds(lambda: scan(str(trace)))
        for config in ("v100", "rtx"):
            host = processor_seconds(
                lambda c=config: subprocess.run(command(trace, c), check=True, stdout=subprocess.DEVNULL)
            )
            row = (f"{instructions:.2f}", f"{host:.2f}", f"{instructions / host:.1f}", f"{reading:.2f}")
            table.add_row(kind.__name__, config, *row, f"{host / reading:.1f}")
    return table


def measure_memory(folder: Path) -> Table:
    table = Table("CTAs", "trace MiB", "trace ratio", "peak MiB", "peak ratio", title="Peak memory on v100")
    trace = folder / "kernel-1.traceg"
    first: tuple[float, float] | None = None
    for ctas in (700, 1400, 2800, 5600):
        write_trace(trace, streaming, ctas)
        process = [sys.executable, "-S", "-c", MEASURE, *command(trace, "v100")]
        peak = int(subprocess.run(process, check=True, capture_output=True, text=True).stdout) / 1024
        size = trace.stat().st_size / 2**20
        first = first or (size, peak)
        table.add_row(str(ctas), f"{size:.0f}", f"{size / first[0]:.1f}", f"{peak:.0f}", f"{peak / first[1]:.2f}")
    return table


def main() -> None:
    console = Console()
    with tempfile.TemporaryDirectory() as folder:
        console.print(measure_speed(Path(folder)))
        console.print(measure_memory(Path(folder)))


if __name__ == "__main__":
    main()

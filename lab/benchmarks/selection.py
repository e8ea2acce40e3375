"""A program of a million launches: its list read, its census read, a selection drawn, written and loaded.

    python lab/benchmarks/selection.py [FOLDER] [--launches 1000000]

The launches repeat 40 kernels in 300 shapes, in iterations of 2,000 launches that vary a little. Each step runs in a process of
its own; seconds are processor time, memory the peak of the process (VmHWM). The list names 1,000 trace files, each many times.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ITERATION, KERNELS, SHAPES, FILES = 2000, 40, 300, 1000
HEADER = (
    "kernel id, kernel mangled name, grid_dimX, grid_dimY, grid_dimZ, #blocks, block_dimX, block_dimY, block_dimZ, #threads, "
    "total_insts, total_reported_insts\n"
)
STEPS = {
    "read the list": "from kernelpoint.traces import read_trace_list\n"
    "print(len(read_trace_list('{folder}/kernelslist.g').paths))",
    "read the census": "from kernelpoint.selection import read_census\nfrom pathlib import Path\n"
    "print(read_census(Path('{folder}/stats_ctx_0x1'), None, print).size)",
    "select, 5 %": "import sys\nsys.argv = ['kernelpoint', 'select', '{folder}/stats_ctx_0x1', '-o', '{folder}/five', "
    "'--relative-error', '0.05']\nfrom kernelpoint.cli import main\nmain()",
    "select, 1 %": "import sys\nsys.argv = ['kernelpoint', 'select', '{folder}/stats_ctx_0x1', '-o', '{folder}/one', "
    "'--relative-error', '0.01']\nfrom kernelpoint.cli import main\nmain()",
    "load the selection": "from kernelpoint.selection import Selection\nfrom pathlib import Path\n"
    "print(int(Selection.load(Path('{folder}/one/selection.kpselect')).traced.sum()))",
}


def write_program(folder: Path, launches: int) -> None:
    """The list and the census of a program."""
    random = np.random.default_rng(0)
    kernel, grid = random.integers(0, KERNELS, SHAPES), random.integers(1, 2000, SHAPES)
    iteration = random.integers(0, SHAPES, ITERATION)
    shape = np.tile(iteration, -(-launches // ITERATION))[:launches]
    odd = random.random(launches) < 0.001
    shape[odd] = random.integers(0, SHAPES, int(odd.sum()))
    with (folder / "stats_ctx_0x1").open("w") as file:
        file.write(HEADER)
        for number, s in enumerate(shape.tolist(), 1):
            g = grid[s]
            file.write(
                f"kernel-{number}-ctx_0x1.trace.xz, _Z7kernel{kernel[s]:02d}Pf, {g}, 1, 1, {g}, 256, 1, 1, 256, 0,0\n"
            )
    for number in range(FILES):
        (folder / f"kernel-{number}.traceg").touch()
    with (folder / "kernelslist.g").open("w") as file:
        file.writelines(f"kernel-{number % FILES}.traceg\n" for number in range(launches))


def main() -> None:
    """Print a line for each step."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--launches", type=int, default=1_000_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = arguments.folder or Path(made)
        write_program(folder, arguments.launches)
        for name, code in STEPS.items():
            own = "\nimport resource, sys\nu = resource.getrusage(resource.RUSAGE_SELF)\n"
            report = own + "print(f'{u.ru_utime + u.ru_stime:.1f} s, {u.ru_maxrss / 1024:.0f} MiB', file=sys.stderr)"
            program = f"try:\n{_indented(code.format(folder=folder))}\nexcept SystemExit: pass{report}"
            done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
            lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
            print(f"{name}: {lines[-1]}", *(f"    {line}" for line in lines[:-1][:3]), sep="\n", flush=True)
        size = sum(path.stat().st_size for path in (folder / "one").iterdir())
        census = (folder / "stats_ctx_0x1").stat().st_size
        print(f"census {census / 1e6:.0f} MB, selection at 1 % {size / 1e6:.1f} MB")
        print(f"(this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB)")


def _indented(code: str) -> str:
    return "\n".join(f"    {line}" for line in code.splitlines())


if __name__ == "__main__":
    main()

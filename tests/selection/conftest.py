import pytest
from profiler_files import CENSUS_HEAD
from simulated_host import SimulatedHost
from trace_writer import small_trace

KERNELS = (("_Z4gemmPf", 64, 256), ("_Z4biasv", 8, 128), ("_Z4reluv", 16, 128), ("_Z3sumPf", 4, 64))
LAUNCHES = 400


def kernel_of(launch):
    """Name, grid and block of a launch: a loop of four kernels, the first of which changes its grid half way."""
    name, grid, block = KERNELS[launch % 4]
    return name, grid + (launch >= LAUNCHES // 2 and launch % 4 == 0), block


@pytest.fixture
def census(tmp_path):
    """A census of Accel-Sim's tracer, of a program of 400 launches; none was traced."""
    rows = []
    for launch in range(LAUNCHES):
        name, grid, block = kernel_of(launch)
        file = f"kernel-{launch + 1}-ctx_0x5d0.trace.xz"
        rows.append(f"{file}, {name}, {grid}, 1, 1, {grid}, {block}, 1, 1, {block}, 0,0\n")
    path = tmp_path / "stats_ctx_0x5d0"
    path.write_text(CENSUS_HEAD + "".join(rows))
    return path


@pytest.fixture
def trace(tmp_path):
    """Does what the tracer does with a selection's script: traces of the numbers, and their list; the list."""

    def make(numbers, name="traces"):
        folder = tmp_path / name
        folder.mkdir()
        for number in numbers:
            kernel, grid, block = kernel_of(number - 1)
            fields = {"kernel name": kernel, "kernel id": str(number)}
            text = small_trace("", f"({grid},1,1)", f"({block},1,1)", **fields)
            (folder / f"kernel-{number}-ctx_0x5d0.traceg").write_text(text)
        lines = ["MemcpyHtoD,0x00007f0000000000,4096", *(f"kernel-{n}-ctx_0x5d0.traceg" for n in numbers)]
        (folder / "kernelslist.g").write_text("\n".join(lines) + "\n")
        return folder / "kernelslist.g"

    return make


@pytest.fixture
def host(tmp_path):
    """A host whose launches take times by kernel, with a little spread."""
    import numpy as np

    spread = np.random.default_rng(3).normal(1.0, 0.02, LAUNCHES)
    cycles = np.array([kernel_of(launch)[1] * 100 for launch in range(LAUNCHES)]) * spread
    return SimulatedHost(cycles.astype(int), tmp_path)

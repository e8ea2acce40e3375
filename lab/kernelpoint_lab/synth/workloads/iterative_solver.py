"""Conjugate gradients, time step after time step, on meshes of several sizes; each solve runs until it converges."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from kernelpoint.randomness import generator
from kernelpoint_lab.synth.families.elementwise import elementwise
from kernelpoint_lab.synth.families.rows import reduction
from kernelpoint_lab.synth.families.sparse import Rows, sparse_matrix, spmv
from kernelpoint_lab.synth.launch import Launch, Memory
from kernelpoint_lab.synth.lists import HostCopy
from kernelpoint_lab.synth.sizes import Size, several, single

TOLERANCE = 1e-6
MOST_ITERATIONS = 200
SHIFTS = 2.0 ** -np.arange(-1, 9)  # added to the diagonal by a time step; small ones converge slowly
CASES = 3  # right-hand sides per mesh


@dataclass(frozen=True)
class Shape:
    """Sizes of the meshes that a solve runs on."""

    rows: tuple[int, ...] = several(Size("rows of each mesh, from coarse to fine", 64, 1 << 22, count=(1, 8), rising=True))
    degree: int = single(Size("mean entries of a row", 2, 64))


SHAPES = {
    "small": Shape((4096, 8192, 16384), 8),
    "medium": Shape((16384, 32768, 65536), 8),
    "large": Shape((32768, 65536, 131072), 8),
}


class System:
    """A graph Laplacian with vectors on the device, and the launches of a solve."""

    def __init__(self, rng: np.random.Generator, rows: int, degree: int, memory: Memory) -> None:
        self.matrix = Rows.place(*sparse_matrix(rng, rows, degree), memory)
        self.values = memory.tensor(len(self.matrix.columns))
        self.b, self.x, self.r, self.p, self.ap = (memory.tensor(rows) for _ in range(5))
        self.ctas = -(-rows // 1024)
        self.partial, self.scalar = memory.tensor(self.ctas), memory.tensor(1)
        self.cases = rng.standard_normal((CASES, rows))
        self.iterations = cache(self._iterations)

    def _iterations(self, case: int, shift: float) -> int:
        """Iterations that conjugate gradients take on (Laplacian + shift) x = b from x = 0, in float64."""
        r, p = self.cases[case].copy(), self.cases[case].copy()
        norm = stop = _dot(r, r)
        for iteration in range(1, MOST_ITERATIONS):
            ap = self._multiply(p, shift)
            alpha = norm / _dot(p, ap)
            r -= alpha * ap
            previous, norm = norm, _dot(r, r)
            if norm <= TOLERANCE**2 * stop:
                return iteration
            p = r + norm / previous * p
        return MOST_ITERATIONS

    def _multiply(self, x: np.ndarray, shift: float) -> np.ndarray:
        """Off-diagonal entries are -1, the diagonal their number plus `shift`; every row holds its diagonal."""
        starts = self.matrix.starts
        sums = np.add.reduceat(x[self.matrix.columns], starts[:-1])
        return np.asarray((np.diff(starts) + shift) * x - sums)

    def _dot(self, *names: str) -> list[Launch]:
        vectors = [getattr(self, name) for name in names]
        first = reduction(vectors, self.partial, self.matrix.count, self.ctas)
        return [first, reduction([self.partial], self.scalar, self.ctas, 1, 128)]

    def _update(self, kind: str, source: str, target: str) -> Launch:
        x, y = getattr(self, source), getattr(self, target)
        return elementwise(kind, [x, y] if kind == "axpy" else [x], y, self.matrix.count, 128)

    @cached_property
    def start(self) -> list[Launch]:
        """Launches at the start of a solve: first residual and first direction."""
        return [
            spmv(self.matrix, self.values, self.x, self.ap),
            self._update("copy", "b", "r"),
            self._update("axpy", "ap", "r"),
            self._update("copy", "r", "p"),
            *self._dot("r", "r"),
        ]

    @cached_property
    def step(self) -> list[Launch]:
        """Launches of one iteration of a solve."""
        return [
            spmv(self.matrix, self.values, self.p, self.ap),
            *self._dot("p", "ap"),
            self._update("axpy", "p", "x"),
            self._update("axpy", "ap", "r"),
            *self._dot("r", "r"),
            self._update("axpy", "r", "p"),
        ]


def _dot(x: np.ndarray, y: np.ndarray) -> float:
    """Numerics: a plain pairwise sum; BLAS could change an iteration count with its number of threads."""
    return float((x * y).sum())


def sequence(shape: Shape, seed: int) -> Iterator[Launch | HostCopy]:
    """Endless launches: time steps with a drawn load case, whose length and mesh adapt by at most one level at a time."""
    rng, memory = generator(seed, "synth", 4), Memory()
    meshes = [(generator(seed, "synth", 5, level), rows) for level, rows in enumerate(shape.rows)]
    systems = [System(mesh, rows, shape.degree, memory) for mesh, rows in meshes]
    for system in systems:
        yield HostCopy(system.matrix.starts_at)
        yield HostCopy(system.matrix.columns_at)
        yield HostCopy(system.values)
    level, shift = len(systems) - 1, len(SHIFTS) // 2
    while True:
        system = systems[level]
        yield HostCopy(system.b)
        yield from system.start
        for _ in range(system.iterations(int(rng.integers(CASES)), float(SHIFTS[shift]))):
            yield from system.step
        level = int(np.clip(level + rng.integers(-1, 2), 0, len(systems) - 1))
        shift = int(np.clip(shift + rng.integers(-1, 2), 0, len(SHIFTS) - 1))

"""Kernel families by name, with parameters and their defaults at three scales."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from kernelpoint_lab.synth.families import dense, elementwise, programs, rows, sparse
from kernelpoint_lab.synth.launch import Launch, Memory
from kernelpoint_lab.synth.sizes import Size

SCALES = ("small", "medium", "large")
Sizes = Mapping[str, int]
LIMITS = {"block": (32, 1024), "degree": (2, 4096), "bins": (1, 8192), "heads": (1, 1024), "batch": (1, 65535)}
OTHER_LIMITS = (1, 1 << 30)


@dataclass(frozen=True)
class Family:
    """A family that `kernelpoint lab synth NAME` can write alone.

    Attributes:
        parameters: default of each parameter at the scales small, medium, large; large has at least 1,000 CTAs.
        build: function that makes the launch from fresh memory, a generator and all parameters.
        multiples: number that each parameter must be a multiple of.
        widths: allowed element widths (`width`).
    """

    name: str
    what: str
    parameters: Mapping[str, tuple[int, int, int]]
    build: Callable[[Memory, np.random.Generator, Sizes], Launch]
    multiples: Mapping[str, int]
    widths: tuple[int, ...] = (4,)

    def size(self, parameter: str) -> Size:
        """Allowed values of a size of this family."""
        (low, high), multiple = LIMITS.get(parameter, OTHER_LIMITS), self.multiples.get(parameter, 1)
        among = self.widths if parameter == "width" else ()
        return Size(parameter, max(low, multiple), high, multiple, among=among)

    def defaults(self, scale: str) -> dict[str, int]:
        """Default sizes of this family at one scale.

        >>> FAMILIES["gemm"].defaults("small")
        {'m': 128, 'n': 128, 'k': 64, 'width': 4}
        """
        return {name: values[SCALES.index(scale)] for name, values in self.parameters.items()}


def _copy(memory: Memory, _: np.random.Generator, p: Sizes) -> Launch:
    source, target = (memory.tensor(p["n"], p["width"]) for _ in range(2))
    return elementwise.elementwise("copy", [source], target, p["n"], p["block"])


def _axpy(memory: Memory, _: np.random.Generator, p: Sizes) -> Launch:
    x, y = (memory.tensor(p["n"], p["width"]) for _ in range(2))
    return elementwise.elementwise("axpy", [x, y], y, p["n"], p["block"])


def _stencil(memory: Memory, _: np.random.Generator, p: Sizes) -> Launch:
    source, target = (memory.tensor(p["rows"] * p["columns"], p["width"]) for _ in range(2))
    return elementwise.stencil(source, target, p["rows"], p["columns"])


def _reduction(memory: Memory, _: np.random.Generator, p: Sizes) -> Launch:
    source = memory.tensor(p["n"], p["width"])
    ctas = -(-p["n"] // (4 * p["block"]))
    return rows.reduction([source], memory.tensor(ctas, p["width"]), p["n"], ctas, p["block"])


def _gemm(memory: Memory, _: np.random.Generator, p: Sizes) -> Launch:
    m, n, k, width = (p[name] for name in ("m", "n", "k", "width"))
    return dense.gemm(memory.tensor(m * k, width), memory.tensor(k * n, width), memory.tensor(m * n, width), m, n, k)


def _gemv(memory: Memory, _: np.random.Generator, p: Sizes) -> Launch:
    weights = memory.tensor(p["rows"] * p["columns"], 2)
    return dense.gemv(weights, memory.tensor(p["columns"], 2), memory.tensor(p["rows"], 2), p["rows"], p["columns"])


def _softmax(memory: Memory, _: np.random.Generator, p: Sizes) -> Launch:
    source, target = (memory.tensor(p["rows"] * p["columns"]) for _ in range(2))
    return rows.softmax(source, target, p["rows"], p["columns"])


def _layer_norm(memory: Memory, _: np.random.Generator, p: Sizes) -> Launch:
    source, target = (memory.tensor(p["rows"] * p["columns"]) for _ in range(2))
    return rows.layer_norm(source, memory.tensor(2 * p["columns"]), target, p["rows"], p["columns"], p["block"])


def _scan(memory: Memory, _: np.random.Generator, p: Sizes) -> Launch:
    source, target = (memory.tensor(p["n"]) for _ in range(2))
    return rows.scan(source, target, memory.tensor(-(-p["n"] // p["block"])), p["n"], p["block"])


def _attention(memory: Memory, _: np.random.Generator, p: Sizes) -> Launch:
    heads, length = p["heads"], p["length"]
    keys, values = (memory.tensor(heads * length * 64, 2) for _ in range(2))
    out = memory.tensor(-(-length // 64) * heads * 64, 2)
    return dense.attention(memory.tensor(heads * 64, 2), keys, values, out, heads, length, length)


def _convolution(memory: Memory, _: np.random.Generator, p: Sizes) -> Launch:
    batch, channels, size = p["batch"], p["channels"], p["size"]
    image, out = (memory.tensor(batch * channels * size * size) for _ in range(2))
    weights = memory.tensor(9 * channels * channels)
    return elementwise.convolution(image, weights, out, batch, (channels, channels), size, p["block"])


def _pooling(memory: Memory, _: np.random.Generator, p: Sizes) -> Launch:
    planes, size = p["channels"], p["size"]
    image, out = memory.tensor(planes * size * size), memory.tensor(planes * (size // 2) ** 2)
    return elementwise.pooling(image, out, planes, size, p["block"])


def _gather(memory: Memory, rng: np.random.Generator, p: Sizes) -> Launch:
    index = rng.integers(0, 4 * p["rows"], p["rows"])
    table = memory.tensor(4 * p["rows"] * p["columns"], p["width"])
    target = memory.tensor(p["rows"] * p["columns"], p["width"])
    return sparse.gather(table, memory.tensor(p["rows"]), target, index, p["columns"])


def _spmv(memory: Memory, rng: np.random.Generator, p: Sizes) -> Launch:
    matrix = sparse.Rows.place(*sparse.sparse_matrix(rng, p["rows"], p["degree"]), memory)
    entries = memory.tensor(len(matrix.columns), p["width"])
    x, y = (memory.tensor(p["rows"], p["width"]) for _ in range(2))
    return sparse.spmv(matrix, entries, x, y, p["block"])


def _bfs(memory: Memory, rng: np.random.Generator, p: Sizes) -> Launch:
    graph = sparse.Rows.place(*sparse.power_law_graph(rng, p["rows"], p["degree"]), memory)
    depth, queue, following = (memory.tensor(p["rows"]) for _ in range(3))
    level = max(sparse.bfs_levels(graph, 0), key=lambda frontier: len(frontier.vertices))
    return sparse.bfs(graph, level, depth, (queue, following, memory.tensor(1)), p["block"])


def _histogram(memory: Memory, rng: np.random.Generator, p: Sizes) -> Launch:
    bins = np.minimum((rng.exponential(p["bins"] / 8, p["n"])).astype(np.int64), p["bins"] - 1)
    ctas = -(-p["n"] // (4 * p["block"]))
    return sparse.histogram(memory.tensor(p["n"]), memory.tensor(p["bins"]), bins, p["bins"], ctas, p["block"])


def _program(memory: Memory, _: np.random.Generator, p: Sizes) -> Launch:
    return programs.random_program(memory, p["number"], p["ctas"], p["block"], p["trips"])


_BLOCK = {"block": (256, 256, 256)}
_WIDTH = {"width": (4, 4, 4)}
_WARPS = {"block": 32}


_VECTOR = {"n": (16384, 65536, 524288), **_BLOCK}
_LONG_VECTOR = {"n": (32768, 131072, 1 << 20), **_BLOCK}
_FLOATS = (2, 4, 8)
_FAMILIES = (
    Family("copy", "target[i] = source[i]", {**_VECTOR, **_WIDTH}, _copy, _WARPS, (1, 2, 4, 8, 16)),
    Family("axpy", "y[i] = a x[i] + y[i]", {**_VECTOR, **_WIDTH}, _axpy, _WARPS, _FLOATS),
    Family("stencil", "five-point stencil on a grid",
           {"rows": (128, 256, 512), "columns": (128, 256, 512), **_WIDTH}, _stencil, {}, _FLOATS),
    Family("reduction", "sum: grid-stride loop, shuffles, shared memory",
           {**_LONG_VECTOR, **_WIDTH}, _reduction, {"block": 64}, (2, 4)),
    Family("gemm", "tiled C = A B on FFMA (width 4) or tensor cores (width 2)",
           {"m": (128, 512, 2048), "n": (128, 512, 2048), "k": (64, 64, 64), **_WIDTH},
           _gemm, {"n": 8, "k": 16}, (2, 4)),
    Family("gemv", "y = W x, half precision, warps take rows",
           {"rows": (512, 2048, 16384), "columns": (256, 256, 512)}, _gemv, {"columns": 8}),
    Family("softmax", "row-wise softmax, a warp per row",
           {"rows": (128, 512, 4096), "columns": (128, 128, 128)}, _softmax, {}),
    Family("layer_norm", "row-wise normalisation, a CTA per row",
           {"rows": (64, 256, 1024), "columns": (256, 256, 256), "block": (128, 128, 128)}, _layer_norm,
           {"block": 64}),
    Family("scan", "prefix sums within CTAs", dict(_LONG_VECTOR), _scan, {"block": 64}),
    Family("attention", "one query against a cache of keys and values",
           {"heads": (4, 8, 32), "length": (256, 512, 2048)}, _attention, {}),
    Family("convolution", "direct 3 x 3 convolution",
           {"batch": (1, 4, 16), "channels": (8, 16, 16), "size": (16, 16, 32), **_BLOCK}, _convolution, _WARPS),
    Family("pooling", "2 x 2 max pooling",
           {"channels": (64, 256, 1024), "size": (16, 16, 32), **_BLOCK}, _pooling, {**_WARPS, "size": 2}),
    Family("gather", "rows of a table at random indices",
           {"rows": (256, 1024, 8192), "columns": (64, 64, 64), **_WIDTH}, _gather, {}, (1, 2, 4, 8, 16)),
    Family("spmv", "sparse matrix-vector product, a thread per row",
           {"rows": (4096, 16384, 131072), "degree": (8, 8, 8), "block": (128, 128, 128), **_WIDTH},
           _spmv, _WARPS, (4, 8)),
    Family("bfs", "the widest level of a breadth-first search on a power-law graph",
           {"rows": (4096, 16384, 131072), "degree": (8, 8, 8), "block": (128, 128, 64)}, _bfs, _WARPS),
    Family("histogram", "shared-memory atomics over skewed bins",
           {**_LONG_VECTOR, "bins": (64, 256, 256)}, _histogram, {"block": 64}),
    Family("program", "a random warp program: mix, dependences, strides, divergence and reuse drawn from its number",
           {"number": (1, 1, 1), "ctas": (8, 64, 1024), "block": (64, 128, 128), "trips": (1, 2, 2)}, _program, _WARPS),
)  # fmt: skip

FAMILIES: dict[str, Family] = {family.name: family for family in _FAMILIES}

"""The same graph built slowly and plainly in Python from the text of a trace: the oracle the C++ builder is tested against.

It shares the schema's names with the fast builder and nothing else: it reads with the plain reader (traces without bulk
copies) and classifies opcodes through the C++ table only for their unit and memory space.
"""

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from slow_reader import SlowInstruction, read_slowly

from kernelpoint import _native
from kernelpoint.graphs.graph import SCHEMA, TraceGraph

_FILES = 4  # R, UR, P and UP
_ZERO = {255, 1 << 8 | 63, 2 << 8 | 7, 3 << 8 | 7}
_SPACES = ("none", "global", "local", "shared", "constant", "generic", "texture")


@dataclass(frozen=True)
class Step:
    """An executed instruction without its addresses."""

    pc: int
    mask: int
    opcode: str
    destinations: tuple[int, ...]
    sources: tuple[int, ...]
    width: int
    lanes: int
    sectors: int
    regular: bool
    stride: int
    repeated: bool
    step: int


def step_of(executed: SlowInstruction, previous: dict[int, int]) -> Step:
    """The step of an instruction; `previous` is the first lane's last address at each pc of the warp."""
    addresses = executed.addresses
    sectors = {s for a in addresses for s in range(a // 32, (a + executed.width - 1) // 32 + 1)}
    strides = {b - a for a, b in pairwise(addresses)}
    regular = bool(addresses) and len(strides) <= 1
    stride = strides.pop() if regular and strides else 0
    repeated = bool(addresses) and executed.pc in previous
    distance = addresses[0] - previous[executed.pc] if repeated else 0
    if addresses:
        previous[executed.pc] = addresses[0]
    access = (len(addresses), len(sectors), regular, stride, repeated, distance)
    return Step(executed.pc, executed.mask, executed.opcode, executed.destinations, executed.sources, executed.width, *access)


Operands = tuple[tuple[int, ...], ...] | None
Values = list[Operands]


def warps_of(path: str | os.PathLike[str]) -> Iterator[tuple[int, tuple[Step, ...], Values]]:
    """Every warp that executed anything: its position in the launch, its steps, and their operand values."""
    header, ctas = read_slowly(Path(path).read_text())
    grid, block = (tuple(int(word) for word in header[f"{of} dim"].strip("()").split(",")) for of in ("grid", "block"))
    for cta in ctas:
        linear = cta.index[0] + grid[0] * (cta.index[1] + grid[1] * cta.index[2])
        for warp, instructions in cta.warps:
            previous: dict[int, int] = {}
            steps = tuple(step_of(instruction, previous) for instruction in instructions)
            if steps:
                yield linear * math.ceil(math.prod(block) / 32) + warp, steps, [i.values for i in instructions]


NAMES = ("mean", "std", "median", "min", "max", "p25", "p75", "skewness")


def value_statistics(values: tuple[int, ...], mask: int, kind: str) -> dict[str, float]:
    """The value columns of a variable node; empty where no lane executed."""
    lanes = [lane for lane in range(32) if mask >> lane & 1]
    bits = np.array([values[lane if len(values) == 32 else 0] for lane in lanes], np.uint64)
    if not len(bits):
        return {}
    signed = np.int64 if (bits >= 2**32).any() else np.int32
    if kind == "floating":
        numbers = np.nan_to_num(bits.astype(np.uint32).view(np.float32).astype(float), posinf=np.inf, neginf=-np.inf)
        numbers *= 65536
    elif kind == "address":
        numbers = (bits - bits[0]).astype(np.uint64).astype(signed).astype(float)
        numbers -= numbers.min()
    else:
        numbers = bits.astype(signed).astype(float)
    logs = np.sign(numbers) * np.minimum(np.log2(1 + np.abs(numbers)) / 32, 2)
    varies = logs.min() != logs.max()
    skewness = ((logs - logs.mean()) ** 3).mean() / logs.std() ** 3 / 4 if varies else 0.0
    middle, low, high = np.percentile(logs, [50, 25, 75])
    statistics = (logs.mean(), logs.std() if varies else 0.0, middle, logs.min(), logs.max(), low, high, skewness)
    return {f"value_{name}": float(v) for name, v in zip(NAMES, statistics, strict=True)} | {"has_values": 1.0}


class _Warp:
    """The nodes and edges of one warp, numbered from 0."""

    def __init__(self, steps: tuple[Step, ...], largest_pc: int, values: Values = []) -> None:  # noqa: B006
        self.nodes: list[tuple[str, int, int, dict[str, float]]] = []
        self.edges: list[tuple[int, int, str]] = []
        self.versions: dict[int, int] = {}
        self.repeats: dict[int, int] = {}
        self.previous: int | None = None
        self.seen: dict[int, tuple[tuple[int, ...], int, bool]] = {}  # variable -> values, mask, whether a reader listed them
        self.floating: set[int] = set()
        for step, listed in zip(steps, [*values, *[None] * (len(steps) - len(values))], strict=False):
            self.add(step, step.pc / largest_pc if largest_pc else 0.0, listed)
        self.addvalue_statistics()
        for _, _, _, values in self.nodes:
            if "log_reads" in values:
                values["log_reads"] = math.log2(1 + values["log_reads"]) / 8

    def node(self, kind: str, token: int, modifiers: int, values: dict[str, float]) -> int:
        self.nodes.append((kind, token, modifiers, values))
        return len(self.nodes) - 1

    def read(self, register: int) -> int:
        if register not in self.versions:
            values = {"is_input": 1.0, "log_reads": 0.0}
            self.versions[register] = self.node("variable", _variable_token(register, True), 0, values)
        self.nodes[self.versions[register]][3]["log_reads"] += 1
        return self.versions[register]

    def note(self, variable: int, step: Step, operands: Operands, number: int, is_read: bool) -> None:
        if operands is None:
            return
        if step.opcode.startswith("MUFU") or (step.opcode[0] == "F" and _unit(step) == "single_precision"):
            self.floating.add(variable)
        if variable not in self.seen or (is_read and not self.seen[variable][2]):
            self.seen[variable] = (operands[number], step.mask, is_read)

    def holds_address(self, variable: int) -> bool:
        """True if memory is accessed at the variable, or something without a memory access makes such a variable of it."""
        for source, target, relation in self.edges:
            if source != variable or relation not in ("left_source", "right_source"):
                continue
            if self.nodes[target][0] == "pseudo":
                return True
            if "unit_memory" in self.nodes[target][3]:
                continue
            written = [b for a, b, r in self.edges if a == target and r == "destination"]
            if any(self.holds_address(result) for result in written):
                return True
        return False

    def addvalue_statistics(self) -> None:
        for variable, (values, mask, _) in self.seen.items():
            kind = "integer" if not self.holds_address(variable) else "address"
            statistics = value_statistics(values, mask, "floating" if variable in self.floating else kind)
            self.nodes[variable][3].update(statistics)

    def add(self, step: Step, position: float, operands: Operands) -> None:
        reads = [None if register in _ZERO else self.read(register) for register in step.sources]
        for i, variable in enumerate(reads):
            if variable is not None:
                self.note(variable, step, operands, len(step.destinations) + i, True)
        opcode = _native.classify_opcode(step.opcode)
        pseudo = None
        if step.width > 0:
            pseudo = self.node("pseudo", _pseudo_token(opcode), 0, _pseudo_values(step))
        values = _instruction_values(step, opcode, position, self.repeats.get(step.pc, 0))
        node = self.node("instruction", _opcode_token(step.opcode), _modifier_token(step.opcode), values)
        self.repeats[step.pc] = self.repeats.get(step.pc, 0) + 1
        if self.previous is not None:
            self.edges.append((self.previous, node, "control_flow"))
        self.previous = node
        for i, variable in enumerate(reads):
            if variable is not None:
                target = pseudo if i == 0 and pseudo is not None else node
                self.edges.append((variable, target, "left_source" if i == 0 else "right_source"))
        if pseudo is not None:
            self.edges.append((pseudo, node, "memory_reference"))
        for i, register in enumerate(step.destinations):
            if register not in _ZERO:
                token = _variable_token(register, False)
                self.versions[register] = self.node("variable", token, 0, {"log_reads": 0.0})
                self.edges.append((node, self.versions[register], "destination"))
                self.note(self.versions[register], step, operands, i, False)


def _unit(step: Step) -> str:
    return _native.classify_opcode(step.opcode)["unit"]


def _opcode_token(text: str) -> int:
    base = text.split(".")[0]
    base = SCHEMA.shared_tokens.get(base, base)
    return SCHEMA.opcodes.index(base) + 1 if base in SCHEMA.opcodes else 0


def _modifier_token(text: str) -> int:
    modifiers = text.partition(".")[2]
    value = 2166136261
    for byte in modifiers.encode():
        value = ((value ^ byte) * 16777619) % 2**32
    return 1 + value % (SCHEMA.modifier_count - 1) if modifiers else 0


def _variable_token(register: int, is_input: bool) -> int:
    return 1 + len(SCHEMA.opcodes) + 2 * (register >> 8) + is_input


def _pseudo_token(opcode: dict) -> int:
    direction = 2 if opcode["is_atomic"] else 1 if opcode["is_store"] else 0
    return 1 + len(SCHEMA.opcodes) + 2 * _FILES + 3 * _SPACES.index(opcode["space"]) + direction


def _pseudo_values(step: Step) -> dict[str, float]:
    efficiency = min(1.0, step.lanes * step.width / (32 * step.sectors)) if step.sectors else 0.0
    return {
        "log_width": math.log2(1 + step.width) / 5,
        "active_lanes": step.lanes / 32,
        "log_sectors": math.log2(1 + step.sectors) / 6,
        "sector_efficiency": efficiency,
        "is_regular": float(step.regular),
        "stride_sign": float(np.sign(step.stride)),
        "log_stride": math.log2(1 + abs(step.stride)) / 16,
        "has_step": float(step.repeated),
        "step_sign": float(np.sign(step.step)),
        "log_step": math.log2(1 + abs(step.step)) / 16,
    }


def _instruction_values(step: Step, opcode: dict, position: float, earlier: int) -> dict[str, float]:
    values = {f"pc_sin_{f}": math.sin(math.pi * f * position) for f in (1, 2, 4, 8)}
    values |= {f"pc_cos_{f}": math.cos(math.pi * f * position) for f in (1, 2, 4, 8)}
    values |= {
        "active_lanes": step.mask.bit_count() / 32,
        "log_repeat": math.log2(1 + earlier) / 16,
        "log_width": math.log2(1 + step.width) / 5,
        "source_count": len(step.sources) / 6,
        "destination_count": len(step.destinations) / 2,
    }
    values |= {f: float(opcode[f]) for f in ("is_load", "is_store", "is_atomic", "is_branch", "is_barrier", "is_exit")}
    if opcode["unit"] != "other":
        values[f"unit_{opcode['unit']}"] = 1.0
    return values


Chosen = tuple[tuple[Step, ...], Values, int]


def _choose(path: str | os.PathLike[str], max_nodes: int) -> tuple[list[Chosen], int, int, bool]:
    """Chosen (steps, values, weight), largest pc, warps in all, and whether the only warp was cut."""
    weights: dict[tuple[Step, ...], int] = {}
    keys: dict[tuple[Step, ...], int] = {}
    values_of: dict[tuple[Step, ...], Values] = {}
    for position, steps, values in warps_of(path):
        weights[steps] = weights.get(steps, 0) + 1
        key = position * 11400714819323198485 % 2**64
        if key <= keys.get(steps, 2**64):
            keys[steps], values_of[steps] = key, values
    largest_pc = max((step.pc for steps in weights for step in steps), default=0)
    chosen: list[Chosen] = []
    nodes, truncated = 0, False
    for steps in sorted(weights, key=lambda s: (-weights[s], keys[s])):
        size = len(_Warp(steps, largest_pc).nodes)
        if nodes + size > max_nodes:
            if not chosen:
                chosen, truncated = [(_cut(steps, max_nodes), values_of[steps], weights[steps])], True
            break
        nodes += size
        chosen.append((steps, values_of[steps], weights[steps]))
    return chosen, largest_pc, sum(weights.values()), truncated


def _cut(steps: tuple[Step, ...], max_nodes: int) -> tuple[Step, ...]:
    while len(_Warp(steps, 1).nodes) > max_nodes:
        steps = steps[:-1]
    return steps


def build_graph_slow(path: str | os.PathLike[str], max_nodes: int) -> TraceGraph:
    """Result of `build_graph` for a plain-text trace, by an independent implementation."""
    chosen, largest_pc, total_warps, truncated = _choose(path, max_nodes)
    warps = [_Warp(steps, largest_pc, values) for steps, values, _ in chosen]
    starts = np.cumsum([0] + [len(warp.nodes) for warp in warps])
    nodes = [node for warp in warps for node in warp.nodes]
    edges = [(a + s, b + s, r) for warp, s in zip(warps, starts, strict=False) for a, b, r in warp.edges]
    features = np.zeros((len(nodes), SCHEMA.feature_count), np.float32)
    for row, (kind, _, _, values) in enumerate(nodes):
        for name, value in values.items():
            features[row, SCHEMA.column(kind, name)] = value
    return TraceGraph(
        kinds=np.array([SCHEMA.node_kinds.index(kind) for kind, *_ in nodes], np.uint8),
        tokens=np.array([node[1:3] for node in nodes], np.int32).reshape(-1, 2),
        features=features,
        edge_index=np.array([(a, b) for a, b, _ in edges], np.int64).reshape(-1, 2).T,
        edge_type=np.array([SCHEMA.relations.index(r) for _, _, r in edges], np.int64),
        warp_starts=starts.astype(np.int64),
        warp_weights=np.array([weight for *_, weight in chosen], np.int64),
        total_warps=total_warps,
        left_out_warps=total_warps - sum(weight for *_, weight in chosen),
        truncated=truncated,
    )

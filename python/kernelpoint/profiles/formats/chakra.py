"""Execution traces of Chakra: the GPU's computing nodes are kernel launches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kernelpoint.profiles.chakra import COMP, is_chakra, is_kernel, read_trace, value_of
from kernelpoint.profiles.enclosing import MOST_PARTS, OPERATOR, with_one_operator
from kernelpoint.profiles.format import NOT_THIS, SIGNATURE, Beginning, ProfileFormat
from kernelpoint.program import UNKNOWN, Program, ProgramBuilder

ROOT = "[pytorch|profiler"  # begin of the names of nodes that stand for a whole thread


class Chakra(ProfileFormat):
    """Format of Chakra traces: nodes of type COMP_NODE that are not on the CPU, in the order of their ids. Collectives are
    left out.

    Ranges are annotations that a kernel's node depends on by control, and the outermost operator in the innermost; a node with
    an attribute `op_schema` that is not empty is an operator. Times are in whole microseconds there, unless KernelPoint wrote
    the trace; grids stand in no Chakra trace.
    """

    description = "Chakra execution trace"
    ranges = "a Chakra execution trace"

    @classmethod
    def certainty(cls, beginning: Beginning) -> int:
        """Certainty that a file with this beginning is a Chakra trace."""
        return SIGNATURE if is_chakra(beginning.raw) else NOT_THIS

    def read(self, path: Path, device: int | None) -> Program:
        """Read the profile in a Chakra trace."""
        builder, (_, read) = ProgramBuilder(str(path)), read_trace(path)
        nodes = {node.id: node for node in read}
        for node in read:
            if is_kernel(node):
                nanoseconds = value_of(node, "nanoseconds", 1000.0 * node.duration_micros)
                stream, start = int(value_of(node, "stream", UNKNOWN)), 1000 * node.start_time_micros
                of_range = _path(node, nodes) if self.with_ranges else ""
                times = {"start": start, "duration": float(nanoseconds)}
                builder.add(node.name, stream=stream, order=node.id, range_path=of_range, **times)
            elif node.type != COMP:
                builder.leave_out("node of communication or memory")
        return builder.finish(device)


def _path(node: Any, nodes: dict[int, Any]) -> str:
    """Path of the ranges that a node depends on."""
    names: list[str] = []
    while node.ctrl_deps and node.ctrl_deps[0] in nodes and len(names) < MOST_PARTS:
        node = nodes[node.ctrl_deps[0]]
        if not node.name.startswith(ROOT):
            names.insert(0, (OPERATOR if value_of(node, "op_schema") else "") + node.name.replace("/", " "))
    return "/".join(with_one_operator(names))

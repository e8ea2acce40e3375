"""Operators and annotations in an execution trace of Chakra."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kernelpoint.profiles.chakra import is_kernel, read_trace, value_of
from kernelpoint.profiles.formats import chakra
from kernelpoint.ranges.enclosing import OPERATOR, with_one_operator
from kernelpoint.ranges.ranges import MOST_PARTS
from kernelpoint.ranges.source import ProfileSource

ROOT = "[pytorch|profiler"  # begin of the names of nodes that stand for a whole thread


class Chakra(ProfileSource):
    """Ranges of a Chakra trace: annotations that a kernel's node depends on by control, and the outermost operator in the
    innermost.

    A node with an attribute `op_schema` that is not empty is an operator.
    """

    description = "a Chakra execution trace"

    format = chakra.Chakra

    def paths_of_kernels(self, file: Path) -> list[str]:
        """Path of each kernel of the profile, in the profile's order."""
        nodes = {node.id: node for node in read_trace(file)[1]}
        return [_path(nodes[number], nodes) for number in sorted(nodes) if is_kernel(nodes[number])]


def _path(node: Any, nodes: dict[int, Any]) -> str:
    names: list[str] = []
    while node.ctrl_deps and node.ctrl_deps[0] in nodes and len(names) < MOST_PARTS:
        node = nodes[node.ctrl_deps[0]]
        if not node.name.startswith(ROOT):
            names.insert(0, (OPERATOR if value_of(node, "op_schema") else "") + node.name.replace("/", " "))
    return "/".join(with_one_operator(names))

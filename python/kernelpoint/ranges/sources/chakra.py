"""Operators and annotations in an execution trace of Chakra."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kernelpoint.profiles import Launches
from kernelpoint.profiles.chakra import is_chakra, is_kernel, read_trace, value_of
from kernelpoint.profiles.format import NOT_THIS, SIGNATURE, Beginning
from kernelpoint.profiles.formats import chakra
from kernelpoint.ranges.enclosing import OPERATOR, with_one_operator
from kernelpoint.ranges.ranges import MOST_PARTS
from kernelpoint.ranges.source import Log, RangeSource, matched

ROOT = "[pytorch|profiler"  # begin of the names of nodes that stand for a whole thread


class Chakra(RangeSource):
    """The nodes that a kernel's node depends on by control: those of annotations, and the outermost operator in the innermost.

    A node with an attribute `op_schema` that is not empty is an operator.
    """

    description = "a Chakra execution trace"

    @classmethod
    def certainty(cls, beginning: Beginning) -> int:
        """See RangeSource."""
        return SIGNATURE if is_chakra(beginning.raw) else NOT_THIS

    def paths(self, file: Path, launches: Launches, log: Log) -> list[str]:
        """See RangeSource."""
        nodes = {node.id: node for node in read_trace(file)[1]}
        kernels = [nodes[number] for number in sorted(nodes) if is_kernel(nodes[number])]
        return matched([_path(node, nodes) for node in kernels], chakra.Chakra().read(file, None), launches, log)


def _path(node: Any, nodes: dict[int, Any]) -> str:
    names: list[str] = []
    while node.ctrl_deps and node.ctrl_deps[0] in nodes and len(names) < MOST_PARTS:
        node = nodes[node.ctrl_deps[0]]
        if not node.name.startswith(ROOT):
            names.insert(0, (OPERATOR if value_of(node, "op_schema") else "") + node.name.replace("/", " "))
    return "/".join(with_one_operator(names))

"""Execution traces of Chakra: the GPU's computing nodes are kernel launches."""

from __future__ import annotations

from pathlib import Path

from kernelpoint.profiles.chakra import COMP, is_chakra, is_kernel, read_trace, value_of
from kernelpoint.profiles.format import NOT_THIS, SIGNATURE, Beginning, ProfileFormat
from kernelpoint.program import UNKNOWN, Program, ProgramBuilder


class Chakra(ProfileFormat):
    """Format of Chakra traces: nodes of type COMP_NODE that are not on the CPU, in the order of their ids. Collectives are
    left out.

    Times are in whole microseconds there, unless KernelPoint wrote the trace; grids stand in no Chakra trace.
    """

    description = "Chakra execution trace"

    @classmethod
    def certainty(cls, beginning: Beginning) -> int:
        """Certainty that a file with this beginning is a Chakra trace."""
        return SIGNATURE if is_chakra(beginning.raw) else NOT_THIS

    def read(self, path: Path, device: int | None) -> Program:
        """Read the profile in a Chakra trace."""
        builder = ProgramBuilder(str(path))
        for node in read_trace(path)[1]:
            if is_kernel(node):
                nanoseconds = value_of(node, "nanoseconds", 1000.0 * node.duration_micros)
                stream, start = int(value_of(node, "stream", UNKNOWN)), 1000 * node.start_time_micros
                builder.add(node.name, stream=stream, start=start, duration=float(nanoseconds), order=node.id)
            elif node.type != COMP:
                builder.leave_out("node of communication or memory")
        return builder.finish(device)

"""Trace lists and the copies from the host that stand in them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path

from kernelpoint.files import open_output, write_output
from kernelpoint_lab.synth.launch import Launch, Tensor
from kernelpoint_lab.synth.writer import Written, write_trace

LIST, DESCRIPTION = "kernelslist.g", "workload.json"


@dataclass(frozen=True)
class HostCopy:
    """A copy from host to device of a whole tensor."""

    tensor: Tensor

    def line(self) -> str:
        """Line of `kernelslist.g` for this copy.

        >>> HostCopy(Tensor(0x7F3000000000, 10)).line()
        'MemcpyHtoD,0x00007f3000000000,40\\n'
        """
        return f"MemcpyHtoD,0x{self.tensor.base:016x},{self.tensor.bytes}\n"


@dataclass
class Totals:
    """Counts of a written list: launches, files, bytes, warp instructions."""

    launches: int = 0
    files: int = 0
    bytes: int = 0
    warp_instructions: int = 0


def write_list(
    sequence: Iterable[Launch | HostCopy],
    directory: Path,
    launches: int,
    description: Mapping[str, object],
    version: int = 3,
    ending: str = "traceg",
    values: int | None = None,
    on_launch: Callable[[Totals], None] = lambda _: None,
) -> Totals:
    """Write the first `launches` launches of a sequence; equal launches share one trace file.

    Args:
        sequence: launches and host copies in program order; may be endless.
        directory: existing folder.
        launches: number of kernel lines in the list; copies before the last kernel line are kept.
        description: head of workload.json: name, parameters, seed.
        version: tracer version, 3 to 6.
        ending: file name suffix: `traceg` (text) or `tracez` (version 6 only).
        values: seed of the operand values, for version 6; None writes none.
        on_launch: function called after each launch.
    """
    written: dict[str, int] = {}
    distinct: list[Written] = []
    order: list[int] = []
    totals, numbers = Totals(), count(1)
    with open_output(directory / LIST) as lines:
        for item in sequence:
            if isinstance(item, HostCopy):
                lines.write(item.line())
                continue
            if item.key not in written:
                number = next(numbers)
                written[item.key] = len(distinct)
                distinct.append(write_trace(item, directory / f"kernel-{number}.{ending}", number, version, values))
                totals.files, totals.bytes = number, totals.bytes + distinct[-1].bytes
            order.append(written[item.key])
            lines.write(distinct[order[-1]].file + "\n")
            totals.launches += 1
            totals.warp_instructions += distinct[order[-1]].warp_instructions
            on_launch(totals)
            if totals.launches == launches:
                break
    document = {"version": 1, **description, "launches": [asdict(w) for w in distinct], "sequence": order}
    write_output(directory / DESCRIPTION, json.dumps(document, separators=(",", ":")) + "\n")
    return totals

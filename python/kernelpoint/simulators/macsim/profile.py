"""The printed output of a full run of MacSim."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TextIO

from kernelpoint.errors import ProfileError
from kernelpoint.profiles.format import WORDS, TextFormat
from kernelpoint.profiles.formats.tables import number
from kernelpoint.program import Program, ProgramBuilder

_SETUP = re.compile(r"C=(\d+)\):\s+setup_process:(\d+) (\S+) current_index:(\d+) \((\d+)\)")
_END = re.compile(r"C=(\d+)\):.*application (\d+) terminated")
_CLOCK = re.compile(r"(Clock LCM|GPU clock frequency)\s*:\s*(\S*)")


class MacSimOutput(TextFormat):
    """Format of MacSim's output: cycles of every kernel of one application.

    A kernel lasts from its line `setup_process` to the next one, and the last kernel to the end of the application. MacSim
    counts ticks of the least common multiple of its clocks (C= in the output); they are converted to GPU cycles. Kernel names
    are only in the traces, FOLDER/trace.txt.

    Raises:
        ProfileError: there are several applications, a kernel is missing, or the application did not end.
    """

    description = "output of MacSim"
    recognised = WORDS, r"(?s).*(setup_process|src/macsim\.cc)"

    def read_text(self, file: TextIO, source: str, device: int | None = None) -> Program:
        starts: list[int] = []
        traces: list[str] = []
        indices: list[int] = []
        end, expected, clock = None, 0, {"Clock LCM": 1.0, "GPU clock frequency": 1.0}
        for line in file:
            if "Clock LCM" in line or "GPU clock" in line:
                clock.update({key: number(value, f"{source}: {key}") for key, value in _CLOCK.findall(line)})
            elif match := _SETUP.search(line):
                if match.group(2) != "0":
                    raise ProfileError(
                        f"{source}: got output of application {match.group(2)}; a profile can only be of application 0"
                    )
                starts.append(int(match.group(1)))
                traces.append("/".join(Path(match.group(3)).parts[-2:]))
                indices.append(int(match.group(4)))
                expected = int(match.group(5))
            elif match := _END.search(line):
                end = int(match.group(1))
        if end is None or indices != [*range(expected)]:
            raise ProfileError(
                f"{source}: {len({*indices})} of {expected} kernels began, in {len(starts)} starts, the run's end is {end}: "
                "it is not complete"
            )
        if min(clock.values()) <= 0.0:
            stated = ", ".join(f"{key} {value:g}" for key, value in clock.items())
            raise ProfileError(f"{source}: {stated}; allowed: above 0")
        scale = clock["GPU clock frequency"] / clock["Clock LCM"]
        builder = ProgramBuilder(source)
        for index, (first, last) in enumerate(zip(starts, [*starts[1:], end], strict=True)):
            builder.add("", order=index, counters={"cycles": (last - first) * scale}, trace=traces[index])
        return builder.finish(device)

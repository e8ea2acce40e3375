"""The launch census of Accel-Sim's tracer: one row for every launch, traced or not."""

from __future__ import annotations

import re
from typing import TextIO

from kernelpoint.errors import ProfileError
from kernelpoint.profiles.format import SIGNATURE, TextFormat
from kernelpoint.profiles.formats.tables import whole_number
from kernelpoint.program import Program, ProgramBuilder

AFTER_NAME = 10  # grid x, y, z, CTAs, block x, y, z, threads, instructions, reported instructions
FIRST = 1  # the number of a context's first launch
_FILE = re.compile(r"kernel-(\d+)(-ctx_\w+)?")


class AccelSimCensus(TextFormat):
    """Format of the census (table of all launches) that Accel-Sim's tracer writes for a CUDA context: `stats_ctx_0x...`
    (`stats.csv` before version 2.0).

    The census contains every launch, traced or not; with a trace range beyond the last launch, the tracer writes only the
    census. Launches are numbered from 1 without gaps. Names are mangled. Warp instructions are known of traced launches only;
    the counter `warp_instructions` is nan for the others.

    Raises:
        ProfileError: a row is malformed or a launch is missing.
    """

    description = "Accel-Sim tracer's stats_ctx_*"
    recognised = SIGNATURE, "kernel id, kernel mangled name, grid_dimX"

    def read_text(self, file: TextIO, source: str, device: int | None = None) -> Program:
        builder = ProgramBuilder(source)
        file.readline()
        expected, first = FIRST, None
        for line, text in enumerate(file, 2):
            if not text.strip():
                continue
            where = f"{source}:{line}"
            fields = [part.strip() for part in text.split(",")]
            name, sizes = ", ".join(fields[1:-AFTER_NAME]), fields[-AFTER_NAME:]
            match = _FILE.match(fields[0])
            if match is None or not name or len(fields) < AFTER_NAME + 2:
                raise ProfileError(
                    f"{where}: expected 'kernel-N..., name' and {AFTER_NAME} numbers, found {text.strip()[:80]!r}"
                )
            if int(match.group(1)) != expected:
                raise ProfileError(
                    f"{where}: expected kernel-{expected}, found {fields[0][:60]!r}; a census (list of launches) has every "
                    "launch of one CUDA context"
                )
            x, y, z, ctas, bx, by, bz, _, instructions, _ = (whole_number(size, where) for size in sizes)
            if min(x, y, z, bx, by, bz) < 1:
                raise ProfileError(f"{where}: grid and block sizes must be 1 or more, found {sizes[:8]}")
            if (x * y * z - ctas) % 2**32:
                raise ProfileError(
                    f"{where}: a grid of {x} x {y} x {z} has {x * y * z:,} CTAs, but the row says "
                    f"{ctas:,}; the row is damaged, trace again"
                )
            context = (match.group(2) or "").removeprefix("-")
            first = context if first is None else first
            if context != first:
                raise ProfileError(
                    f"{where}: got a launch of a second CUDA context, {context!r} after {first!r}; give each context in a "
                    "file of its own"
                )
            counters = {"warp_instructions": float(instructions)} if instructions > 0 else {}
            builder.add(name, (x, y, z), (bx, by, bz), order=expected, counters=counters)
            expected += 1
        return builder.finish(device)

"""The launch census of MacSim's tracer: two lines for every launch, traced or not."""

from __future__ import annotations

import re
from typing import TextIO

from kernelpoint.errors import ProfileError
from kernelpoint.profiles.format import SIGNATURE, TextFormat
from kernelpoint.program import UNKNOWN, Program, ProgramBuilder

FIRST = 0  # the number of the first launch
_NAME = re.compile(r"Kernel(\d+) name:\s*(.*\S)")
_SIZES = re.compile(r"Grid size: \((\d+), *(\d+), *(\d+)\), Block size: \((\d+), *(\d+), *(\d+)\)")
_REGISTERS = re.compile(r"# of regs: (\d+)")
_SHARED = re.compile(r"(?:static|dynamic) shared mem: (\d+)")


class MacSimCensus(TextFormat):
    """Format of the census (table of all launches) of MacSim's tracer, `kernel_names.txt`: name, grid, block, registers and
    shared memory. Launches are numbered from 0 without gaps.

    Raises:
        ProfileError: a line is malformed or a launch is missing.
    """

    description = "MacSim tracer's kernel_names.txt"
    recognised = SIGNATURE, r"Kernel\d+ name:"

    def read_text(self, file: TextIO, source: str, device: int | None = None) -> Program:
        builder = ProgramBuilder(source)
        lines = ((number, text) for number, text in enumerate(file, 1) if text.strip())
        for expected, (number, text) in enumerate(lines, FIRST):
            where = f"{source}:{number}"
            match = _NAME.match(text)
            if match is None or int(match.group(1)) != expected:
                raise ProfileError(f"{where}: expected 'Kernel{expected} name: ', found {text.strip()[:80]!r}")
            _, shape = next(lines, (0, ""))
            sizes = _SIZES.search(shape)
            if sizes is None:
                raise ProfileError(
                    f"{where}: expected 'Grid size: (x, y, z), Block size: (x, y, z)' after the kernel's name, found "
                    f"{shape.strip()[:80]!r}"
                )
            x, y, z, bx, by, bz = map(int, sizes.groups())
            registers = _REGISTERS.search(shape)
            shared = [int(size) for size in _SHARED.findall(shape)]
            if min(x, y, z, bx, by, bz) < 1:
                raise ProfileError(f"{where}: grid and block sizes must be 1 or more, found {shape.strip()[:80]!r}")
            builder.add(
                match.group(2),
                (x, y, z),
                (bx, by, bz),
                int(registers.group(1)) if registers else UNKNOWN,
                sum(shared) if shared else UNKNOWN,
                order=expected,
            )
        return builder.finish(device)

"""Writing lists whose launches touch given lines, and replaying them."""

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from trace_writer import cta, numbered, small_trace

from kernelpoint.traces import read_trace_list
from kernelpoint.traces.replay import Replay, StateInfo

BASE = 0x7F0000000000
EVERYTHING = 1 << 40


def access(opcode: str, address: int, mask: int = 0xFFFFFFFF) -> str:
    """A warp's access: consecutive words from an address on."""
    registers = "0 " + opcode + " 1 R2" if opcode.startswith("ST") else "1 R1 " + opcode + " 1 R2"
    return f"0000 {mask:08x} {registers} 4 1 0x{BASE + address:x} 4"


def launch_text(*ctas: list[str], grid: int | None = None) -> str:
    """A trace whose CTAs have one warp each, with the given lines."""
    body = "".join(cta([*lines, "0010 ffffffff 0 EXIT 0 0"], index=f"{i},0,0") for i, lines in enumerate(ctas))
    return small_trace(body, grid=f"({grid or len(ctas)},1,1)", block="(32,1,1)")


@dataclass
class Lists:
    """A folder with traces `kernel-<n>.traceg` and a list of them."""

    folder: Path

    def trace(self, number: int, text: str) -> str:
        path = self.folder / f"kernel-{number}.traceg"
        path.write_text(numbered(text, path.name))
        return str(path)

    def write(self, commands: list[int | tuple[int, int]]) -> str:
        """A list of trace numbers and of copies (offset, bytes)."""
        path = self.folder / "kernelslist.g"
        lines = [f"MemcpyHtoD,0x{BASE + c[0]:x},{c[1]}" if isinstance(c, tuple) else f"kernel-{c}.traceg" for c in commands]
        path.write_text("\n".join(lines) + "\n")
        return str(path)

    def replay(self, path: str, lines: int = EVERYTHING, memory: int = 1 << 20, cache=None, contents=None, **state) -> Replay:
        cache = cache or tempfile.mkdtemp(dir=self.folder)
        self.said: list[str] = []
        launches = replace(read_trace_list(path), content=contents)
        return Replay(launches, StateInfo(lines, **state), memory, cache, self.said.append)

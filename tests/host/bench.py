"""Traces written by hand, and a host that runs them on a GPU described by a few changed keys."""

import csv
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import yaml
from trace_writer import cta, numbered, small_trace

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT = 120
ALL = 0xFFFFFFFF


def instruction(opcode: str, destinations=(), sources=(), addresses=(), width=0, mask=ALL) -> str:
    """One line of a warp without its PC: registers are numbers, addresses one per active lane."""
    words = [f"{mask:08x}", str(len(destinations)), *(f"R{d}" for d in destinations), opcode]
    words += [str(len(sources)), *(f"R{s}" for s in sources), str(width)]
    if width:
        words += ["0", *(f"0x{a:x}" for a in addresses)]
    return " ".join(words)


def ffma(destination: int, *sources: int) -> str:
    return instruction("FFMA", [destination], sources)


def chain(length: int, register: int = 1) -> list[str]:
    """FFMAs of which each needs the one before."""
    return [ffma(register, register)] * length


def load(register: int, addresses: list[int], opcode: str = "LDG.E", sources=()) -> str:
    return instruction(opcode, [register], sources, addresses, 4)


def store(addresses: list[int], opcode: str = "STG.E") -> str:
    return instruction(opcode, (), [1], addresses, 4)


EXIT = instruction("EXIT")
BARRIER = instruction("BAR.SYNC")


def warp(instructions: list[str]) -> list[str]:
    """The instructions followed by an EXIT."""
    return [*instructions, EXIT]


def trace(ctas: list[list[list[str]]], *, name="kernel", grid=None, block=None, registers=16, shared=0) -> str:
    """The text of a trace: CTAs are lists of warps, warps lists of instructions."""
    threads = block or 32 * max(map(len, ctas), default=1)
    fields = {"kernel name": name, "nregs": str(registers), "shmem": str(shared)}
    fields |= {"shmem base_addr": "0x00007f0000000000", "local mem base_addr": "0x00007e0000000000"}
    with_pcs = [[[f"{16 * i:04x} {text}" for i, text in enumerate(instructions)] for instructions in warps] for warps in ctas]
    body = "".join(cta(*warps, index=f"{number},0,0") for number, warps in enumerate(with_pcs))
    return small_trace(body, f"({grid or len(ctas)},1,1)", f"({threads},1,1)", **fields)


@dataclass
class HostRun:
    """Output of one run of the host."""

    code: int
    stdout: str
    stderr: str
    rows: list[dict[str, str]] = field(default_factory=list)

    @property
    def totals(self) -> dict[str, str]:
        return dict(line.split(" = ", 1) for line in self.stdout.splitlines() if " = " in line)

    @property
    def cycles(self) -> list[int]:
        return [int(row["cycles"]) for row in self.rows]

    def counter(self, name: str) -> list[int]:
        return [int(row[name]) for row in self.rows]


class Bench:
    """A folder with traces, a list and a GPU."""

    def __init__(self, folder: Path, program: Path) -> None:
        self.folder, self.program = folder, program
        self.gpu = yaml.safe_load((ROOT / "python/kernelpoint/host_configs/v100.yaml").read_text())
        self.gpu.update(sms=1, schedulers_per_sm=1)

    def config(self) -> Path:
        path = self.folder / "gpu.yaml"
        path.write_text("".join(f"{key}: {value}\n" for key, value in self.gpu.items()))
        return path

    def workload(self, *commands: str) -> Path:
        """Each command is the text of a trace, or a MemcpyHtoD line."""
        lines = []
        for number, command in enumerate(commands):
            if command.startswith("MemcpyHtoD"):
                lines.append(command)
                continue
            name = f"kernel-{number + 1}.traceg"
            (self.folder / name).write_text(numbered(command, name))
            lines.append(name)
        path = self.folder / "kernelslist.g"
        path.write_text("\n".join(lines) + "\n")
        return path

    def command(self, workload: Path, *options: str) -> list[str]:
        results = self.folder / "results.csv"
        basic = ["-trace", str(workload), "-config", str(self.config()), "-results", str(results)]
        return [str(self.program), *basic, *options]

    def run(self, *commands: str, options=(), **environment: str) -> HostRun:
        """Run the host on a workload of these commands."""
        return self.run_list(self.workload(*commands), *options, **environment)

    def run_list(self, workload: Path, *options: str, **environment: str) -> HostRun:
        done = subprocess.run(
            self.command(workload, *options),
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            env={**os.environ, **environment},
        )
        results = self.folder / "results.csv"
        rows = list(csv.DictReader(results.open())) if results.is_file() else []
        return HostRun(done.returncode, done.stdout, done.stderr, rows)

    def cycles(self, *commands: str) -> int:
        """Cycles of the last launch, launch latency taken off."""
        done = self.run(*commands)
        assert done.code == 0, done.stderr
        return done.cycles[-1] - int(self.gpu["launch_latency"])


class Scripted:
    """A bench whose host runs with the scripted plugin, over `commands` where a run names none."""

    def __init__(self, bench: Bench, plugin: Path, commands: Sequence[str] = ()) -> None:
        self.bench, self.plugin, self.commands = bench, plugin, commands
        self.log_file = bench.folder / "script.txt.log"

    def run(self, script: str, *commands: str) -> HostRun:
        config = self.bench.folder / "script.txt"
        config.write_text(f"{script}\n")
        self.log_file.unlink(missing_ok=True)
        options = ["-kernel_sampling", str(config)]
        return self.bench.run(*(commands or self.commands), options=options, KERNELPOINT_PLUGIN=str(self.plugin))

    def calls(self, word: str) -> list[list[str]]:
        lines = [line.replace(" 0:", " ", 1).split() for line in self.log_file.read_text().splitlines()]
        return [line[1:] for line in lines if line[0] == word]

    def completed(self) -> list[int]:
        return [int(call[0]) for call in self.calls("complete")]

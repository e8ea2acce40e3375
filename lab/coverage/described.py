"""Simulators whose launches describe themselves: launches simulated, error and coverage under three lines of YAML.

    python lab/coverage/described.py --seeds 100              simulators of this tree
    python lab/coverage/described.py --seeds 100 scalesim     SCALE-Sim v3, which has to be installed

Builds examples/c_host and examples/small_simulator, each with 2,000 launches of 25 kinds, and examples/executing_simulator with
2,000 of which nothing is known but their number. Runs each with every seed at 1 % and 95 %, and compares the estimate with the
sum over all launches. In `deterministic` every launch of a kind has the same key (kernelpoint.host). The tables are in
docs/evidence/installation.md and examples/hosts/scalesim.
"""

from __future__ import annotations

import importlib
import os
import random
import re
import subprocess
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from runs import Numbers, largest, mean, most, print_table, share

import kernelpoint as kp

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES, INCLUDE = ROOT / "examples", ROOT / "plugin" / "include"
PLUGIN = Path(kp.__file__).parent / "lib" / "libkernelpoint.so"
LAUNCHES, KINDS = 2000, 25
THREE_LINES = "version: 1\npolicy: kernelpoint\nerror_budget: {relative_error: 0.01, confidence: 0.95}\n"


class Outcome(NamedTuple):
    """Result of one sampled run: number of simulated launches, estimated cycles, and their half-width."""

    simulated: int
    estimate: float
    half_width: float
    text: str = ""


class Simulator(NamedTuple):
    """A simulator with a workload: a function that makes a sampled run with a seed, and the true total in cycles."""

    run: Callable[[int, Path], Outcome]
    total: float


def built(folder: Path, source: Path) -> Path:
    """Compile one source file of the examples; returns the program's path."""
    program = folder / source.stem
    kind = ["gcc", "-std=c99", "-D_POSIX_C_SOURCE=200809L"] if source.suffix == ".c" else ["g++", "-std=c++17", "-O2"]
    subprocess.run([*kind, str(source), "-o", str(program), f"-I{INCLUDE}", "-ldl"], check=True, timeout=300)
    return program


def of_program(command: list[str], total: float) -> Simulator:
    """Simulator that is a program of its own, started once for each run."""

    def run(seed: int, folder: Path) -> Outcome:
        config = folder / f"{seed}.yaml"
        config.write_text(f"{THREE_LINES}seed: {seed}\njournal: {folder}/{seed}.kpjournal\n")
        words = [str(config) if word == "CONFIG" else word for word in command]
        environment = {**os.environ, "KERNELPOINT_PLUGIN": str(PLUGIN)}
        done = subprocess.run(words, capture_output=True, text=True, timeout=120, env=environment, check=True)
        stated = dict(re.findall(r"^(\w+) = (\S+)$", done.stdout, re.MULTILINE))
        numbers = (float(stated[name]) for name in ("simulated", "cycles", "cycles_half_width"))
        simulated, *cycles = numbers
        return Outcome(int(simulated), *cycles, done.stdout + done.stderr)

    return Simulator(run, total)


def c_host(folder: Path) -> Simulator:
    """The C host of the examples: the cycles of equal launches scatter by 0.5 % (normal distribution)."""
    draw = random.Random(3)
    kinds = [(draw.randint(2_000, 90_000), draw.randint(1_000, 900_000)) for _ in range(KINDS)]
    launches = [draw.choice(kinds) for _ in range(LAUNCHES)]
    rows = [(round(cycles * draw.gauss(1, 0.005)), instructions) for cycles, instructions in launches]
    (folder / "c_list").write_text("".join(f"{cycles} {instructions} 1\n" for cycles, instructions in rows))
    program = built(folder, EXAMPLES / "c_host" / "c_host.c")
    return of_program([str(program), "CONFIG", "1", str(folder / "c_list")], sum(cycles for cycles, _ in rows))


def small_simulator(folder: Path) -> Simulator:
    """The small simulator of the examples: every CTA of a launch takes a fixed number of cycles, so launches of one
    shape are equal.
    """
    draw = random.Random(3)
    kinds = [(draw.randint(1, 60), draw.randint(50, 4000)) for _ in range(KINDS)]
    launches = [draw.choice(kinds) for _ in range(LAUNCHES)]
    (folder / "list").write_text("".join(f"{ctas} {cycles} 1\n" for ctas, cycles in launches))
    program = built(folder, EXAMPLES / "small_simulator" / "simulator.cc")
    return of_program([str(program), "CONFIG", str(folder / "list")], sum(ctas * cycles for ctas, cycles in launches))


def executing_simulator(folder: Path) -> Simulator:
    """The executing simulator of the examples: the values that earlier launches wrote decide whether a launch takes
    1,000 or up to 1,015 cycles.
    """
    draw = random.Random(3)
    rows = [(draw.randrange(8), draw.randrange(8)) for _ in range(LAUNCHES)]
    (folder / "program").write_text("".join(f"{to} {source}\n" for to, source in rows))
    memory, total = list(range(1, 9)), 0
    for to, source in rows:
        memory[to] = (memory[to] + memory[source]) % 2**64
        total += 1000 + memory[to] % 16
    program = built(folder, EXAMPLES / "executing_simulator" / "simulator.cc")
    return of_program([str(program), "CONFIG", str(folder / "program")], total)


def in_python(launches: list[dict[str, Any]], cycles: Sequence[float], **abilities: bool) -> Simulator:
    """Simulator in Python. `cycles` has the cost of each launch; `abilities` are arguments of `kernelpoint.host`."""

    def run(seed: int, folder: Path) -> Outcome:
        budget = {"relative_error": 0.01, "confidence": 0.95}
        config = {"version": 1, "policy": "kernelpoint", "error_budget": budget, "seed": seed}
        config["journal"] = str(folder / f"{seed}.kpjournal")
        with kp.host(config, launches, stateless=True, log=lambda line: None, **abilities) as run:
            for launch in run:
                run.result(launch, cycles=cycles[launch])
        stated = run.summary
        return Outcome(stated.simulated, stated.estimate, stated.half_width or 0.0)

    return Simulator(run, sum(cycles))


def deterministic(folder: Path) -> Simulator:
    """Simulator in Python that declares the results of launches with equal keys as equal."""
    draw = random.Random(3)
    kinds = [draw.randint(1_000, 900_000) for _ in range(KINDS)]
    keys = [draw.randrange(KINDS) for _ in range(LAUNCHES)]
    launches = [{"name": "kernel", "key": 1 + key} for key in keys]
    return in_python(launches, [kinds[key] for key in keys], deterministic=True)


def scalesim(folder: Path, **abilities: bool) -> Simulator:
    """Simulator of the matrix products of examples/hosts/scalesim. Each shape is simulated once for all runs."""
    sys.path.insert(0, str(EXAMPLES / "hosts" / "scalesim"))
    decode = importlib.import_module("decode")
    launches = decode.gemms()
    cycles = {
        shape: decode.simulate({"name": "gemm", "shape": shape})["cycles"] for shape in {gemm["shape"] for gemm in launches}
    }
    return in_python(launches, [cycles[gemm["shape"]] for gemm in launches], **abilities)


def scalesim_deterministic(folder: Path) -> Simulator:
    """SCALE-Sim without noise, with a key for each shape."""
    return scalesim(folder, deterministic=True)


IN_THE_TREE = (c_host, small_simulator, executing_simulator, deterministic)
SIMULATORS = {made.__name__: made for made in (*IN_THE_TREE, scalesim, scalesim_deterministic)}


def rows(names: Sequence[str], seeds: int) -> Iterator[tuple[Sequence[object], Numbers]]:
    """Rows of a table of runs: launches simulated, relative error, half-width, and whether the bound contained the total."""
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            simulator = SIMULATORS[name](Path(folder))
            total, runs = simulator.total, []
            for seed in range(seeds):
                run = simulator.run(seed, Path(folder))
                error = abs(run.estimate - total)
                held = error <= run.half_width + 1e-9 * total
                runs.append((run.simulated, run.simulated, error / total, run.half_width / total, held))
        yield (name,), runs


def main() -> None:
    """Parse the options, measure, and print the table."""
    parser = ArgumentParser(description="Simulators whose launches describe themselves.")
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("simulators", nargs="*", metavar="SIMULATOR", help=f"of {', '.join(SIMULATORS)}")
    options = parser.parse_args()
    names = options.simulators or [made.__name__ for made in IN_THE_TREE]
    columns = {"simulated": mean, "most": most, "largest error": largest, "widest bound": largest, "held": share}
    print_table(["simulator"], columns, rows(names, options.seeds))


if __name__ == "__main__":
    main()

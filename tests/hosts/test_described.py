"""Hosts without traces, with the real plugin: descriptions make the sample small. `SEEDS=100` tries more seeds."""

import os
import random
import subprocess
from pathlib import Path

import pytest

import kernelpoint
from hosts import INCLUDE, ROOT, printed

PLUGIN = Path(kernelpoint.__file__).parent / "lib" / "libkernelpoint.so"
SEEDS = int(os.environ.get("SEEDS", "2"))
LAUNCHES = 2000
CONFIGURATION = "version: 1\npolicy: kernelpoint\nerror_budget: {relative_error: 0.01, confidence: 0.95}\n"
pytestmark = pytest.mark.skipif(not PLUGIN.exists(), reason="the plugin is not built here")


def c_host(build):
    """The program, and a list of launches that repeat: as many instructions, and about as many cycles."""
    program, draw = build / "c_host", random.Random(3)
    source = ROOT / "examples" / "c_host" / "c_host.c"
    options = ["-std=c99", "-D_POSIX_C_SOURCE=200809L", f"-I{INCLUDE}", "-ldl"]
    subprocess.run(["gcc", str(source), "-o", str(program), *options], check=True, timeout=120)
    kinds = [(draw.randint(2_000, 90_000), draw.randint(1_000, 900_000)) for _ in range(25)]
    launches = [draw.choice(kinds) for _ in range(LAUNCHES)]
    rows = [(round(cycles * draw.gauss(1, 0.005)), instructions) for cycles, instructions in launches]
    (build / "list").write_text("".join(f"{cycles} {instructions} 1\n" for cycles, instructions in rows))
    return [str(program), "CONFIG", "1", str(build / "list")], sum(cycles for cycles, _ in rows)


def small_simulator(build):
    """The same of examples/small_simulator, whose launches are CTAs of so many cycles."""
    program, draw = build / "simulator", random.Random(3)
    source = ROOT / "examples" / "small_simulator" / "simulator.cc"
    options = ["-std=c++17", "-O2", f"-I{INCLUDE}", "-ldl"]
    subprocess.run(["g++", str(source), "-o", str(program), *options], check=True, timeout=300)
    kinds = [(draw.randint(1, 60), draw.randint(50, 4000)) for _ in range(25)]
    launches = [draw.choice(kinds) for _ in range(LAUNCHES)]
    (build / "list").write_text("".join(f"{ctas} {cycles} 1\n" for ctas, cycles in launches))
    return [str(program), "CONFIG", str(build / "list")], sum(ctas * cycles for ctas, cycles in launches)


@pytest.mark.parametrize("make", [c_host, small_simulator])
def test_less_than_a_tenth_of_repeating_launches_is_simulated_and_the_bound_contains_the_total(make, tmp_path):
    command, total = make(tmp_path)
    environment = {**os.environ, "KERNELPOINT_PLUGIN": str(PLUGIN), "KERNELPOINT_CACHE": str(tmp_path / "cache")}
    for seed in range(SEEDS):
        config = tmp_path / f"{seed}.yaml"
        config.write_text(f"{CONFIGURATION}seed: {seed}\njournal: {tmp_path}/{seed}.kpjournal\n")
        words = [str(config) if word == "CONFIG" else word for word in command]
        done = subprocess.run(words, capture_output=True, text=True, timeout=120, env=environment)
        assert done.returncode == 0, done.stderr
        stated = printed(done.stdout, "")
        assert stated["simulated"] < 0.1 * LAUNCHES
        assert abs(stated["cycles"] - total) <= stated["cycles_half_width"]
        assert "total within +- 1 % at 95 %; error budget met" in done.stdout + done.stderr

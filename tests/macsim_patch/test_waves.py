"""The order in which a launch's warps take their steps: without a simulator."""

import itertools
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
HOOK = HERE.parents[1] / "macsim_patch" / "hook"
ABI = HERE.parents[1] / "plugin" / "include" / "kernelpoint"


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """The program that prints a launch's steps."""
    built = tmp_path_factory.mktemp("waves") / "print_waves"
    flags = ["-std=c++14", "-g", "-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined", f"-I{HOOK}", f"-I{ABI}"]
    subprocess.run(["g++", *flags, str(HERE / "print_waves.cc"), "-o", str(built), "-lz"], check=True, timeout=120)
    return built


@pytest.fixture
def steps(program, launches_in):
    """The steps of a launch, a list of lines for each wave."""

    number = itertools.count()

    def run(warps, ctas=100, at_once=100, damage=lambda folder: None):
        trace = launches_in(f"launch{next(number)}", [warps]).parent / "Kernel0" / "trace.txt"
        damage(trace.parent)
        command = [str(program), str(trace), str(ctas), str(at_once)]
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
        return [wave.split("\n") for wave in done.stdout.strip("\n").split("\nwave")]

    return run


def flat(waves):
    return [line for wave in waves for line in wave if line]


def test_warps_take_turns_from_branch_to_branch(steps, instruction):
    def warp(pc):
        return [
            instruction("load", pc, pc + 1000),
            instruction("other", pc + 1, 0, "taken"),
            instruction("load", pc + 2, pc + 2000),
        ]

    assert flat(steps({0: warp(100), 1: warp(200)})) == [
        "fetch 0 100",
        "load 0 1100",
        "branch 0 101 taken conditional followed",
        "fetch 0 102",
        "fetch 0 200",
        "load 0 1200",
        "branch 0 201 taken conditional followed",
        "fetch 0 202",
        "round 0 0",
        "load 0 2100",
        "load 0 2200",
        "round 0 0",
    ]


def test_a_wave_holds_as_many_ctas_and_warps_as_the_cores(steps, instruction):
    launch = {(cta << 16) + warp: [instruction("other", 10 * cta + warp)] for cta in range(5) for warp in range(2)}

    def ctas(**limits):
        return [[int(line.split()[1]) for line in wave if line.startswith("fetch")] for wave in steps(launch, **limits)]

    assert [w for w in ctas(ctas=2) if w] == [[0, 0, 1, 1], [2, 2, 3, 3], [4, 4]]
    assert [w for w in ctas(at_once=3) if w] == [[0, 0, 1], [1, 2, 2], [3, 3, 4], [4]]
    assert [w for w in ctas() if w] == [[0, 0, 1, 1, 2, 2, 3, 3, 4, 4]]


def test_of_an_access_to_several_lines_the_first_is_not_taken(steps, instruction):
    warp = [
        instruction("load", 0, 4096),
        instruction("store", 16, 8192),
        instruction("store", 16, 8320, further=True),
        instruction("store", 16, 8448, further=True),
        instruction("generic store", 32, 128),
        instruction("local store", 48, 256),
        instruction("load", 64, 0),
    ]
    taken = ["fetch 0 0", "load 0 4096", "store 0 8320", "store 0 8448", "generic 0 128", "local 0 256", "round 0 0"]
    assert flat(steps({0: warp})) == taken


def test_a_branch_at_the_end_leads_to_no_fetch(steps, instruction):
    launch = {0: [instruction("other", 1, 0, "not")], 1: [instruction("other", 2)]}
    assert flat(steps(launch)) == ["fetch 0 1", "branch 0 1 conditional", "fetch 0 2", "round 0 0"]


@pytest.mark.parametrize("damage", ["missing", "cut"])
def test_what_cannot_be_read_is_named_and_the_rest_is_taken(steps, instruction, damage):
    def hurt(folder):
        path = folder / "trace_1.raw"
        path.unlink() if damage == "missing" else path.write_bytes(path.read_bytes()[:-12])

    lines = flat(steps({warp: [instruction("other", warp)] * 200 for warp in range(3)}, damage=hurt))
    assert lines[-1].startswith("broken ") and lines[-1].endswith("trace_1.raw")
    assert "fetch 0 0" in lines and "fetch 0 2" in lines

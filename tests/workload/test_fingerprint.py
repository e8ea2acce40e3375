"""The one fingerprint of a trace list: changes with everything that a cache looks at, and with nothing else."""

import os
import shutil

import pytest
from workloads import synthesised

from kernelpoint.config import parse_config
from kernelpoint.planning.making import plan_for
from kernelpoint.policies.registry import load_policy
from kernelpoint.program import Program, fingerprint
from kernelpoint.simulators.macsim.convert import convert_to_macsim
from kernelpoint.traces import read_trace_list

MOMENT = 1_700_000_000_000_000_000  # ns


def macsim_list(folder, numbers=(1, 2, 3)):
    """Launches in MacSim's layout, all of equal size and time; only their folders' names differ."""
    for number in numbers:
        launch = folder / f"Kernel{number}"
        launch.mkdir(parents=True)
        for name in ("trace.txt", "trace_info.txt", "trace_0.raw"):
            (launch / name).write_text("nvbit")
    (folder / "kernel_names.txt").write_text("")
    for path in [*folder.rglob("*"), folder]:
        os.utime(path, ns=(MOMENT, MOMENT))
    return [str(folder / f"Kernel{number}" / "trace.txt") for number in numbers]


def of(paths):
    return fingerprint([len(paths)], paths).launches


def test_two_macsim_lists_of_equal_length_differ(tmp_path):
    assert of(macsim_list(tmp_path / "a")) != of(macsim_list(tmp_path / "b", (1, 2, 4)))


def test_a_list_that_was_moved_is_the_same(tmp_path):
    before = of(macsim_list(tmp_path / "a"))
    shutil.move(tmp_path / "a", tmp_path / "b")
    assert of([str(tmp_path / "b" / f"Kernel{n}" / "trace.txt") for n in (1, 2, 3)]) == before


@pytest.mark.parametrize("name", ["Kernel2/trace.txt", "Kernel2/trace_info.txt", "kernel_names.txt"])
@pytest.mark.parametrize("change", ["size", "time"])
def test_a_macsim_launch_that_was_traced_again_differs(tmp_path, name, change):
    paths = macsim_list(tmp_path / "a")
    before, file = of(paths), tmp_path / "a" / name
    if change == "size":
        file.write_text("nvbit and more")
    os.utime(file, ns=(MOMENT, MOMENT + (change == "time")))
    assert of(paths) != before


def test_a_warp_of_a_macsim_launch_that_was_replaced_differs(tmp_path):
    paths = macsim_list(tmp_path / "a")
    before, file = of(paths), tmp_path / "a" / "Kernel1" / "trace_0.raw"
    file.unlink()
    file.write_text("nvbit")
    assert of(paths) != before


@pytest.mark.parametrize("change", ["size", "time", "missing", "name"])
def test_an_accelsim_launch_that_changed_differs(tmp_path, change):
    paths = [str(tmp_path / f"kernel-{n}.traceg") for n in (1, 2)]
    for path in paths:
        with open(path, "w") as file:
            file.write("trace")
        os.utime(path, ns=(MOMENT, MOMENT))
    before = of(paths)
    if change == "missing":
        os.unlink(paths[1])
    elif change == "name":
        paths[1] = shutil.move(paths[1], tmp_path / "kernel-3.traceg")
    else:
        with open(paths[1], "a") as file:
            file.write("more" if change == "size" else "")
        os.utime(paths[1], ns=(MOMENT, MOMENT + (change == "time")))
    assert of([str(path) for path in paths]) != before


def test_order_repetition_and_processes_count(tmp_path):
    a, b, c = macsim_list(tmp_path / "a")
    assert len({of([a, b, c]), of([a, c, b]), of([a, b, c, c]), of([a, b]), fingerprint([1, 2], [a, b, c]).launches}) == 5


def test_a_launch_that_was_traced_again_gets_a_new_plan(tmp_path):
    synthesised(tmp_path / "list", "iterative-solver", 20, rows=1024)
    convert_to_macsim(tmp_path / "list", tmp_path / "macsim")
    paths = tuple(read_trace_list(tmp_path / "macsim").traces)
    config = parse_config({"version": 1, "policy": "sieve"})

    def plan_file():
        population = Program((len(paths),), traces=paths)
        return plan_for(config, load_policy("sieve"), population, print).path

    first = plan_file()
    assert plan_file() == first, "an unchanged list keeps its plan"
    info = next((tmp_path / "macsim").rglob("trace_info.txt"))
    status = info.stat()
    os.utime(info, ns=(status.st_atime_ns, status.st_mtime_ns + 10**12))
    assert plan_file() != first

"""Every command with every kind of file in the place of its input: whole, cut, overwritten.

STRIDE=1 python -m pytest tests/damage/test_pairs.py      every pair
"""

import os
import random
import sqlite3
from importlib import resources

import numpy as np
import pytest
from command_line import run_command
from samples import CENSUS, PROFILES
from simulated_host import SimulatedHost

STRIDE = int(os.environ.get("STRIDE", "7"))
COMMANDS = {
    "plan": ["plan", "PATH", "-o", "made.kpplan"],
    "inspect": ["file", "inspect", "PATH"],
    "report": ["report", "PATH", "-o", "page.html"],
    "report --full-run": ["report", "JOURNAL", "-o", "page.html", "--full-run", "PATH"],
    "compare truth": ["compare", "-w", "truth=PATH", "--seeds", "1"],
    "compare traces": ["compare", "-w", "traces=PATH,host=v100", "-p", "random", "--seeds", "1"],
    "compare profile": ["compare", "-w", "profile=PATH", "-p", "random", "--seeds", "1"],
    "convert": ["file", "convert", "macsim", "PATH", "out"],
    "cluster": ["plan", "--clusters", "PATH"],
    "cluster --profile": ["plan", "--clusters", "LIST", "--policy", "sieve", "--profile", "PATH"],
    "cluster --checkpoint": ["plan", "--clusters", "LIST", "--policy", "gcl", "--checkpoint", "PATH"],
    "compare first run": ["compare", "PATH", "JOURNAL"],
    "compare second run": ["compare", "JOURNAL", "PATH"],
    "select": ["select", "PATH", "-o", "out"],
    "select --join": ["select", "--join", "PATH", "-o", "out"],
    "pack": ["file", "pack", "PATH", "-o", "out"],
    "status": ["file", "status", "PATH"],
    "run -c": ["run", "-c", "PATH", "--", "true"],
    "run --cluster": ["run", "-c", "CONFIG", "--cluster", "PATH", "--workers", "1", "--", "true"],
    "run --sweep": ["run", "-c", "CONFIG", "--sweep", "PATH", "--", "true"],
}
WAYS = {
    "whole": lambda data: data,
    "half": lambda data: data[: len(data) // 2],
    "zeros": lambda data: data[: len(data) // 3] + bytes(len(data) // 3) + data[2 * len(data) // 3 :],
    "noise": lambda data: data[: len(data) // 2] + random.Random(7).randbytes(len(data) - len(data) // 2),
}
KINDS = (
    "kernelslist.g", "kernel-1.traceg", "run.kpjournal", "run.kpplan", "selection.kpselect", "encoder.safetensors",
    "kernelpoint.yaml", "cluster.yaml", "page.html", "nsys.csv", "ncu.csv", "kineto.json", "results.csv", "accelsim.txt",
    "stats_ctx_0x5d0", "nsys.sqlite",
)  # fmt: skip
PAIRS = [(command, kind, way) for command in COMMANDS for kind in KINDS for way in WAYS]


@pytest.fixture(scope="module")
def files(tmp_path_factory, traces):
    """Folder with a whole file of each kind."""
    folder = tmp_path_factory.mktemp("files")
    for path in traces.parent.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    for name, text in (PROFILES | {"stats_ctx_0x5d0": CENSUS}).items():
        (folder / name).write_text(text)
    (folder / "cluster.yaml").write_text("jobqueue: {slurm: {cores: 1, memory: 1GB}}\n")
    host = SimulatedHost(np.arange(100, 112), folder)
    host.run(host.open())
    (folder / "encoder.safetensors").write_bytes(_builtin_checkpoint())
    with sqlite3.connect(folder / "nsys.sqlite") as database:
        database.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER)")
    _call("plan", folder / "kernelslist.g", "-o", folder / "run.kpplan")
    _call("select", folder / "stats_ctx_0x5d0", "-o", folder / "out")
    (folder / "out" / "selection.kpselect").rename(folder / "selection.kpselect")
    _call("report", folder / "run.kpjournal", "-o", folder / "page.html")
    assert {path.name for path in folder.iterdir()} >= set(KINDS)
    return folder


def _builtin_checkpoint() -> bytes:
    folder = resources.files("kernelpoint") / "checkpoints"
    return next(path.read_bytes() for path in folder.iterdir() if path.name.endswith(".safetensors"))


def _call(*arguments: object) -> None:
    done = run_command(*arguments)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_takes_every_file_or_refuses_it_with_one_message(files, here, kernelpoint, command, record_property):
    refused, tried = 0, 0
    for place, (of, kind, way) in enumerate(PAIRS):
        if of != command or place % STRIDE:
            continue
        target = here / f"{way}-{place}" / kind
        target.parent.mkdir()
        target.write_bytes(WAYS[way]((files / kind).read_bytes()))
        if kind == "kernelslist.g":
            for path in files.glob("kernel-*.traceg"):
                (target.parent / path.name).write_bytes(path.read_bytes())
        named = {"PATH": target, "JOURNAL": files / "run.kpjournal", "LIST": files / "kernelslist.g"}
        named["CONFIG"] = files / "kernelpoint.yaml"
        arguments = [_filled(part, named) for part in COMMANDS[command]]
        code, text = kernelpoint(*arguments)
        assert len(text) < 20_000, (arguments, len(text))
        refused, tried = refused + bool(code), tried + 1
    record_property("tried", tried)
    assert tried and refused


def _filled(part: str, named: dict[str, object]) -> str:
    for word, path in named.items():
        part = part.replace(word, str(path))
    return part

"""Shared by the attacks: commands that are called in this process, and end in time; a small list of traces."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "coordinator"))
sys.path.insert(0, str(Path(__file__).parent))

from caches import new_cache
from in_time import in_time
from trace_writer import cta, small_trace
from tries import tried

from kernelpoint import cli
from kernelpoint.session import boundary

PYTHONS_WORDS = ("Traceback", "Error:", "Errno", "<class", "object at 0x", "NoneType", "PosixPath")


@pytest.fixture
def kernelpoint(monkeypatch, capfd):
    """Call a command; its exit code (0 or not) and all that it printed. What is refused is one message in words of our own."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["kernelpoint", *(os.fspath(part) for part in arguments)])
        code = 0
        tried()
        with in_time():
            try:
                cli.main()
            except SystemExit as end:
                code = 0 if end.code in (0, None) else 1
                if isinstance(end.code, str):
                    print(end.code, file=sys.stderr)  # as Python does at its end
        printed = capfd.readouterr()
        refused = printed.err.replace("\nError: ", "\n")  # how the library of the command line begins what it refuses
        text = printed.out + refused
        assert not any(word in text for word in PYTHONS_WORDS), text
        assert code == 0 or text.strip(), "refused without a reason"
        return code, text

    return call


@pytest.fixture(scope="session")
def traces(tmp_path_factory):
    """A list of 12 launches of three kernels, a few instructions each."""
    folder = tmp_path_factory.mktemp("small")
    for number in range(1, 4):
        fields = {"kernel name": f"k{number}", "kernel id": str(number)}
        (folder / f"kernel-{number}.traceg").write_text(
            small_trace(cta(*2 * [number * ["0000 ffffffff 0 EXIT 0 0"]]), **fields)
        )
    (folder / "kernelslist.g").write_text("".join(f"kernel-{1 + i % 3}.traceg\n" for i in range(12)))
    return folder / "kernelslist.g"


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    """A cache that nobody else uses, and a folder to be in."""
    monkeypatch.setenv("KERNELPOINT_CACHE", new_cache(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def journal_records(tmp_path_factory) -> list[dict[str, object]]:
    """The records of a small run, as JSON says them."""
    folder = tmp_path_factory.mktemp("run")
    (folder / "k.yaml").write_text(f"version: 1\npolicy: random\njournal: {folder}/run.kpjournal\n")
    session = boundary.open(str(folder / "k.yaml"), {"simulator": "test", "launch_counts": [6]}, lambda line: None)
    after = -1
    while (found := session.next(0, after))[0] == 0:
        after = found[1]
        session.on_launch(0, after)
        session.on_complete(0, after, False, 100 + after, 7, ("reads",), (1.0,))
    session.finish()
    records = [json.loads(line) for line in (folder / "run.kpjournal").read_bytes().splitlines()]
    return [{key: value for key, value in record.items() if key != "chain"} for record in records]

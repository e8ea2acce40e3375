"""Shared by the attacks: commands that are called in this process, and end in time; a small list of traces."""

import json
from pathlib import Path

import numpy as np
import pytest
from command_line import run_command
from compiled import library
from in_time import in_time
from simulated_host import SimulatedHost
from trace_writer import cta, small_trace

PYTHONS_WORDS = ("Traceback", "Error:", "Errno", "<class", "object at 0x", "NoneType", "PosixPath")


@pytest.fixture
def kernelpoint():
    """Call a command; its exit code and all that it printed. What is refused is one message in words of our own."""

    def call(*arguments):
        with in_time():
            done = run_command(*arguments)
        refused = done.stderr.replace("\nError: ", "\n")  # the prefix of the command line's library
        text = done.stdout + refused
        assert not any(word in text for word in PYTHONS_WORDS), text
        assert done.returncode == 0 or text.strip(), "refused without a reason"
        return done.returncode, text

    return call


@pytest.fixture
def refused(kernelpoint):
    """Function that runs a command, checks that it is refused, and returns its message."""

    def call(*arguments):
        code, text = kernelpoint(*arguments)
        assert code != 0 and len(text) < 7000
        return text

    return call


@pytest.fixture(scope="module")
def layer(request, tmp_path_factory):
    """The layer under the C library whose source the file of tests names LAYER, as a library to preload."""
    source = Path(__file__).with_name(request.module.LAYER)
    return library(source, tmp_path_factory.mktemp("layer") / f"{source.stem}.so")


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
def here(tmp_path, monkeypatch):
    """A folder to be in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def journal_records(tmp_path_factory) -> list[dict[str, object]]:
    """The records of a small run, as JSON says them."""
    folder = tmp_path_factory.mktemp("run")
    host = SimulatedHost(np.arange(100, 106), folder)
    host.run(host.open())
    records = [json.loads(line) for line in (folder / "run.kpjournal").read_bytes().splitlines()]
    return [{key: value for key, value in record.items() if key != "chain"} for record in records]

"""Any sequence of calls of the ABI gets a status that abi.h names, and keeps its promises; `CALLS=200000` tries more."""

import os
import subprocess
from pathlib import Path

import pytest
from compiled import program

import kernelpoint
from kernelpoint.errors import JournalError
from kernelpoint.journal import load_run

PLUGIN = Path(kernelpoint.__file__).parent / "lib" / "libkernelpoint.so"
CALLS = os.environ.get("CALLS", "3000")


@pytest.fixture(scope="module")
def caller(tmp_path_factory):
    if not PLUGIN.exists():
        pytest.skip("the plugin is not built here")
    source, output = Path(__file__).with_name("any_calls.cc"), tmp_path_factory.mktemp("caller") / "any_calls"
    return program([source], [], output, ["-O0", "-g1"], [str(PLUGIN), f"-Wl,-rpath,{PLUGIN.parent}"])


def ended(journal):
    try:
        return load_run(journal).summary is not None
    except JournalError:
        return False  # it was opened and left before a first record


@pytest.mark.parametrize(("threads", "forks"), [(1, 0), (4, 0), (4, 20)])
def test_any_sequence_of_calls_gets_a_status_and_a_reason(caller, tmp_path, threads, forks):
    command = [caller, tmp_path, "20240721", CALLS, str(threads), str(forks)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=3000)
    assert done.returncode == 0, done.stderr[-3000:]
    refused, answered, children = map(int, done.stdout.split())
    assert refused + answered >= 0.99 * int(CALLS) and min(refused, answered) > 0.1 * int(CALLS)
    assert (children > 0) == (forks > 0)
    assert any(ended(journal) for journal in tmp_path.glob("*.kpjournal"))

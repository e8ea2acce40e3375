"""Ctrl-C in commands that work for long: one message that says what is kept, and the same command goes on."""

import os
import subprocess
import sys

import pytest

from kernelpoint.cli import INTERRUPTED, KEPT
from kernelpoint.synth.compose import compose
from kernelpoint.synth.lists import write_list

# The command line, with a real SIGINT when its progress has moved so many times.
RUN = """
import os, signal, sys
from kernelpoint import progress
moves, stop, move = 0, int(sys.argv.pop(1)), progress.WorkProgress.__call__
def counted(self, *arguments, **options):
    global moves
    moves += 1
    if moves == stop:
        os.kill(os.getpid(), signal.SIGINT)
    return move(self, *arguments, **options)
progress.WorkProgress.__call__ = counted
from kernelpoint.cli import main
main()
"""


@pytest.fixture(scope="module")
def traces(tmp_path_factory):
    folder = tmp_path_factory.mktemp("traces")
    request = compose("iterative-solver", launches=60, sizes={"rows": [1024]})
    write_list(request.sequence, folder, request.launches, request.description)
    return folder / "kernelslist.g"


STOP = 3
COMMANDS = {
    "cluster": (["TRACES"], []),
    "convert": (["TRACES", "-o", "converted"], []),
    "plan": (["TRACES", "-o", "run.kpplan", "--gpu", "v100"], []),
    "synth": (["iterative-solver", "-o", "made", "--launches", "50"], ["--force"]),
    "train": (["TRACES", "-o", "mine.safetensors", "--epochs", "2", "--batch-size", "4"], ["--resume"]),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_ctrl_c_says_what_is_kept_and_the_same_command_goes_on(name, traces, tmp_path):
    if name == "train":
        pytest.importorskip("torch_geometric", reason="kernelpoint[train] is not installed")
    options, again = COMMANDS[name]
    words = [str(traces) if word == "TRACES" else word for word in options]
    environment = {**os.environ, "KERNELPOINT_CACHE": str(tmp_path / "cache")}

    def run(stop: int, *more: str) -> subprocess.CompletedProcess:
        command = [sys.executable, "-c", RUN, str(stop), name, *words, *more]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)

    done = run(STOP)
    assert done.returncode == INTERRUPTED, done.stderr
    assert done.stderr.endswith(f"\nkernelpoint {name}: interrupted. {KEPT[name]}\n")
    assert "Traceback" not in done.stderr
    done = run(0, *again)
    assert done.returncode == 0, done.stderr

"""Ctrl-C ends a long command with one message about the results that are kept. The same command resumes."""

import os
import signal

import pytest
from command_line import run_command
from workloads import synthesised

from kernelpoint import progress
from kernelpoint.cli import INTERRUPTED, KEPT


@pytest.fixture(scope="module")
def traces(tmp_path_factory):
    return synthesised(tmp_path_factory.mktemp("traces"), "iterative-solver", 60, rows=1024)


STOP = 3  # moves of the progress


def interrupting(move):
    """The same, with a real SIGINT when the progress has moved so many times."""
    moves = iter(range(1, STOP + 1))

    def counted(self, *arguments, **options):
        if next(moves, None) == STOP:
            os.kill(os.getpid(), signal.SIGINT)
        return move(self, *arguments, **options)

    return counted


COMMANDS = {
    "file convert": (["TRACES", "-o", "converted"], []),
    "plan": (["TRACES", "-o", "run.kpplan", "--gpu", "v100"], []),
    "lab synth": (["iterative-solver", "-o", "made", "--launches", "50"], ["--force"]),
    "lab train": (["TRACES", "-o", "mine.safetensors", "--epochs", "2"], ["--resume"]),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_ctrl_c_says_what_is_kept_and_the_same_command_goes_on(name, traces, tmp_path, monkeypatch, request):
    if name == "lab train":
        pytest.importorskip("torch", reason="kernelpoint[train] is not installed")
    options, again = COMMANDS[name]
    words = [str(traces) if word == "TRACES" else word for word in options]
    monkeypatch.setenv("KERNELPOINT_CACHE", str(tmp_path / "cache"))
    # a run on many workers, in this process, leaves another
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, handler))

    with monkeypatch.context() as patch:
        patch.setattr(progress.WorkProgress, "__call__", interrupting(progress.WorkProgress.__call__))
        done = run_command(*name.split(), *words, cwd=tmp_path)
    assert done.returncode == INTERRUPTED, done.stderr
    assert done.stderr.endswith(f"\nkernelpoint {name}: interrupted. {KEPT[name]}\n")
    assert "Traceback" not in done.stderr
    done = run_command(*name.split(), *words, *again, cwd=tmp_path)
    assert done.returncode == 0, done.stderr

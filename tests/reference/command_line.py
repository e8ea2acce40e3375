"""The command `kernelpoint` in the test's own process: a process of its own would read numpy and pydantic at each start."""

import io
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from kernelpoint.cli import main

PROCESS = [sys.executable, "-c", "from kernelpoint.cli import main; main()"]  # the command in a process of its own


def run_command(*arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run `kernelpoint ARGUMENTS` in a folder; its exit status and what it printed."""
    words = ["kernelpoint", *map(str, arguments)]
    out, err, status = io.StringIO(), io.StringIO(), 0
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr("sys.argv", words)
        if cwd is not None:
            patch.chdir(cwd)
        try:
            main()
        except SystemExit as end:  # its code is a status, or a message, as Python prints it
            status = end.code if isinstance(end.code, int) else int(end.code is not None)
            sys.stderr.write(f"{end.code}\n" if isinstance(end.code, str) else "")
    return subprocess.CompletedProcess(words, status, out.getvalue(), err.getvalue())


def output_of(*arguments: object, cwd: Path | None = None) -> str:
    """All that a command prints, which has to succeed."""
    done = run_command(*arguments, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def refusal_of(*arguments: object, cwd: Path | None = None) -> str:
    """All that a command prints, which has to be refused."""
    done = run_command(*arguments, cwd=cwd)
    assert done.returncode != 0, done.stdout
    return done.stdout + done.stderr

"""Commands of the documents, run one after another."""

import re
import shlex
import subprocess
from pathlib import Path

from command_line import run_command


def run(text: str, folder: Path) -> str:
    """Run a line or a block of lines, each of which has to end well; what they print.

    A `kernelpoint` that needs nothing of a shell runs in this process, whose packages are imported once; the rest in `sh`.
    """
    printed = ""
    for line in text.splitlines():
        if re.fullmatch(r"kernelpoint [\w\s./~=,:+-]*", line):
            done = run_command(*(str(Path(word).expanduser()) for word in shlex.split(line)[1:]), cwd=folder)
        else:
            done = subprocess.run(["sh", "-e", "-c", line], cwd=folder, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, f"{line}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        assert "Traceback" not in done.stderr
        printed += done.stdout + done.stderr
    return printed

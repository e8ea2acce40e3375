"""`kernelpoint-host`: the embedded host, a program built with the package. This module only starts it."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def program() -> Path:
    """Path of the compiled embedded host, the small simulator that ships with KernelPoint."""
    return Path(__file__).resolve().parent.parent / "bin" / "kernelpoint-host"


def main() -> None:
    """Replace this process by the embedded host (the small simulator that ships with KernelPoint), with the same arguments."""
    path = program()
    if not path.is_file():
        sys.exit(f"kernelpoint-host: {path} is missing; build it with `make build`")
    os.execv(path, ["kernelpoint-host", *sys.argv[1:]])

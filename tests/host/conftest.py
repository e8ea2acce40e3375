"""The built host, run on hand-written traces."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from bench import Bench

from kernelpoint.cli.host import program


@pytest.fixture
def bench(tmp_path):
    if not program().is_file():
        pytest.skip(f"{program()} is not built; `make build` does")
    return Bench(tmp_path, program())

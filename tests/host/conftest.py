"""The built host, run on hand-written traces; and a scripted plugin, compiled once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from bench import ROOT, Bench

from kernelpoint.cli.host import program


@pytest.fixture
def bench(tmp_path):
    if not program().is_file():
        pytest.skip(f"{program()} is not built; `make build` does")
    return Bench(tmp_path, program())


@pytest.fixture(scope="session")
def fake_plugin(tmp_path_factory):
    """A plugin that plays the script it is given as configuration: see fake_plugin.cc."""
    library = tmp_path_factory.mktemp("plugin") / "libfake.so"
    source = Path(__file__).parent / "fake_plugin.cc"
    command = ["c++", "-std=c++17", "-shared", "-fPIC", f"-I{ROOT / 'plugin/include'}", str(source), "-o", str(library)]
    subprocess.run(command, check=True)
    return library

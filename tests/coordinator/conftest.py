import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from coordinated import Bench
from gpu import Gpu


@pytest.fixture
def gpu(tmp_path):
    """A GPU with 200 launches."""
    return Gpu(tmp_path)


@pytest.fixture(scope="session")
def traces(tmp_path_factory):
    """A small iterative solver of 120 launches, written once."""
    from kernelpoint_lab.commands import synth

    folder = tmp_path_factory.mktemp("solver") / "traces"
    synth.synth("iterative-solver", folder, launches=120, sizes=["rows=1024"])
    return folder


@pytest.fixture
def bench(tmp_path, traces, monkeypatch):
    """The solver, with a cache of its own."""
    monkeypatch.setenv("KERNELPOINT_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return Bench(tmp_path, traces)

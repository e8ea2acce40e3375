"""Fixtures of every folder: the scripted plugin, which stands in for the real one in the tests of hosts."""

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

# A runner in the background ignores Ctrl-C, and so would the programs that tests start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Programs, not tests: they import much, which every process of the suite would pay for.
collect_ignore = ["benchmarks", "setup"]

PLUGIN = Path(__file__).parents[1] / "plugin"


@pytest.fixture(scope="session", autouse=True)
def temporary_files(tmp_path_factory) -> Iterator[None]:
    """Folder for temporary files of tests and of the programs that they start: below pytest's own, which removes it."""
    folder = str(tmp_path_factory.mktemp("temporary"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", folder)
        patch.setattr(tempfile, "tempdir", folder)
        yield


@pytest.fixture(scope="session")
def scripted_plugin(tmp_path_factory) -> Path:
    """A plugin without Python whose decisions stand in a script: see plugin/testing/scripted_plugin.cc."""
    compiler = shutil.which(os.environ.get("CXX", "c++"))
    source = PLUGIN / "testing" / "scripted_plugin.cc"
    if compiler is None or not source.is_file():
        pytest.skip("no C++ compiler on PATH (c++ or CXX), or the C++ sources are not beside the tests")
    library = tmp_path_factory.mktemp("plugin") / "scripted.so"
    flags = ["-std=c++17", "-O1", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror"]
    includes = [f"-I{PLUGIN}", f"-I{PLUGIN / 'include'}"]
    subprocess.run([compiler, *flags, *includes, str(source), "-o", str(library)], check=True, timeout=120)
    return library

"""Fixtures of every folder: the scripted plugin, which stands in for the real one in the tests of hosts."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

PLUGIN = Path(__file__).parents[1] / "plugin"


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

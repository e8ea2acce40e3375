"""The shim, the embedding and a host under AddressSanitizer and UndefinedBehaviorSanitizer.

Leaks are not looked for: Python leaks by design, and so does the embedding, which is never finalised.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pybind11
import pytest
from compiled import units

ROOT = Path(__file__).resolve().parents[2]
SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-fno-omit-frame-pointer", "-O0", "-g"]
EVERY_CALL = [
    *(
        "open",
        "next:first",
        "launch:0",
        "progress:5",
        "complete:0",
        "complete:1",
        "abort:2",
        "estimate:0",
        "name:1",
        "null",
    ),
    *("launch_sized:0", "launch_sized:63", "launch_sized:96", "launch_sized:4097", "threads:3", "error_elsewhere"),
    *("open", "finish", "finish", "fork:1", "exit"),
]
SCRIPT = """
import numpy
print("printed", end="")
def on_abort(*given): raise ValueError("no")
"""


@pytest.fixture(scope="module")
def compiler(tmp_path_factory) -> str:
    found = shutil.which(os.environ.get("CXX", "c++"))
    program = tmp_path_factory.mktemp("probe") / "program"
    command = [found or "c++", *SANITIZE, "-x", "c++", "-", "-o", str(program)]
    if found is None or subprocess.run(command, input=b"int main() {}", capture_output=True, timeout=60).returncode:
        pytest.skip("the C++ compiler is missing or cannot link with sanitizers (libasan, libubsan)")
    return found


def build(compiler: str, output: Path, folder: str, *options: str) -> None:
    sources = map(str, units(folder))  # joined as setup.py joins them: a function that one source hides stays hidden
    includes = [f"-I{ROOT / 'plugin'}", f"-I{ROOT / 'plugin' / 'include'}"]
    common = ["-std=c++17", "-shared", "-fPIC", "-fvisibility=hidden", *SANITIZE, *includes]
    subprocess.run([compiler, *common, *sources, "-o", str(output), *options, "-ldl"], check=True, timeout=600)


def build_host(compiler: str, folder: Path) -> Path:
    host = folder / "scripted_host"
    source = Path(__file__).parent / "scripted_host.cc"
    command = [compiler, "-std=c++17", *SANITIZE, f"-I{ROOT / 'plugin' / 'include'}", str(source), "-o", str(host)]
    subprocess.run([*command, "-ldl", "-pthread"], check=True, timeout=300)
    return host


def build_embedding(compiler: str, plugin: Path) -> None:
    directory = sysconfig.get_config_var("LIBDIR")
    name = sysconfig.get_config_var("INSTSONAME")
    defines = [f'-DKP_LIBPYTHON="{name}"', f'-DKP_BUILD_PYTHON="{sys.executable}"']
    includes = [f"-I{pybind11.get_include()}", f"-I{sysconfig.get_path('include')}"]
    link = [f"-L{directory}", f"-l:{name}", f"-Wl,-rpath,{directory}"]
    build(compiler, plugin.with_name("libkernelpoint_embedding.so"), "runtime/embedding", *defines, *includes, *link)


def check_every_call(run_host, host: Path, plugin: Path, tmp_path: Path) -> None:
    config = tmp_path / "script.py"
    config.write_text(SCRIPT)
    run = run_host(host, plugin, config, *EVERY_CALL)
    assert run.stderr == ""
    assert run.code == 0
    assert run.one("threads") == "0 wrong"
    assert len(run.of("finish")) == 2


def test_every_call_is_clean_in_host_and_shim(compiler, run_host, install_in, tmp_path):
    plugin = install_in(tmp_path / "installed")
    build(compiler, plugin, "runtime/shim")
    check_every_call(run_host, build_host(compiler, tmp_path), plugin, tmp_path)


@pytest.mark.slow
def test_every_call_is_clean_in_the_embedding_too(compiler, run_host, install_in, tmp_path):
    plugin = install_in(tmp_path / "installed")
    build(compiler, plugin, "runtime/shim")
    build_embedding(compiler, plugin)
    check_every_call(run_host, build_host(compiler, tmp_path), plugin, tmp_path)

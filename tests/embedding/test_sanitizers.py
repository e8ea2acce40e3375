"""The shim, the embedding and a host under AddressSanitizer and UndefinedBehaviorSanitizer.

Leaks are not looked for: Python leaks by design, and so does the embedding, which is never finalised.
"""

import sys
import sysconfig
from pathlib import Path

import pybind11
import pytest
from compiled import SANITISERS, program

SANITISED = [*SANITISERS, "-fno-omit-frame-pointer", "-O0", "-g"]
EVERY_CALL = [
    "open", "next:first", "launch:0", "progress:5", "complete:0", "complete:1", "abort:2", "cost:0", "cost:1", "null",
    "launch_sized:0", "launch_sized:63", "launch_sized:96", "launch_sized:4097", "connect:2", "extend:none", "threads:3",
    "error_elsewhere", "open", "finish", "finish", "finish:1", "estimate:0", "fork:1", "exit",
]  # fmt: skip
SCRIPT = """
import numpy
print("printed", end="")
def on_abort(*given): raise ValueError("no")
"""


def build(output: Path, folder: str, flags: list[str] | None = None, link: list[str] | None = None) -> None:
    """A folder of the plugin as a library; its sources are joined as setup.py joins them, so what one hides stays hidden."""
    program([], [folder], output, [*SANITISED, "-fPIC", "-fvisibility=hidden", *(flags or [])], ["-shared", *(link or [])])


def build_embedding(plugin: Path) -> None:
    name = sysconfig.get_config_var("INSTSONAME")
    directory = sysconfig.get_config_var("LIBDIR")
    flags = [f"-I{pybind11.get_include()}", f"-I{sysconfig.get_path('include')}"]
    link = [f"-L{directory}", f"-l:{name}"]
    build(plugin.with_name("libkernelpoint_embedding.so"), "runtime/embedding", flags, link)


def build_shim(plugin: Path) -> None:
    get = sysconfig.get_config_var
    named = {"PYTHON": get("py_version_short"), "LDVERSION": get("LDVERSION"), "LIBPYTHON": get("INSTSONAME")}
    named["BUILD_PYTHON"] = sys.executable
    build(plugin, "runtime/shim", [f'-DKP_{name}="{value}"' for name, value in named.items()])


def check_every_call(run_host, plugin: Path, tmp_path: Path) -> None:
    host = program([Path(__file__).with_name("scripted_host.cc")], [], tmp_path / "scripted_host", SANITISED)
    config = tmp_path / "script.py"
    config.write_text(SCRIPT)
    run = run_host(host, plugin, config, *EVERY_CALL)
    assert run.stderr == ""
    assert run.code == 0
    assert run.one("threads") == "0 wrong"
    assert len(run.of("finish")) == 3


def test_every_call_is_clean_in_host_and_shim(run_host, install_in, tmp_path):
    plugin = install_in(tmp_path / "installed")
    build_shim(plugin)
    check_every_call(run_host, plugin, tmp_path)


@pytest.mark.slow
def test_every_call_is_clean_in_the_embedding_too(run_host, install_in, tmp_path):
    plugin = install_in(tmp_path / "installed")
    build_shim(plugin)
    build_embedding(plugin)
    check_every_call(run_host, plugin, tmp_path)

"""Hosts older and newer than the plugin; the Python that the plugin becomes; the files that the build makes."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import kernelpoint
from kernelpoint import __file__ as real_package

EINVAL, EVERSION = -1, -3
SHOW_PYTHON = "import sys; log(sys.executable); log(sys.prefix)"


@pytest.mark.parametrize(
    ("size", "complaint"),
    [(0, "decision"), (4, "decision"), (15, "decision"), (16, "launch"), (23, "launch"), (4097, "decision")],
)
def test_a_size_that_no_version_had_is_refused(host, size, complaint):
    least = {"decision": 16, "launch": 24}[complaint]
    run = host("open", f"launch_sized:{size}")
    assert run.one("launch_sized").startswith(f"{EINVAL} {complaint}.size is {size}, expected at least {least}")


def test_a_newer_host_gets_zeros_for_what_the_plugin_does_not_know(host):
    assert host("open", "launch_sized:96").one("launch_sized") == "0 tail=0 beyond=85"


def test_host_information_of_a_wrong_size_is_refused(host):
    run = host("size:71", "open")
    assert run.of("open")[-1] == f"{EINVAL} info.size is 71, expected at least 72: set it to the struct's sizeof none"


def test_a_host_from_before_a_field_was_added_is_taken_as_one_that_states_nothing_there(host):
    run = host("know:2", "size:144", "open", script="log(repr((info['not_replayed'], info['architectures'])))")
    assert eval(run.of("log")[-1]) == ("", [])


@pytest.mark.parametrize("version", [0, 1, 3])
def test_a_host_of_another_abi_version_is_refused(host, version):
    run = host(f"abi:{version}", "open")
    assert run.one("open").startswith(f"{EVERSION} the host was built for ABI version {version}")


def test_a_plugin_of_another_abi_version_is_refused_before_it_is_called(host, tmp_path):
    assert "speaks ABI version 7" in host(plugin=old_plugin(tmp_path, "uint32_t kp_abi_version() { return 7; }")).one(
        "load"
    )


def test_a_plugin_that_lacks_a_function_is_refused(host, tmp_path):
    run = host(plugin=old_plugin(tmp_path, "uint32_t kp_abi_version() { return 2; }"))
    assert run.one("load").endswith("is too old for this simulator: it has no function kp_open")


def test_a_missing_or_foreign_library_is_refused(host, tmp_path):
    assert "cannot open shared object file" in host(plugin=tmp_path / "none.so").one("load")
    assert "has no function kp_abi_version" in host(plugin=old_plugin(tmp_path, "int other;")).one("load")


def old_plugin(folder: Path, body: str) -> Path:
    source, library = folder / "old.cc", folder / "old.so"
    source.write_text(f'#include <stdint.h>\nextern "C" {{ {body} }}\n')
    subprocess.run(["c++", "-shared", "-fPIC", str(source), "-o", str(library)], check=True, timeout=60)
    return library


def test_the_environment_names_the_plugin_first(host, tmp_path, plugin):
    assert host("open", plugin=tmp_path / "none.so", env={"KERNELPOINT_PLUGIN": str(plugin)}).one("open") == "0 session"


@pytest.mark.parametrize("found", [True, False])
def test_the_installed_command_names_the_plugin_where_nothing_else_does(host, tmp_path, plugin, found):
    command = tmp_path / "kernelpoint"
    command.write_text(f'#!/bin/sh\n[ "$*" = "doctor --plugin" ] && echo {plugin}\n')
    command.chmod(0o755)
    run = host(*["open"] * found, plugin="", env={"PATH": f"{tmp_path}:/usr/bin:/bin" if found else "/usr/bin:/bin"})
    assert run.one("open") == "0 session" if found else "put the command `kernelpoint` on PATH" in run.one("load")


@pytest.mark.parametrize(
    ("language", "header"),
    [
        *[
            ("c99", f"kernelpoint/{name}")
            for name in ("abi.h", "state.h", "summary.h", "descriptors.h", "loader.h", "counters.h")
        ],
        *[(standard, f"kernelpoint/{name}") for standard in ("c++11", "c++20") for name in ("loader.h", "client.hpp")],
    ],
)
def test_the_headers_suit_hosts_of_every_age(header_folder, language, header):
    command = ["c++", f"-std={language}", "-x", language[:-2], f"-I{header_folder}", "-fsyntax-only", "-"]
    strict = ["-Wall", "-Wextra", "-pedantic", "-Werror", "-D_POSIX_C_SOURCE=200809L", "-Wno-unused-variable"]
    text = f'#include "{header}"\nint main(void) {{ return 0; }}\n'
    done = subprocess.run([*command, *strict], input=text, capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr == ""


def test_a_plugin_without_its_embedding_library_is_refused(host, tmp_path, plugin):
    alone = tmp_path / plugin.name
    shutil.copy(plugin, alone)
    refused = host("open", plugin=alone).one("open")
    assert refused.startswith(f"{EVERSION} the plugin cannot start Python: ")
    assert "is missing" in refused


def test_a_plugin_outside_its_package_is_refused(host, tmp_path, plugin):
    shutil.copytree(plugin.parent, tmp_path / "moved" / "lib")
    run = host("open", plugin=tmp_path / "moved" / "lib" / plugin.name)
    assert "does not lie in the package it belongs to" in run.one("open")


def test_the_plugin_becomes_the_python_that_built_it(host):
    executable, prefix = host("open", script=SHOW_PYTHON).of("log")
    assert Path(executable).samefile(sys.executable)
    assert Path(prefix).samefile(sys.prefix)


def test_the_plugin_becomes_the_python_of_the_environment_it_is_installed_in(host, install_in, tmp_path):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "env")], check=True, timeout=60)
    (packages,) = (tmp_path / "env" / "lib").glob("python*/site-packages")
    run = host("open", plugin=install_in(packages), script=SHOW_PYTHON)
    assert Path(run.of("log")[1]).samefile(tmp_path / "env")


def test_the_environment_names_the_python_first(host, tmp_path):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "env")], check=True, timeout=60)
    run = host("open", script=SHOW_PYTHON, env={"KERNELPOINT_PYTHON": str(tmp_path / "env" / "bin" / "python3")})
    assert Path(run.of("log")[1]).samefile(tmp_path / "env")


def test_a_python_that_does_not_exist_is_refused(host):
    run = host("open", "maps", env={"KERNELPOINT_PYTHON": "/nonexistent/python3"})
    assert run.one("open").startswith(f"{EVERSION} KERNELPOINT_PYTHON is /nonexistent/python3: no executable file")


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [("echo 3.1.4", "is Python 3.1.4, but the plugin's libpython is"), ("exit 1", "does not run as Python")],
)
def test_a_python_of_another_version_is_refused(host, tmp_path, answer, complaint):
    python = tmp_path / "python3"
    python.write_text(f"#!/bin/sh\n{answer}\n")
    python.chmod(0o755)
    refused = host("open", env={"KERNELPOINT_PYTHON": str(python)}).one("open")
    assert refused.startswith(str(EVERSION))
    assert complaint in refused


def test_a_session_opens_after_a_refused_start(host):
    # The same process: first with a Python that is missing, then with the right one.
    run = host("setenv:KERNELPOINT_PYTHON=/nonexistent", "open", f"setenv:KERNELPOINT_PYTHON={sys.executable}", "open")
    assert run.of("open")[0].startswith(str(EVERSION))
    assert run.of("open")[1] == "0 session"


@pytest.mark.parametrize("variable", ["PYTHONHOME", "VIRTUAL_ENV", "PYTHONSTARTUP", "PYTHONNOUSERSITE"])
def test_variables_meant_for_another_python_change_nothing(host, tmp_path, variable):
    run = host("open", script="import numpy", env={variable: str(tmp_path)})
    assert run.one("open") == "0 session"


def test_pythonpath_counts_as_it_does_for_the_command(host, tmp_path):
    (tmp_path / "only_here.py").write_text("answer = 42")
    run = host("open", script="import only_here; log(str(only_here.answer))", env={"PYTHONPATH": str(tmp_path)})
    assert run.one("log") == "42"


PYTHON_HOST = """
import ctypes, sys
class Info(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("abi", ctypes.c_uint32), ("text", ctypes.c_char_p * 3),
                ("flags", ctypes.c_uint32), ("processes", ctypes.c_uint32), ("rest", ctypes.c_void_p * 4)]
plugin = ctypes.CDLL(sys.argv[1])
plugin.kp_last_error.restype = ctypes.c_char_p
info = Info(ctypes.sizeof(Info), 2, (b"python", b"", b""), 0, 1)
session = ctypes.c_void_p()
status = plugin.kp_open(sys.argv[2].encode(), ctypes.byref(info), ctypes.byref(session))
print(status, plugin.kp_last_error().decode() if status else "open", type(sys.stdout).__name__)
"""


@pytest.mark.parametrize(
    ("first", "expected"),
    [("", "0 open TextIOWrapper"), ("import kernelpoint\n", "-3 the plugin belongs to ")],
    ids=["fresh", "another kernelpoint imported"],
)
def test_a_host_that_runs_python_already_keeps_its_interpreter(plugin, tmp_path, first, expected):
    config = tmp_path / "script.py"
    config.write_text("")
    done = subprocess.run(
        [sys.executable, "-c", first + PYTHON_HOST, str(plugin), str(config)],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=Path(real_package).parents[1],
    )
    assert done.stdout.startswith(expected), done.stdout + done.stderr
    assert done.returncode == 0


def test_a_python_program_without_the_packages_of_kernelpoint_is_told_where_to_install_them():
    plugin = Path(real_package).parent / "lib" / "libkernelpoint.so"
    if not plugin.exists():
        pytest.skip("the plugin is not built here")
    command = [sys.executable, "-S", "-c", PYTHON_HOST, str(plugin), "kernelpoint.yaml"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.startswith(f"-3 the simulator runs in {sys.executable}, which lacks KernelPoint's package ")
    assert f"`{sys.executable} -m pip install kernelpoint`" in done.stdout


PACKAGE = Path(kernelpoint.__file__).parent
BUILT = [*PACKAGE.glob("_native*.so"), *(PACKAGE / "lib").glob("*.so"), *(PACKAGE / "bin").glob("kernelpoint-*")]


@pytest.mark.skipif(shutil.which("readelf") is None, reason="readelf, of binutils, is not installed")
def test_libraries_and_programs_are_stripped():
    assert len(BUILT) >= 3
    for path in BUILT:
        sections = subprocess.run(["readelf", "--sections", "--wide", path], capture_output=True, text=True, check=True)
        assert ".dynsym" in sections.stdout and not {".symtab", ".debug_info"} & set(sections.stdout.split()), path

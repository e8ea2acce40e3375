"""Hosts older and newer than the plugin; the Python that the plugin becomes; the files that the build makes."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import kernelpoint
from kernelpoint import __file__ as real_package

EINVAL, EVERSION = -1, -3
ROOT = Path(__file__).parents[2]
SHOW_PYTHON = "import sys; log(sys.executable); log(sys.prefix)"


@pytest.mark.parametrize("size", [0, 4, 31, 4097])
def test_a_size_that_no_version_had_is_refused(host, size):
    run = host("open", f"launch_sized:{size}")
    assert run.one("launch_sized").startswith(f"{EINVAL} order.size is {size}, expected at least 32")


def test_a_newer_host_gets_zeros_for_what_the_plugin_does_not_know(host):
    assert host("open", "launch_sized:96").one("launch_sized") == "0 tail=0 beyond=85"


def test_host_information_of_a_wrong_size_is_refused(host):
    run = host("size:71", "open")
    assert run.of("open")[-1] == f"{EINVAL} host.size is 71, expected at least 112: set it to the struct's sizeof none"


@pytest.mark.parametrize(("version", "advice"), [(2, "kernelpoint patch SIMULATOR CHECKOUT"), (4, "newer KernelPoint")])
def test_a_host_of_another_abi_version_gets_no_table_but_the_command_that_mends_it(host, version, advice):
    refused = host(f"connect:{version}").one("connect")
    assert refused.startswith(f"NULL this KernelPoint speaks ABI version 3, the simulator {version}: ")
    assert advice in refused
    assert host("connect:3").one("connect") == "table none"


def test_a_host_from_before_the_tables_is_refused_with_the_command_that_patches_again(host):
    run = host("connect_old")
    assert run.one("connect_old") == "3", "which the loader of version 2 refuses in words of its own"
    assert "`kernelpoint patch SIMULATOR CHECKOUT`" in run.stderr


def test_an_extension_that_is_not_offered_is_an_empty_table(host):
    run = host("extend:kp_state", "extend:kp_music", "extend:")
    assert run.of("extend") == ["0 24", "-1 0", "-1 0"]


def test_functions_that_an_older_table_lacks_are_null_for_the_host(tmp_path, plugin):
    table = "core table = {32, 3, {&table, &table, &table}}; const core* kp_connect(uint32_t, const char**) { return &table; }"
    library = old_plugin(tmp_path, f"typedef struct {{ uint32_t size, version; const void* functions[8]; }} core; {table}")
    source, program = tmp_path / "host.c", tmp_path / "host"
    source.write_text(
        '#include "kernelpoint/loader.h"\nint main(int n, char** a) { kp_core kp; char problem[KP_MESSAGE_SIZE];'
        "if (kp_load(&kp, a[1], problem) != 0) return puts(problem), 1;"
        'return printf("%d %d %d\\n", kp.open != NULL, kp.complete != NULL, kp.cost != NULL), n - n; }'
    )
    options = ["-std=c99", "-D_POSIX_C_SOURCE=200809L", f"-I{ROOT / 'plugin' / 'include'}"]
    subprocess.run(["cc", *options, str(source), "-o", str(program), "-ldl"], check=True, timeout=60)
    done = subprocess.run([program, library], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "1 1 0\n"


def test_a_plugin_of_an_older_kernelpoint_is_refused_before_it_is_called(host, tmp_path):
    old = old_plugin(tmp_path, "uint32_t kp_abi_version() { return 2; }")
    assert host(plugin=old).one("load").endswith("older than this simulator's headers: install a newer KernelPoint")


def test_a_missing_or_foreign_library_is_refused(host, tmp_path):
    assert "cannot open shared object file" in host(plugin=tmp_path / "none.so").one("load")
    assert "has no function kp_connect" in host(plugin=old_plugin(tmp_path, "int other;")).one("load")


def old_plugin(folder: Path, body: str) -> Path:
    source, library = folder / "old.cc", folder / "old.so"
    source.write_text(f'#include <stdint.h>\nextern "C" {{ {body} }}\n')
    subprocess.run(["c++", "-shared", "-fPIC", str(source), "-o", str(library)], check=True, timeout=60)
    return library


def test_the_environment_names_the_plugin_first(host, tmp_path, plugin):
    assert host("open", plugin=tmp_path / "none.so", env={"KERNELPOINT_PLUGIN": str(plugin)}).one("open") == "0 session"


@pytest.mark.parametrize("on_path", [True, False])
def test_the_installed_command_names_the_plugin_where_nothing_else_does(host, tmp_path, plugin, on_path):
    command = tmp_path / "kernelpoint"
    command.write_text(f'#!/bin/sh\n[ "$*" = "doctor --plugin" ] && echo {plugin}\n')
    command.chmod(0o755)
    run = host(*["open"] * on_path, plugin="", env={"PATH": f"{tmp_path}:/usr/bin:/bin" if on_path else "/usr/bin:/bin"})
    assert run.one("open") == "0 session" if on_path else "put the command `kernelpoint` on PATH" in run.one("load")


@pytest.mark.parametrize(
    ("language", "header"),
    [
        *[("c99", f"kernelpoint/{name}") for name in ("abi.h", "state.h", "descriptors.h", "loader.h", "counters.h")],
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
    [("echo 3.1.4", "is Python 3.1.4, but the plugin is for Python"), ("exit 1", "does not run as Python")],
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
class Host(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("flags", ctypes.c_uint32), ("text", ctypes.c_char_p * 4),
                ("processes", ctypes.c_uint32), ("counters", ctypes.c_uint32), ("rest", ctypes.c_void_p * 8)]
Open = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.POINTER(Host), ctypes.POINTER(ctypes.c_void_p))
class Core(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("version", ctypes.c_uint32), ("open", Open), ("between", ctypes.c_void_p * 5),
                ("last_error", ctypes.CFUNCTYPE(ctypes.c_char_p))]
plugin = ctypes.CDLL(sys.argv[1])
plugin.kp_connect.restype = ctypes.POINTER(Core)
core = plugin.kp_connect(3, None).contents
host = Host(ctypes.sizeof(Host), 0, (b"python", b"", b"", b""), 1)
session = ctypes.c_void_p()
status = core.open(sys.argv[2].encode(), ctypes.byref(host), ctypes.byref(session))
print(status, core.last_error().decode() if status else "open", type(sys.stdout).__name__)
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

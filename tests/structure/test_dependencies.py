"""Dependencies point down only; the run path stays light."""

import ast
import re
import sys
from functools import cache
from pathlib import Path

import pytest
from project_files import LAB, PACKAGE, PLUGIN, place, python_files, tree

# From top to bottom; a part may import from parts on lines below its own, never from its own line or above.
LAYERS = [
    {"cli"},
    {"api"},
    {"evaluation", "coordinator", "python_host"},
    {"report"},
    {"paired", "packs"},
    {"session"},
    {"totals"},
    {"selection"},
    {"planning"},
    {"policies"},
    {"ranges"},
    {"workload"},
    {"encoder", "estimation", "clustering", "patching"},
    {"graphs", "fast_model", "pages"},
    {"admission"},
    {"traces", "profiles"},
    {"journal"},
    {"simulators"},
    {"program"},
    {"config", "estimate", "finding", "randomness", "ratios", "registry", "_native"},
    {"archive", "typed"},
    {"files", "extras", "arguments"},
    {"errors", "file_names", "pool", "progress", "repeated"},
    {"terminal"},
]
LEVEL = {part: level for level, parts in enumerate(LAYERS) for part in parts}
# Packages of one simulator each stand beside the fast model; only the registry `simulators` loads them, by name.
ROOMS = {f"simulators.{path.parent.name}" for path in PACKAGE.glob("simulators/*/__init__.py")}
LEVEL |= dict.fromkeys(ROOMS, LEVEL["fast_model"] - 1)
ONLY_THERE = {
    "torch": {"graphs"},
    "torch_geometric": {"graphs"},
    "typer": {"cli"},
    "sklearn": {"clustering", "policies"},
    "google": {"profiles"},
    "dask": {"coordinator"},
    "distributed": {"coordinator"},
    "dask_jobqueue": {"coordinator"},
}
FILES = python_files(PACKAGE)
MAY_USE_THE_LAB = {"__init__", "cli"}  # names that a user calls: kernelpoint.TraceEncoder, synth, train, demo


def part_of(path: Path) -> str:
    return part_named(path.relative_to(PACKAGE).with_suffix("").parts)


def part_named(names: tuple[str, ...]) -> str:
    """The part of a file or module, by the names behind `kernelpoint`."""
    return room if (room := ".".join(names[:2])) in ROOMS else names[0]


@cache
def imported_modules(path: Path) -> set[str]:
    modules = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide the direction of a dependency"
            modules |= {f"{node.module}.{alias.name}" for alias in node.names}
    return modules


def lies_below(path: Path, module: str) -> bool:
    here, names = part_of(path), module.split(".")
    if names[0] != "kernelpoint" or names[1:2] in ([], ["__version__"]):
        return True
    there = part_named(tuple(names[1:]))
    return there == here or (there not in ROOMS and (here == "__init__" or LEVEL[here] < LEVEL[there]))


def test_a_file_imports_only_from_the_layers_below_it():
    wrong = [f"{place(path)}: {name}" for path in FILES for name in imported_modules(path) if not lies_below(path, name)]
    assert wrong == []


def module_of(path: Path) -> str:
    return ".".join(("kernelpoint", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")


def circles(imports: dict[str, set[str]]) -> set[frozenset[str]]:
    """Modules that import each other, by way of others too (imports for type checkers count)."""
    reached = {name: set(others) for name, others in imports.items()}
    for middle in reached:
        for others in reached.values():
            if middle in others:
                others |= reached[middle]
    return {frozenset(b for b in reached if b in reached[a] and a in reached[b]) for a in reached if a in reached[a]}


def test_no_modules_import_each_other_in_a_circle():
    modules = {module_of(path): path for path in FILES if path.name != "__init__.py"}
    imports = {
        name: {
            wanted
            for imported in imported_modules(path)
            for wanted in (imported, imported.rpartition(".")[0])
            if wanted in modules and wanted != name
        }
        for name, path in modules.items()
    }
    assert circles(imports) == set()
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == {frozenset("abc")}


NAMES = re.compile(r"accel-?_?sim|macsim|gpgpu", re.IGNORECASE)
# Beside the commands: a description of the keys of the configuration, for users.
MAY_NAME_SIMULATORS = {"config/schema.py"}


def without_docstrings(path: Path) -> str:
    """The text of a module without docstrings, which show simulators in examples."""
    lines = path.read_text().splitlines()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            lines[node.body[0].lineno - 1 : node.body[0].end_lineno] = [""] * (
                node.body[0].end_lineno - node.body[0].lineno + 1
            )
    return "\n".join(lines)


def test_outside_its_package_no_module_names_a_simulator():
    generic = [path for path in FILES if part_of(path) not in {*ROOMS, "simulators", "cli"}]
    naming = {path.relative_to(PACKAGE).as_posix() for path in generic if NAMES.search(without_docstrings(path))}
    assert naming == MAY_NAME_SIMULATORS


def test_only_commands_use_the_lab_and_the_lab_uses_no_commands_but_its_own():
    used = [place(path) for path in FILES if any(name.split(".")[0] == LAB.name for name in imported_modules(path))]
    assert {part_of(PACKAGE.parents[1] / name) for name in used} <= MAY_USE_THE_LAB, used
    commands = [f"{place(path)}: {name}" for path in python_files(LAB) for name in imported_modules(path)
                if name.startswith("kernelpoint.cli") and path.parent.name != "commands"]  # fmt: skip
    assert commands == []


def test_heavy_libraries_are_imported_only_where_they_belong():
    wrong = [
        f"{place(path)}: {name}"
        for path in FILES
        for name in imported_modules(path)
        if part_of(path) not in ONLY_THERE.get(name.split(".")[0], {part_of(path)})
    ]
    assert wrong == []


def test_estimation_knows_nothing_but_numpy():
    allowed = {"numpy", "kernelpoint", "__future__", *sys.stdlib_module_names}
    for path in (PACKAGE / "estimation").rglob("*.py"):
        roots = {m.split(".")[0] for m in imported_modules(path)}
        assert roots <= allowed, f"{path}: {roots - allowed}"


@pytest.mark.skipif(not PLUGIN.exists(), reason="the C++ sources are not beside the installed package")
def test_the_embedded_host_reaches_the_plugin_only_through_its_c_header():
    for path in [path for part in ("host", "fast_model") for path in (PLUGIN / part).rglob("*.*")]:
        text = path.read_text()
        for forbidden in ("Python.h", "pybind11", "runtime/", "native/bindings", "native/graph"):
            assert forbidden not in text, f"{path} mentions {forbidden}"


@pytest.mark.skipif(not PLUGIN.exists(), reason="the C++ sources are not beside the installed package")
def test_only_the_embedding_and_the_extension_see_python():
    for path in PLUGIN.rglob("*"):
        if path.suffix in (".h", ".hpp", ".cc") and path.parent.name not in ("embedding", "bindings"):
            assert "Python.h" not in path.read_text() and "pybind11" not in path.read_text(), path


SIMULATORS = PLUGIN / "simulators"
# The ABI's examples, which a user of one simulator reads; the table of simulators' counters; the command line's help.
CPP_MAY_NAME_SIMULATORS = {"include/kernelpoint/abi.h", "include/kernelpoint/counters.h", "host/main.cc"}


@pytest.mark.skipif(not PLUGIN.exists(), reason="the C++ sources are not beside the installed package")
def test_outside_its_folder_no_source_names_a_simulator():
    sources = {path for path in PLUGIN.rglob("*") if path.suffix in (".h", ".hpp", ".cc")}
    generic = {path.relative_to(PLUGIN).as_posix(): path for path in sources if SIMULATORS not in path.parents}
    assert {name for name, path in generic.items() if NAMES.search(path.read_text())} == CPP_MAY_NAME_SIMULATORS
    for path in sources:
        folder = path.relative_to(SIMULATORS).parts[0] if SIMULATORS in path.parents else None
        included = set(re.findall(r'^#include "simulators/(\w+)/', path.read_text(), re.MULTILINE))
        assert included <= {folder}, f"{path} includes from {included}"


# The same of the headers that MacSim gets.
HOOK = [
    {"launch_loop"},
    {"setup", "output", "replay"},
    {"caches", "statistics_reader"},
    {"members"},
]


@pytest.mark.skipif(not PLUGIN.exists(), reason="the C++ sources are not beside the installed package")
def test_a_header_of_macsims_hook_includes_only_those_below_it():
    folder = PLUGIN.parent / "macsim_patch" / "hook"
    levels = {name: i for i, layer in enumerate(HOOK) for name in layer}
    assert {path.stem for path in folder.glob("*.h")} == set(levels)
    for path in folder.glob("*.h"):
        included = set(re.findall(r'^#include "(\w+)\.h"', path.read_text(), re.MULTILINE))
        for name in included & set(levels):
            assert levels[name] > levels[path.stem], f"{path.name} includes {name}.h"

"""Dependencies point down only; the run path stays light."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import kernelpoint

PACKAGE = Path(kernelpoint.__file__).parent
PLUGIN = PACKAGE.parents[1] / "plugin"

# From top to bottom; a part may import from parts on lines below its own, never from its own line or above.
LAYERS = [
    {"cli"},
    {"api"},
    {"evaluation", "coordinator"},
    {"report", "paired"},
    {"session"},
    {"selection"},
    {"policies", "intrakernel"},
    {"workload"},
    {"encoder", "estimation", "clustering", "synth", "patching"},
    {"graphs", "convert", "fast_model"},
    {"traces", "profiles"},
    {"journal"},
    {"config", "randomness", "registry", "_native"},
    {"archive"},
    {"files", "spreadsheet", "extras"},
    {"errors", "pool", "progress"},
]
LEVEL = {part: level for level, parts in enumerate(LAYERS) for part in parts}
ONLY_THERE = {
    "torch": {"encoder", "graphs"},
    "torch_geometric": {"encoder", "graphs"},
    "typer": {"cli"},
    "sklearn": {"clustering", "policies"},
    "dask": {"coordinator"},
    "distributed": {"coordinator"},
    "dask_jobqueue": {"coordinator"},
}
FILES = sorted(PACKAGE.rglob("*.py"))


def part_of(path: Path) -> str:
    relative = path.relative_to(PACKAGE)
    return relative.parts[0].removesuffix(".py")


def imported_modules(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide the direction of a dependency"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_a_file_imports_only_from_the_layers_below_it(path):
    here = part_of(path)
    if here == "__init__":
        return
    for module in imported_modules(path):
        names = module.split(".")
        if names[0] != "kernelpoint" or names[1:2] in ([], ["__version__"], [here]):
            continue
        assert LEVEL[here] < LEVEL[names[1]], f"{here} imports {module}, which does not lie below it"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_heavy_libraries_are_imported_only_where_they_belong(path):
    for module in imported_modules(path):
        root = module.split(".")[0]
        assert part_of(path) in ONLY_THERE.get(root, {part_of(path)}), f"{path} imports {module}"


def test_estimation_knows_nothing_but_numpy():
    allowed = {"numpy", "kernelpoint", "__future__", *sys.stdlib_module_names}
    for path in (PACKAGE / "estimation").rglob("*.py"):
        roots = {m.split(".")[0] for m in imported_modules(path)}
        assert roots <= allowed, f"{path}: {roots - allowed}"


def test_opening_a_run_imports_nothing_heavy():
    code = (
        "import sys, kernelpoint.session.boundary\n"
        "from kernelpoint.policies.registry import load_policy\n"
        "load_policy('random')\n"
        "print(*[m for m in ('torch', 'sklearn', 'scipy', 'typer', 'rich', 'pandas', 'matplotlib') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == ""


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


# The same of the headers that MacSim gets.
HOOK = [
    {"sampling"},
    {"replay"},
    {"application", "setup"},
    {"caches", "kept_state", "predictors", "quiet", "totals"},
    {"statistics_reader", "members"},
    {"traces"},
]
WITHOUT_MACSIM = {"traces"}


@pytest.mark.skipif(not PLUGIN.exists(), reason="the C++ sources are not beside the installed package")
def test_a_header_of_macsims_hook_includes_only_those_below_it():
    folder = PLUGIN.parent / "macsim_patch" / "hook"
    levels = {name: i for i, layer in enumerate(HOOK) for name in layer}
    assert {path.stem for path in folder.glob("*.h")} == set(levels)
    for path in folder.glob("*.h"):
        included = set(re.findall(r'^#include "(\w+)\.h"', path.read_text(), re.MULTILINE))
        for name in included & set(levels):
            assert levels[name] > levels[path.stem], f"{path.name} includes {name}.h"
        if path.stem in WITHOUT_MACSIM:
            assert included <= set(levels), f"{path.name} includes {included}"

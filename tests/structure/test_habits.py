"""Rules of the house that a script can check."""

import ast
from pathlib import Path

import pytest

import kernelpoint

PACKAGE = Path(kernelpoint.__file__).parent
ROOT = PACKAGE.parents[1]
PYTHON = sorted(PACKAGE.rglob("*.py"))
CPP = sorted([*ROOT.glob("plugin/**/*.cc"), *ROOT.glob("plugin/**/*.h*")])


@pytest.mark.parametrize("path", PYTHON + CPP, ids=lambda p: p.name)
def test_a_file_has_fewer_than_350_lines(path):
    assert len(path.read_text().splitlines()) <= 350


@pytest.mark.parametrize("path", PYTHON, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_every_public_definition_has_a_docstring(path):
    tree = ast.parse(path.read_text())
    public = [
        node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_")
    ]
    methods = [
        item
        for node in public
        if isinstance(node, ast.ClassDef)
        for item in node.body
        if isinstance(item, ast.FunctionDef) and not item.name.startswith("_")
    ]
    missing = [node.name for node in public + methods if ast.get_docstring(node) is None]
    assert not missing, f"{path}: without a docstring: {', '.join(missing)}"


@pytest.mark.parametrize("path", PYTHON, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_user_errors_are_raised_as_such(path):
    if path.name == "conformance.py":
        return  # a suite of checks says what it finds by assertions
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Assert):
            narrows = "is not None" in ast.unparse(node.test)  # tells the type checker what the code knows
            assert narrows, f"{path}:{node.lineno}: assert is not for user input"
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and isinstance(node.exc.func, ast.Name):
            assert node.exc.func.id not in ("Exception", "RuntimeError"), f"{path}:{node.lineno}: a bare error"

"""Rules of the house that a script can check."""

import ast
import importlib
import inspect
import re
from pathlib import Path

import pytest

import kernelpoint

PACKAGE = Path(kernelpoint.__file__).parent
ROOT = PACKAGE.parents[1]
PYTHON = sorted(PACKAGE.rglob("*.py"))
CPP = sorted(
    path
    for part in ("plugin", "*_patch/hook")
    for kind in ("cc", "h", "hpp")
    for path in ROOT.glob(f"{part}/**/*.{kind}")
)
TESTS = sorted(path for kind in ("py", "cc", "h") for path in (ROOT / "tests").rglob(f"*.{kind}"))
LONGEST = 35  # lines of a function's own


@pytest.mark.parametrize("path", PYTHON + CPP + TESTS, ids=lambda p: p.name)
def test_a_file_has_at_most_350_lines(path):
    assert len(path.read_text().splitlines()) <= 350


def own_lines(function):
    """Lines of a body without its docstring and without those of functions inside it, which count by themselves."""
    described = ast.get_docstring(function) is not None
    lines = set(range(function.body[described].lineno, function.end_lineno + 1)) if function.body[described:] else set()
    for node in ast.walk(function):
        if isinstance(node, ast.FunctionDef) and node is not function:
            lines -= set(range(node.lineno, node.end_lineno + 1))
    return len(lines)


@pytest.mark.parametrize("path", PYTHON, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_a_function_has_at_most_35_lines(path):
    functions = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)]
    long = [f"{f.name} has {own_lines(f)}" for f in functions if own_lines(f) > LONGEST]
    assert not long, f"{path}: {', '.join(long)}"


NO_FUNCTION = re.compile(r"(if|for|while|switch|else|do|try|return|namespace|class|struct|enum|auto|const auto)\b|[}:]")


def cpp_functions(text):
    """Head and number of lines of every body; the formatter puts its end at the indentation of its head."""
    lines = text.splitlines()
    for opened, line in enumerate(lines):
        if not line.endswith(" {") or ")" not in line:
            continue
        first, head = opened, line
        while head.count("(") < head.count(")"):
            first, head = first - 1, lines[first - 1] + head
        indentation = head[: len(head) - len(head.lstrip())]
        if not NO_FUNCTION.match(head.lstrip()):
            ends = (i for i in range(opened + 1, len(lines)) if lines[i].startswith(indentation + "}"))
            if last := next(ends, None):  # none behind a list of initialisers, or of a lambda among arguments
                yield " ".join(head[:-1].split()), last - opened - 1


@pytest.mark.parametrize("path", CPP, ids=lambda p: p.name)
def test_a_cpp_function_has_at_most_35_lines(path):
    tables = ("opcode_vocabulary()",)  # data
    long = [
        f"{head}: {n}"
        for head, n in cpp_functions(path.read_text())
        if n > LONGEST and not head.strip().endswith(tables)
    ]
    assert not long, f"{path}: {'; '.join(long)}"


def test_functions_are_found():
    text = "int f(int x,\n      int y) {\n    if (x) {\n        a();\n    }\n}\n"
    assert list(cpp_functions(text)) == [("int f(int x, int y)", 3)]
    (function,) = ast.parse('def f():\n    """Text."""\n    def g():\n        pass\n    return 1\n').body
    assert own_lines(function) == 1


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


@pytest.mark.parametrize("folder", sorted(p.parent for p in PACKAGE.rglob("__init__.py")), ids=lambda p: p.name)
def test_every_function_that_a_package_offers_has_an_example(folder):
    package = importlib.import_module(".".join(folder.relative_to(PACKAGE.parent).parts))
    offered = [getattr(package, name) for name in getattr(package, "__all__", ())]
    missing = [f.__name__ for f in offered if inspect.isfunction(f) and ">>>" not in (f.__doc__ or "")]
    assert not missing, f"{package.__name__}: without an example that runs: {', '.join(missing)}"


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

"""Sources of the project, and each Python file's syntax tree, parsed once: for rules over all files."""

import ast
from functools import cache
from pathlib import Path

import kernelpoint

PACKAGE = Path(kernelpoint.__file__).parent
ROOT = PACKAGE.parents[1]
PLUGIN = ROOT / "plugin"
LAB = ROOT / "lab" / "kernelpoint_lab"
CPP_SUFFIXES = {".c", ".cc", ".h", ".hpp"}


def python_files(*folders: Path) -> list[Path]:
    """All Python files below folders."""
    return sorted(path for folder in folders for path in folder.rglob("*.py"))


def cpp_files(*patterns: str) -> list[Path]:
    """All C and C++ files below folders of the project, which patterns name."""
    paths = (path for pattern in patterns for folder in ROOT.glob(pattern) for path in folder.rglob("*.*"))
    return sorted(path for path in paths if path.suffix in CPP_SUFFIXES)


@cache
def tree(path: Path) -> ast.Module:
    """The syntax tree of a Python file."""
    return ast.parse(path.read_text(encoding="utf-8"))


def place(path: Path, line: int | None = None) -> str:
    """A file, or a line of it, as a message names it."""
    return f"{path.relative_to(ROOT)}{'' if line is None else f':{line}'}"

"""Sources of the project, and each Python file's syntax tree, parsed once: for rules over all files."""

import ast
from functools import cache
from pathlib import Path

import kernelpoint

PACKAGE = Path(kernelpoint.__file__).parent
ROOT = PACKAGE.parents[1]
PLUGIN = ROOT / "plugin"
LAB = ROOT / "lab" / "kernelpoint_lab"


def python_files(*folders: Path) -> list[Path]:
    """All Python files below folders."""
    return sorted(path for folder in folders for path in folder.rglob("*.py"))


@cache
def tree(path: Path) -> ast.Module:
    """The syntax tree of a Python file."""
    return ast.parse(path.read_text(encoding="utf-8"))


def place(path: Path, line: int | None = None) -> str:
    """A file, or a line of it, as a message names it."""
    return f"{path.relative_to(ROOT)}{'' if line is None else f':{line}'}"

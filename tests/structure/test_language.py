"""Docstrings and comments open with a verb or a noun."""

import ast
import re
from pathlib import Path

import pytest

import kernelpoint

PACKAGE = Path(kernelpoint.__file__).parent
ROOT = PACKAGE.parents[1]
CPP = sorted(
    path
    for part in ("plugin", "*_patch", "tests", "examples")
    for kind in ("h", "hpp", "cc", "c")
    for path in ROOT.glob(f"{part}/**/*.{kind}")
)
PYTHON = [*PACKAGE.rglob("*.py"), *(ROOT / "tests").rglob("*.py")]
QUESTION = re.compile(r"(What|Where|When|Which|How|Whether)\b")


@pytest.mark.parametrize("path", sorted(PYTHON), ids=lambda p: str(p.relative_to(ROOT)))
def test_a_docstring_opens_with_a_verb_or_a_noun(path):
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(ast.parse(path.read_text())):
        text = ast.get_docstring(node) if isinstance(node, documented) else None
        assert text is None or not QUESTION.match(text), f"{path}:{getattr(node, 'lineno', 1)}: {text.splitlines()[0]}"


def openings(text: str) -> list[tuple[int, str]]:
    """Line number and text of every comment's beginning; lines of // that follow one another are one comment."""
    found, inside = [], False
    for number, line in enumerate(text.splitlines(), 1):
        comment = re.search(r"(?:/\*+|//)\s*(.*)", line)
        continues = inside and line.lstrip().startswith("//")
        if comment and not continues:
            found.append((number, comment.group(1)))
        inside = line.lstrip().startswith("//")
    return found


def test_openings_are_found():
    assert openings("// One\n// What\nint x;  // Which\n/* How\n * Whether */") == [
        (1, "One"),
        (3, "Which"),
        (4, "How"),
    ]


@pytest.mark.skipif(not CPP, reason="the C++ sources are not beside the installed package")
@pytest.mark.parametrize("path", CPP, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_cpp_comment_opens_with_a_verb_or_a_noun(path):
    for number, text in openings(path.read_text()):
        assert not QUESTION.match(text), f"{path}:{number}: {text}"

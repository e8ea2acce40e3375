"""Docstrings and comments open with a verb or a noun."""

import ast
import re

import pytest
from project_files import PACKAGE, ROOT, cpp_files, place, python_files, tree

CPP = cpp_files("plugin", "*_patch", "tests", "examples")
PYTHON = python_files(PACKAGE, ROOT / "tests")
QUESTION = re.compile(r"(What|Where|When|Which|How|Whether)\b")
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def test_a_docstring_opens_with_a_verb_or_a_noun():
    nodes = [(path, node) for path in PYTHON for node in ast.walk(tree(path)) if isinstance(node, DOCUMENTED)]
    texts = [(path, getattr(node, "lineno", 1), ast.get_docstring(node) or "") for path, node in nodes]
    assert [f"{place(path, line)}: {text}" for path, line, text in texts if QUESTION.match(text)] == []


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
def test_a_cpp_comment_opens_with_a_verb_or_a_noun():
    texts = [(path, number, text) for path in CPP for number, text in openings(path.read_text())]
    assert [f"{place(path, number)}: {text}" for path, number, text in texts if QUESTION.match(text)] == []

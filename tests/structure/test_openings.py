"""Files are opened in one place, which refuses what would hang."""

import ast
from pathlib import Path

import kernelpoint

PACKAGE = Path(kernelpoint.__file__).parent
# Files that may open by themselves, and what they open: parts of the package, and what the process made in a folder of its own.
OPENERS = {
    "files.py": "the one place",
    "pages/page.py": "the package's own page",
    "patching/description.py": "the package's own descriptions",
    "evaluation/run.py": "the package's own code",
    "cli/status.py": "tables of the system",
    "coordinator/handshake.py": "/proc/PID/status",
    "session/boundary.py": "/proc/self/cmdline",
    "cli/doctor.py": "a temporary folder",
    "cli/init.py": "a new file, which must not be there",
    "archive.py": "a member of a zip archive",
    "packs/pack.py": "members of a zip archive",
    "packs/unpack.py": "members of a zip archive",
}
OPENING = {"open", "read_text", "write_text", "read_bytes", "write_bytes"}
OTHERS = {"os", "gzip", "lzma", "boundary", "self", "format", "host"}  # what these open is an open file, or no file


def openings(tree):
    """Calls that open a file by its path."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "open":
            if not (isinstance(node.args[0], ast.Name) and node.args[0].id == "descriptor"):
                yield node
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in OPENING:
            of = node.func.value
            if not isinstance(of, ast.Name) or of.id not in OTHERS:
                yield node


def test_files_are_opened_by_files_py_which_refuses_what_would_hang():
    found = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}: {ast.unparse(node)[:60]}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if str(path.relative_to(PACKAGE)) not in OPENERS
        for node in openings(ast.parse(path.read_text()))
    ]
    assert found == []


def test_openings_are_found():
    text = 'open(path)\npath.write_text("")\nos.open(path)\nopen(descriptor)\nself.folder.open("w")\n'
    assert [node.lineno for node in openings(ast.parse(text))] == [1, 2, 5]

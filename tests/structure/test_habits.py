"""Rules of the house that a script can check."""

import ast
import importlib
import inspect
import re

from project_files import LAB, PACKAGE, ROOT, place, python_files, tree

PYTHON = python_files(PACKAGE, LAB)
VAGUE = {"found", "known", "own", "told", "left"}  # as a name they say nothing of the thing
VAGUE_WORD = re.compile(rf"\b({'|'.join(VAGUE)})\b", re.IGNORECASE)
# Names that are still to be changed; add none.
VAGUE_NAMES = {
    "estimation/cells/design.py: known",
    "estimation/cells/fit.py: known",
    "estimation/cells/part.py: known",
    "estimation/cells/parts.py: known",
    "estimation/cells/sampling.py: known",
}


def public(body):
    """Functions and classes of a body whose names are not private."""
    defined = [node for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    return [node for node in defined if not node.name.startswith("_")]


def inherits_a_docstring(name, bases, classes):
    """True if a class of these names, or a base of one, documents a member of this name, as `inspect.getdoc` finds it."""
    above = [node for base in bases for node in classes.get(base, ())]
    members = [item for node in above for item in public(node.body) if item.name == name]
    further = [ast.unparse(base) for node in above for base in node.bases]
    return any(map(ast.get_docstring, members)) or bool(further and inherits_a_docstring(name, further, classes))


def test_every_public_definition_has_a_docstring_or_inherits_one():
    trees, classes = {path: tree(path) for path in PYTHON}, {}
    for node in (node for path in PYTHON for node in ast.walk(trees[path]) if isinstance(node, ast.ClassDef)):
        classes.setdefault(node.name, []).append(node)
    missing = []
    for path in PYTHON:
        for node in public(trees[path].body):
            bases = [ast.unparse(base) for base in getattr(node, "bases", ())]
            methods = [item for item in public(node.body) if not inherits_a_docstring(item.name, bases, classes)]
            defined = [node, *(methods if isinstance(node, ast.ClassDef) else ())]
            missing += [f"{place(path, item.lineno)}: {item.name}" for item in defined if ast.get_docstring(item) is None]
    assert missing == []
    both = ast.parse("class A:\n    def f(self):\n        'Do.'\nclass B(A):\n    def g(self): ...\n").body
    assert [inherits_a_docstring(name, ["B"], {"A": both[:1], "B": both[1:]}) for name in "fg"] == [True, False]


def names_of(node):
    """Names that a syntax tree defines: functions, classes, parameters, and names that it assigns to."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.FunctionDef | ast.ClassDef):
            yield inner.name
        elif isinstance(inner, ast.arg):
            yield inner.arg
        elif isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
            yield inner.id


def test_a_name_says_what_the_thing_is():
    vague = {
        f"{path.relative_to(root).as_posix()}: {name}"
        for root in (PACKAGE, ROOT / "lab", ROOT / "tests")
        for path in python_files(root)
        if VAGUE_WORD.search(path.read_text())  # the rest is not parsed
        for name in names_of(tree(path))
        if name.lower() in VAGUE
    }
    assert vague - VAGUE_NAMES == set()
    text = "class A:\n    own: int\n    def left(self, told):\n        found = [x for x in told]\nKNOWN = 1\n"
    assert {*names_of(ast.parse(text))} == {"A", "own", "left", "self", "told", "found", "x", "KNOWN"}


def offered(path):
    """Names that the `__init__.py` of a package imports for others: `import Run as Run`."""
    imports = [node for node in tree(path).body if isinstance(node, ast.ImportFrom)]
    return [alias.name for node in imports for alias in node.names if alias.asname == alias.name]


def test_every_function_that_a_package_offers_has_an_example():
    missing = []
    for path in sorted(path for root in (PACKAGE, LAB) for path in root.rglob("__init__.py")):
        root = PACKAGE if path.is_relative_to(PACKAGE) else LAB
        package = importlib.import_module(".".join(path.parent.relative_to(root.parent).parts))
        named = [getattr(package, name) for name in getattr(package, "__all__", offered(path))]
        missing += [f"{package.__name__}: {f.__name__}" for f in named if inspect.isfunction(f) and ">>>" not in f.__doc__]
    assert missing == []
    assert {"Run", "load_run"} <= set(offered(PACKAGE / "journal" / "__init__.py"))


def is_for_the_user(node):
    """True of an assertion that does more than tell the type checker what the code knows, and of a bare error."""
    if isinstance(node, ast.Assert):
        test = ast.unparse(node.test)
        return "is not None" not in test and not test.startswith("isinstance(")
    raises = isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and isinstance(node.exc.func, ast.Name)
    return raises and node.exc.func.id in ("Exception", "RuntimeError")


def test_user_errors_are_raised_as_such():
    checked = [path for path in PYTHON if path.name != "conformance.py"]  # a suite that says what it finds by assertions
    nodes = ((path, node) for path in checked for node in ast.walk(tree(path)))
    assert [place(path, node.lineno) for path, node in nodes if is_for_the_user(node)] == []


# Files that may open by themselves, and what they open: parts of the package, and what the process made in a folder of its own.
OPENERS = {
    "files.py": "the one place",
    "pages/page.py": "the package's own page",
    "patching/description.py": "the package's own descriptions",
    "evaluation/evaluate.py": "the package's own code",
    "cli/status.py": "tables of the system",
    "coordinator/run.py": "/proc/PID/status",
    "session/boundary.py": "/proc/self/cmdline",
    "cli/doctor.py": "a temporary folder",
    "cli/init.py": "a new file, which must not be there",
    "archive.py": "a member of a zip archive",
    "packs/pack.py": "members of a zip archive",
    "packs/unpack.py": "members of a zip archive",
}
OPENING = {"open", "read_text", "write_text", "read_bytes", "write_bytes"}
OTHERS = {"os", "gzip", "lzma", "boundary", "self", "format", "host"}  # they open an open file, or no file


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
    opened = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}: {ast.unparse(node)[:60]}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if str(path.relative_to(PACKAGE)) not in OPENERS
        for node in openings(ast.parse(path.read_text()))
    ]
    assert opened == []


def test_openings_are_found():
    text = 'open(path)\npath.write_text("")\nos.open(path)\nopen(descriptor)\nself.folder.open("w")\n'
    assert [node.lineno for node in openings(ast.parse(text))] == [1, 2, 5]


def test_pages_name_only_python_files_that_exist():
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md"), *PACKAGE.rglob("*.md")]
    paths = [
        f"/{path.relative_to(ROOT)}" for top in ("lab", "plugin", "python", "tests") for path in (ROOT / top).rglob("*.py")
    ]
    gone = [
        f"{page.relative_to(ROOT)}: {named}"
        for page in pages
        for named in re.findall(r"`([a-z0-9_./-]+/[a-z0-9_]+\.py)`", page.read_text())
        if not any(path.endswith(f"/{named}") for path in paths)
    ]
    assert gone == []

"""Version of what the rows of a comparison rest on besides its inputs: our code and the libraries that it calculates with."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import metadata
from pathlib import Path

import kernelpoint

PACKAGE = Path(kernelpoint.__file__).parent
# Sources that decide how a launch is chosen, drawn, estimated and judged. Commands, pages and tables only show it.
PARTS = (
    "clustering",
    "encoder",
    "estimation",
    "evaluation",
    "fast_model",
    "graphs",
    "policies",
    "profiles",
    "traces",
    "workload",
)
SHOWING = {"page.py", "text.py", "write.py", "summary.py"}
LIBRARIES = ("numpy", "scikit-learn")


@cache
def code_version(package: Path = PACKAGE) -> str:
    """32 hexadecimal digits that change with every edit of our code and with every other version of a library.

    Rows are kept under it, so a folder that an older checkout filled never answers for the code of today; the number of the
    package's version would, for it stays the same while the code is worked on.

    >>> len(code_version())
    32
    """
    digest = hashlib.blake2b(digest_size=16)
    files = [path for part in PARTS for path in (package / part).rglob("*.py") if path.name not in SHOWING]
    for path in sorted([*files, *package.glob("*.py"), *package.glob("_native*.so")]):
        content = hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest()
        digest.update(f"{path.relative_to(package)}:{content}\n".encode())
    for library in LIBRARIES:
        digest.update(f"{library}:{_library(library)}\n".encode())
    return digest.hexdigest()


def _library(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "missing"

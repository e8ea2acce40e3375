"""An installed plugin with a boundary of the tests' own, in the place of kernelpoint.session.boundary."""

import shutil
from pathlib import Path

import pytest

import kernelpoint

PACKAGE = Path(kernelpoint.__file__).parent


def install(parent: Path, boundary: Path) -> Path:
    """Copy into `parent` the package that the plugin needs, with that file as its boundary; return the plugin."""
    libraries = sorted((PACKAGE / "lib").glob("*.so"))
    if len(libraries) < 2:
        pytest.skip("the plugin is not built (make build), or this Python has no shared libpython (kernelpoint doctor)")
    package = parent / "kernelpoint"
    for folder in ("lib", "session"):
        (package / folder).mkdir(parents=True)
    for name in ("__init__.py", "errors.py", "session/embedded.py"):
        shutil.copy(PACKAGE / name, package / name)
    for library in libraries:
        shutil.copy(library, package / "lib")
    (package / "session" / "__init__.py").touch()
    shutil.copy(boundary, package / "session" / "boundary.py")
    return package / "lib" / "libkernelpoint.so"

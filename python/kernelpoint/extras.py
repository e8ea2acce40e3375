"""Optional packages, and messages about missing ones."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from contextlib import contextmanager

from kernelpoint.errors import SetupError

# Modules whose distribution is called otherwise than they are.
DISTRIBUTIONS = {
    "dask": "distributed",
    "google": "protobuf",
    "sklearn": "scikit-learn",
    "vl_convert": "vl-convert-python",
    "yaml": "pyyaml",
}


def extra_of(distribution: str) -> str | None:
    """Extra (optional group of dependencies) of KernelPoint that installs a package; "" if every installation has the package,
    None if no extra does.

    >>> extra_of("numpy")
    ''
    """
    from importlib import metadata  # takes 0.05 s, and is for errors only

    try:
        requirements = metadata.requires("kernelpoint") or []
    except metadata.PackageNotFoundError:
        return None
    extras = []
    for requirement in requirements:
        name, _, marker = requirement.partition(";")
        if re.split(r"[\s<>=!~\[(]", name.strip(), maxsplit=1)[0].lower() == distribution:
            match = re.search(r"extra == ['\"](\w+)['\"]", marker)
            extras.append(match[1] if match else "")
    return min(extras, default=None)


def missing_package(purpose: str, module: str) -> SetupError | None:
    """Error for a Python module that is not installed; None if no dependency of KernelPoint contains it.

    Args:
        purpose: task that needs the module, for the message.
    """
    root = module.split(".")[0]
    distribution = DISTRIBUTIONS.get(root, root.replace("_", "-")).lower()
    extra = extra_of(distribution)
    if extra is None:
        return None
    place = f", in KernelPoint's folder: pip install '.[{extra}]'" if extra else f"; pip install {distribution}"
    return SetupError(f"{purpose}: the package {distribution} is not installed{place}")


def require(purpose: str, *modules: str) -> None:
    """Raise an error if modules are not installed, before any work starts.

    Args:
        purpose: task that needs the modules, for the message.

    Raises:
        SetupError: a module is missing; the message names the extra (optional group of dependencies) that installs it.

    >>> require("figures", "numpy")
    """
    for module in modules:
        if importlib.util.find_spec(module) is None and (missing := missing_package(purpose, module)):
            raise missing


@contextmanager
def needs_extra(purpose: str) -> Iterator[None]:
    """Context manager that turns the error of a missing module into a message on how to install it.

    Args:
        purpose: task that needs the module, for the message.

    Raises:
        SetupError: a module of a dependency of KernelPoint is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        missing = missing_package(purpose, error.name or "")
        if missing is None:
            raise
        raise missing from None

"""Optional packages, and messages about missing ones."""

from __future__ import annotations

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


@contextmanager
def needs_extra(purpose: str) -> Iterator[None]:
    """Context manager that turns the error of a missing module into a message on how to install it.

    Args:
        purpose: task that needs the module, for the message.

    Raises:
        SetupError: a module of a dependency of KernelPoint is not installed.

    >>> with needs_extra("figures"):
    ...     import numpy
    """
    try:
        yield
    except ModuleNotFoundError as error:
        module = (error.name or "").split(".")[0]
        distribution = DISTRIBUTIONS.get(module, module.replace("_", "-")).lower()
        if (extra := extra_of(distribution)) is None:
            raise
        place = f", in KernelPoint's folder: pip install '.[{extra}]'" if extra else f"; pip install {distribution}"
        raise SetupError(f"{purpose}: the package {distribution} is not installed{place}") from None

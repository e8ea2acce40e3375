"""Programs of C++ sources under the address and undefined behaviour sanitisers, all diagnostics fatal."""

from collections.abc import Iterable
from pathlib import Path

import compiled

SANITISERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]


def program(main: Path, parts: Iterable[str], output: Path) -> Path:
    """`main` linked with all sources below plugin/native/PART; skips the test where that cannot be done on this machine."""
    return compiled.program([main], [f"native/{part}" for part in parts], output, [*SANITISERS, "-g", "-O1"])

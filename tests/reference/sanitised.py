"""Programs of C++ sources under the address and undefined behaviour sanitisers, all diagnostics fatal.

Every test that links the native sources uses these options, so each source is compiled once for all of them.
"""

from collections.abc import Iterable
from pathlib import Path

import compiled

SANITISERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]


def program(main: Path, folders: Iterable[str], output: Path, beside: Iterable[Path] = (), link: Iterable[str] = ()) -> Path:
    """`main` and the sources `beside` it, linked with all below folders of plugin/; skips where that cannot be done."""
    return compiled.program([main, *beside], folders, output, [*SANITISERS, "-g1", "-O0"], list(link))

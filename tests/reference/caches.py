"""Caches of tests: one for each, with the JavaScript of charts in it, which takes seconds to make."""

from functools import cache
from pathlib import Path

import pytest
from compiled import OBJECTS, locked

from kernelpoint.pages.page import javascript


def new_cache(folder: Path) -> str:
    """A cache for one test at `folder`, empty but for what every page needs; its name, as $KERNELPOINT_CACHE takes it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "charts").symlink_to(_charts())
    return str(folder)


@cache
def _charts() -> Path:
    """The folder that the first page leaves in a cache, made once."""
    kept = OBJECTS / "charts"
    with locked(kept), pytest.MonkeyPatch.context() as patch:
        patch.setenv("KERNELPOINT_CACHE", str(kept))
        javascript()
    return kept / "charts"

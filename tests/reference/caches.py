"""Caches of tests: one for each, with the JavaScript of charts in it, which takes seconds to make."""

from functools import cache
from pathlib import Path

import pytest
from compiled import OBJECTS, locked

from kernelpoint.pages.page import javascript


def new_cache(folder: Path) -> str:
    """A cache for one test at `folder`, empty but for what every page needs; its name, as $KERNELPOINT_CACHE takes it."""
    folder.mkdir(parents=True, exist_ok=True)
    for kept in _charts():
        (folder / kept.name).symlink_to(kept)
    return str(folder)


@cache
def _charts() -> tuple[Path, ...]:
    """The files that the first page leaves in a cache, made once; none where pages have no charts."""
    kept = OBJECTS / "charts"
    with locked(kept), pytest.MonkeyPatch.context() as patch:
        patch.setenv("KERNELPOINT_CACHE", str(kept))
        javascript()
    return tuple(kept.glob("*.js"))

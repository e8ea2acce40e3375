"""Files of other folders of tests as modules."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType


def module_of(path: Path) -> ModuleType:
    """A file, read once; it is known by its folder's name and its own, because there are many a conftest.py."""
    name = f"{path.parent.name}_{path.stem}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None and spec.loader is not None
        sys.modules[name] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[name]

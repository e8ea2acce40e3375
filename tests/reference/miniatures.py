"""Unpatched checkouts of the miniature simulators, and functions that read and change the files of a tree."""

import shutil
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from modules import module_of

TESTS = Path(__file__).resolve().parents[1]
LAYOUTS = ("class_layout", "main_layout", "version_2_layout")


def accelsim_checkout(folder: Path, layout: str = "class_layout") -> Path:
    """An unpatched checkout of the simulator with Accel-Sim's names."""
    miniature = TESTS / "accelsim_patch" / "miniature"
    for part in ("gpgpu", "gpu-simulator"):
        shutil.copytree(miniature / part, folder / part)
    shutil.copytree(miniature / layout, folder / "gpu-simulator", dirs_exist_ok=True)
    return folder


def macsim_checkout(folder: Path) -> Path:
    """An unpatched checkout of the simulator with MacSim's names."""
    return Path(shutil.copytree(TESTS / "macsim_patch" / "miniature", folder))


def patched_program(name: str, folder: Path) -> tuple[ModuleType, Path]:
    """The module of a miniature's fixtures, and its program, patched and built in a folder; name: accelsim, macsim."""
    fixtures = module_of(TESTS / f"{name}_patch" / "conftest.py")
    checkout = {"accelsim": accelsim_checkout, "macsim": macsim_checkout}[name](folder / name)
    fixtures.SourceTree(checkout, fixtures.load_description(name)).apply()
    return fixtures, fixtures.build(checkout)


def contents(root: Path) -> dict[str, bytes]:
    """Every file of a tree."""
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def rewrite(path: Path, change: Callable[[str], str]) -> None:
    """Change the text of a file, its line ends kept."""
    path.write_bytes(change(path.read_bytes().decode()).encode())

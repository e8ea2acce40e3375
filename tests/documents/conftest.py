"""Needs of the documents' commands: an empty folder, a home with checkouts, and this installation's commands on the path."""

import os
import shutil
import sys
from pathlib import Path

import pytest
from caches import new_cache

import kernelpoint
import kernelpoint_lab
from kernelpoint.cli.host import program

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder to run commands in."""
    if not program().exists():
        pytest.skip("the embedded host is not built; run `make build`")
    home, bin_, work = tmp_path / "home", tmp_path / "bin", tmp_path / "work"
    accelsim, macsim = (TESTS / f"{name}_patch" / "miniature" for name in ("accelsim", "macsim"))
    shutil.copytree(accelsim / "gpgpu", home / "accel-sim-framework" / "gpgpu")
    shutil.copytree(accelsim / "gpu-simulator", home / "accel-sim-framework" / "gpu-simulator")
    shutil.copytree(accelsim / "class_layout", home / "accel-sim-framework" / "gpu-simulator", dirs_exist_ok=True)
    shutil.copytree(macsim, home / "macsim")
    bin_.mkdir()
    work.mkdir()
    for name, module in (("kernelpoint", "cli"), ("kernelpoint-host", "cli.host")):
        text = f"#!{sys.executable}\nimport sys\nfrom kernelpoint.{module} import main\nsys.exit(main())\n"
        (bin_ / name).write_text(text)
        (bin_ / name).chmod(0o755)
    (bin_ / "python").symlink_to(sys.executable)
    monkeypatch.setenv("HOME", str(home))
    built = (home / "accel-sim-framework" / "gpu-simulator" / "bin", home / "macsim")
    monkeypatch.setenv("PATH", ":".join(map(str, (bin_, *built, os.environ["PATH"]))))
    packages = [str(Path(package.__file__).parents[1]) for package in (kernelpoint, kernelpoint_lab)]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [*packages, *sys.path])))
    monkeypatch.setenv("KERNELPOINT_CACHE", new_cache(tmp_path / "cache"))
    return work

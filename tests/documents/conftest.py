"""Needs of the documents' commands: an empty folder, a home with checkouts, and this installation's commands on the path."""

import os
import sys
from pathlib import Path

import pytest
from miniatures import accelsim_checkout, macsim_checkout

import kernelpoint
import kernelpoint_lab


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder to run commands in."""
    home, bin_, work = tmp_path / "home", tmp_path / "bin", tmp_path / "work"
    accelsim_checkout(home / "accel-sim-framework")
    macsim_checkout(home / "macsim")
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
    return work

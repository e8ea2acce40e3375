"""The tutorial on selective tracing: what of it needs no GPU is run in order, in an empty folder."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kernelpoint.cli.host import program

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "tracing.md").read_text()


def blocks(text):
    return re.findall(r"^```([a-z]*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    if not program().exists():
        pytest.skip("the embedded host is not built; run `make build`")
    bin_, work = tmp_path / "bin", tmp_path / "work"
    bin_.mkdir()
    work.mkdir()
    for name, module in (("kernelpoint", "cli"), ("kernelpoint-host", "cli.host")):
        (bin_ / name).write_text(
            f"#!{sys.executable}\nimport sys\nfrom kernelpoint.{module} import main\nsys.exit(main())\n"
        )
        (bin_ / name).chmod(0o755)
    (bin_ / "python").symlink_to(sys.executable)
    monkeypatch.setenv("PATH", f"{bin_}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    monkeypatch.setenv("KERNELPOINT_CACHE", str(tmp_path / "cache"))
    shutil.copy(ROOT / "examples" / "selective_tracing" / "program.py", work)
    return work


def test_the_tutorial_works_without_a_gpu(folder):
    (yaml,) = (text for kind, text in blocks(PAGE) if kind == "yaml")
    (folder / "kernelpoint.yaml").write_text(yaml)
    ((_, commands),) = blocks(PAGE.split("## The same without a GPU")[1].split("\n## ")[0])
    assert len(commands.splitlines()) >= 6
    done = subprocess.run(["sh", "-e", "-c", commands], cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    traced = len((folder / "drawn/traces/kernelslist.g").read_text().splitlines())
    assert traced < 500 and "kernelpoint_launches = 1000" in done.stdout
    assert "bound on sampling error only" in done.stdout + done.stderr and (folder / "report.html").exists()


def test_every_other_command_says_that_it_needs_a_gpu_or_is_one_of_ours():
    first = PAGE.split("## The same without a GPU")[0]
    for kind, text in blocks(first):
        for line in text.splitlines() if not kind else ():
            known = line.startswith(("kernelpoint ", "nvcc ", "accel-sim.out ", "sed "))
            assert known or line.endswith("# GPU"), line

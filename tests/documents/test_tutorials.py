"""The tutorials: every block that needs no simulator or GPU is run, in order, in an empty folder; the site is built."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from documented import run

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [
    *(DOCS / f"{name}.md" for name in ("getting-started", "many-machines")),
    *sorted((DOCS / "tutorials").glob("*.md")),
]
BLOCK = re.compile(r"^```([a-z]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Files that a page describes in YAML blocks, by what they hold.
FILES = (("version: 1", "kernelpoint.yaml"), ("-config: [", "grid.yaml"))
# Modules of extras that a command needs.
EXTRAS = (("kernelpoint run ", "distributed"), ("kernelpoint lab train ", "torch"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_commands_of_a_tutorial_work_in_order(page, folder):
    ran = 0
    for kind, text in BLOCK.findall(page.read_text(encoding="utf-8")):
        for beginning, name in FILES:
            if kind == "yaml" and text.startswith(beginning):
                (folder / name).write_text(text)
        if kind == "sh":
            for command, module in EXTRAS:
                if command in text:
                    pytest.importorskip(module)
            run(text, folder)
            (folder / "kernelpoint.yaml").unlink(missing_ok=True) if "kernelpoint file init" in text else None
            ran += 1
    assert ran >= 1


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_command_that_is_not_run_needs_a_simulator_or_files_of_the_reader(page):
    needed = (
        "accel-sim.out",
        "macsim",
        "make",
        "git ",
        "cd ",
        ". ",
        "kernelslist.g",
        "kernelpoint file inspect sample.kppack",
        "pip install",
        "slurm",
        "run_simulations.py",
        "job_status.py",
        "get_stats.py",
        "run.kpjournal",
        "bert",
    )
    for kind, text in BLOCK.findall(page.read_text(encoding="utf-8")):
        if not kind:
            for line in text.splitlines():
                assert any(word in line for word in needed) or line == "kernelpoint file status", line


def test_the_site_is_built_and_every_link_in_it_leads_somewhere(tmp_path):
    pytest.importorskip("mkdocs")
    pytest.importorskip("mkdocstrings")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    python = (tmp_path / "site" / "python.html").read_text()
    assert all(f'id="kernelpoint.{name}"' in python for name in ("api.Run", "api.Plan.from_traces", "api.simulate"))


PAGE = (ROOT / "docs" / "tracing.md").read_text()


def blocks(text):
    return re.findall(r"^```([a-z]*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def test_the_tutorial_works_without_a_gpu(folder):
    (yaml,) = (text for kind, text in blocks(PAGE) if kind == "yaml")
    (folder / "kernelpoint.yaml").write_text(yaml)
    shutil.copy(ROOT / "examples" / "selective_tracing" / "program.py", folder)
    ((_, commands),) = blocks(PAGE.split("## The same without a GPU")[1].split("\n## ")[0])
    assert len(commands.splitlines()) >= 6
    printed = run(commands, folder)
    traced = len((folder / "drawn/traces/kernelslist.g").read_text().splitlines())
    assert traced < 500 and "kernelpoint_launches = 1000" in printed
    assert "bound on sampling error only" in printed and (folder / "report.html").exists()


def test_every_other_command_says_that_it_needs_a_gpu_or_is_one_of_ours():
    first = PAGE.split("## The same without a GPU")[0]
    for kind, text in blocks(first):
        for line in text.splitlines() if not kind else ():
            is_ours = line.startswith(("kernelpoint ", "nvcc ", "accel-sim.out ", "sed "))
            assert is_ours or line.endswith("# GPU"), line

"""The tutorial on selective tracing: what of it needs no GPU is run in order, in an empty folder."""

import re
import shutil
from pathlib import Path

from documented import run

ROOT = Path(__file__).resolve().parents[2]
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
            known = line.startswith(("kernelpoint ", "nvcc ", "accel-sim.out ", "sed "))
            assert known or line.endswith("# GPU"), line

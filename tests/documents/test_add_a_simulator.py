"""Section "A simulator" of docs/extending.md: every block is written or run, and ends in sampled runs that save work."""

import re
from pathlib import Path

from documented import run

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r'^```(\w+)(?: title="(\S+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)


def test_the_tutorial_ends_in_sampled_runs_that_save_work(folder, monkeypatch):
    monkeypatch.setenv("EXAMPLES", str(ROOT / "examples"))
    page = (ROOT / "docs" / "extending.md").read_text()
    printed = ""
    for kind, name, text in BLOCK.findall(page[page.index("## A simulator") : page.index("### What a simulator says")]):
        if kind == "sh":
            printed += run(text, folder)
        else:
            (folder / (name or "kernelpoint.yaml")).write_text(text)
    full, simulated, of, total, bound = map(
        int,
        re.search(r"full run: (\d+).*simulated: (\d+) of (\d+)\ntotal: (\d+) \+- (\d+)", printed, re.DOTALL).groups(),
    )
    assert simulated < 0.1 * of and of == 1200
    assert abs(total - full) <= bound <= 0.0101 * full
    stated = dict(re.findall(r"^(\w+) = (\S+)$", (folder / "sampled.txt").read_text(), re.MULTILINE))
    cycles = sum((1 + i % 9) * (100 + 37 * (i % 9)) for i in range(1, 2001))
    assert float(stated["simulated"]) < 0.1 * float(stated["launches"])
    assert abs(float(stated["cycles"]) - cycles) <= float(stated["cycles_half_width"]) <= 0.0101 * cycles

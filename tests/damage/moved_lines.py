"""Journals whose whole lines are deleted, doubled, swapped or foreign: how many are read, how many refused.

    python tests/damage/moved_lines.py [CASES]     3,200 by default, of five seeds; prints one row for each kind of change

Lines that are cut off at the end are left out: they cannot be told from a kill.
"""

from __future__ import annotations

import random
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from kernelpoint.errors import JournalError
from kernelpoint.journal import load_run
from kernelpoint.session import boundary


def run(folder: Path, seed: int, launches: int = 60) -> list[bytes]:
    """The lines of the journal of a small run."""
    (folder / "k.yaml").write_text(
        f"version: 1\npolicy: random\nseed: {seed}\nerror_budget: {{relative_error: 0.2}}\njournal: {folder}/{seed}.kpjournal\n"
    )
    info = {"simulator": "test", "launch_counts": [launches]}
    session = boundary.open(str(folder / "k.yaml"), info, lambda line: None)
    after = -1
    while (found := session.next(0, after))[0] == 0:
        after = found[1]
        session.on_launch(0, after)
        session.on_complete(0, after, False, 100 + after % 7, 7, ("reads",), (1.0,))
    session.finish()
    return (folder / f"{seed}.kpjournal").read_bytes().splitlines(keepends=True)


def changed(kind: str, lines: list[bytes], other: list[bytes], chance: random.Random) -> list[bytes]:
    """The lines after one change of a kind."""
    at = chance.randrange(1, len(lines) - 1)
    if kind == "deleted":
        return lines[:at] + lines[min(at + chance.choice((1, 1, 2, 5)), len(lines) - 1) :]
    if kind == "doubled":
        return lines[: at + 1] + lines[at:]
    if kind == "swapped":
        to = chance.randrange(1, len(lines))
        lines = list(lines)
        lines[at], lines[to] = lines[to], lines[at]
        return lines
    foreign = other[min(at, len(other) - 1)]
    return [*lines[:at], foreign, *lines[at + chance.randrange(2) :]]


def main(cases: int) -> Counter[tuple[str, str]]:
    """Outcomes, by kind of change."""
    outcomes: Counter[tuple[str, str]] = Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        runs = [run(folder, seed) for seed in range(5)]
        chance = random.Random(7)
        path = folder / "changed.kpjournal"
        for case in range(cases):
            kind = ("deleted", "doubled", "swapped", "foreign")[case % 4]
            lines, other = chance.sample(runs, 2)
            content = b"".join(changed(kind, lines, other, chance))
            if b"".join(lines).startswith(content):
                outcomes[kind, "unchanged"] += 1
                continue
            path.write_bytes(content)
            try:
                load_run(path).content()
                outcome = "read"
            except JournalError as error:
                outcome = "refused" if re.search(r"changed\.kpjournal:\d+: ", str(error)) else "refused without a line"
            outcomes[kind, outcome] += 1
    return outcomes


if __name__ == "__main__":
    found = main(int(sys.argv[1]) if len(sys.argv) > 1 else 3200)
    for (kind, outcome), count in sorted(found.items()):
        print(f"{kind:10} {outcome:24} {count:6,}")

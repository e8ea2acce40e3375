"""Decisions, measurements and statements of runs, recorded so that two versions of KernelPoint can be held against each other.

    python tests/reference/oracle.py record runs.json [PART ...]     with the version to look at on PYTHONPATH
    python tests/reference/oracle.py compare before.json after.json

Every run is small and deterministic: hosts written in Python with every policy, bound, estimator, aborts, processes, launches
stopped before their end and launches not known beforehand; the same again with the journal cut at many records and resumed; the
embedded host and the miniature simulators; and the real ones that KERNELPOINT_ACCELSIM and KERNELPOINT_MACSIM name, over
launches that are made here and over the recorded lists that KERNELPOINT_ACCELSIM_LIST and KERNELPOINT_MACSIM_LIST name. Of each
journal the decisions, results, estimates and half-widths are kept, floats exactly; what a journal's lines look like is not.
"""

import json
import math
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from journal_story import NOT_STATED
from recorded_hosts import not_known_beforehand, with_traces, without_traces
from recorded_programs import accelsim, embedded_host, macsim, miniatures

from kernelpoint.session import boundary

PARTS = (without_traces, with_traces, not_known_beforehand, embedded_host, miniatures, accelsim, macsim)


def record(target: Path, names: list[str]) -> None:
    stories: dict[str, Any] = {}
    parts = [part for part in PARTS if not names or part.__name__ in names]
    with tempfile.TemporaryDirectory() as name:
        os.environ["KERNELPOINT_CACHE"] = f"{name}/cache"
        os.environ["KERNELPOINT_PLUGIN"] = str(Path(boundary.__file__).parents[1] / "lib" / "libkernelpoint.so")
        for part in parts:
            (folder := Path(name) / part.__name__).mkdir()
            before = len(stories)
            stories.update(part(folder))
            print(f"{part.__name__}: {len(stories) - before} runs", flush=True)
    target.write_text(json.dumps(stories, sort_keys=True).replace(name, "FOLDER"))


ROUNDING = 1e-13


def differences(before: Any, after: Any, place: str = "") -> Iterator[tuple[str, float]]:
    """Every leaf in which two stories differ, and by how much: relatively, or without end."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted((before.keys() | after.keys()) - {*NOT_STATED}):
            yield from differences(before.get(key), after.get(key), f"{place}/{key}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for number, pair in enumerate(zip(before, after, strict=True)):
            yield from differences(*pair, f"{place}/{number}")
    elif before != after:
        numbers = isinstance(before, float) and isinstance(after, float)
        if not (numbers and math.isnan(before) and math.isnan(after)):
            size = abs(after - before) / max(abs(before), abs(after)) if numbers else math.inf
            yield f"{place}: {str(before)[:150]} -> {str(after)[:150]}", size


def compare(before: Path, after: Path) -> int:
    first, second = json.loads(before.read_text()), json.loads(after.read_text())
    bad, rounded = 0, 0
    both = sorted(first.keys() & second.keys())
    for name in both:
        changes = list(differences(first.get(name), second.get(name)))
        beyond = [line for line, size in changes if size > ROUNDING]
        bad, rounded = bad + bool(beyond), rounded + bool(changes and not beyond)
        for line in beyond[:5]:
            print(f"{name}{line}")
    print(
        f"{len(first)} runs before, {len(second)} after, {len(both)} in both; {bad} differ, {rounded} others in the last bits"
    )
    return int(bad > 0 or not both)


if __name__ == "__main__":
    if sys.argv[1:2] == ["compare"]:
        sys.exit(compare(Path(sys.argv[2]), Path(sys.argv[3])))
    record(Path(sys.argv[2]), sys.argv[3:])

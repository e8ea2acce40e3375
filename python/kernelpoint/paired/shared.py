"""Runs that can be compared: what both have to share, and what to do where they do not."""

from __future__ import annotations

from typing import Any

from kernelpoint.errors import JournalError
from kernelpoint.journal import Run
from kernelpoint.paired.predicted import is_predicted


def check_shared(first: Run, second: Run, *settings: str) -> None:
    """Without these launch i of one is not launch i of the other, or was not drawn by the same number."""

    def shared(run: Run) -> dict[str, Any]:
        hashes = {f"hashes.{name}": run.hashes.get(name) for name in ("traces", "design")}
        config = {f"config.{key}": run.setting(key) for key in ("seed", "policy", *settings)}
        return {"launches": run.launches, **hashes, **config, "estimate": run.header.estimate}

    a, b = shared(first), shared(second)
    differing = [f"{key}: {first.path} has {a[key]!r}, {second.path} {b[key]!r}" for key in a if a[key] != b[key]]
    if differing:
        raise JournalError(
            "runs are compared launch by launch; both need the same list, plan and seed:\n"
            + "\n".join([*differing, *_cure(first, second)])
        )


def _cure(first: Run, second: Run) -> list[str]:
    """Sentence on what to do where each run has derived a fast model of its own GPU; nothing elsewhere."""
    same = {name: first.hashes.get(name) == second.hashes.get(name) for name in ("traces", "design")}
    derived = any(is_predicted(run) and run.setting("fast_model") == "auto" for run in (first, second))
    if same["design"] or not same["traces"] or not derived:
        return []
    return [
        "with `fast_model: auto` each run predicted for its own GPU, so the draws differ; give both one model, `fast_model: "
        "FILE` with the gpgpusim.config or params.in of either GPU, and run them again (another `journal:`, or `resume: never`)"
    ]

"""Stands in for kernelpoint.session.boundary in the tests of the embedding.

The "configuration" is a Python file: whatever it defines (open, on_launch, finish, ...) replaces the default below, so
each test states how the Python side behaves. It finds `info`, `log` and a dictionary `kept` in its globals.
"""

from pathlib import Path
from types import SimpleNamespace


class Session:
    """Answers as a session would that simulates launch 0 and skips all others."""

    def __init__(self, replaced):
        methods = (
            "on_launch",
            "next",
            "on_progress",
            "on_complete",
            "on_abort",
            "launch_estimate",
            "launch_name",
            "replay_before",
            "finish",
        )
        for name in methods:
            if name in replaced:
                setattr(self, name, replaced[name])

    def on_launch(self, process, index, trace_path):
        return (0 if index == 0 else 1), 0, 100, 0, 0, 0

    def next(self, process, after):
        return (0, after + 1) if (after < 3 or process == 1) and after != -2 else (1, -1)

    def on_progress(self, process, index, cycles, instructions, ctas_issued, ctas_completed, ctas_total):
        return int(cycles > 1000)

    def on_complete(self, process, index, stopped, cycles, instructions, names, values):
        pass

    def on_abort(self, process, index, reason):
        pass

    def launch_estimate(self, process, index):
        return 12.5, 3.0, index == 0, [7.0, 9.0] if index == 0 else []

    def launch_name(self, process, index):
        return f"gemm_{process}_{index}" if index else None

    def finish(self):
        none = float("nan")
        rows = [("cycles", 0, 100.0, 1.5, 10.0, none), ("instructions", 2, 200.0, none, 20.0, none)]
        return SimpleNamespace(
            flags=2,
            launches=7,
            simulated=1,
            skipped=6,
            projected=1,
            passes=1,
            confidence=0.95,
            cycle_speedup=7.5,
            saved_seconds=12.5,
            estimates=rows,
            ratios=[("ipc", 2, 2.0, 0.5, 2.5, none)],
            processes=[(0, 4, 1, rows[:1]), (1, 3, 0, [])],
        )


def open(config_path, info, log):
    replaced = {"info": info, "log": log, "kept": {}}
    exec(compile(Path(config_path).read_bytes(), config_path, "exec"), replaced)
    if "open" in replaced:
        replaced["open"](config_path, info, log)
    return Session(replaced)

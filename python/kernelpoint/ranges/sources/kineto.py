"""Modules, functions and operators in the PyTorch profiler's trace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kernelpoint.errors import ProfileError
from kernelpoint.profiles.format import open_text
from kernelpoint.profiles.formats import kineto
from kernelpoint.ranges.enclosing import OPERATOR, enclosing, with_one_operator
from kernelpoint.ranges.source import ProfileSource

MODULE = "nn.Module: "

Thread = tuple[Any, Any]


class Kineto(ProfileSource):
    """Ranges of a PyTorch profile: `record_function` events, `nn.Module` calls and operators that were open on the launching
    thread.

    Categories user_annotation, python_function (modules only; `with_modules` or `with_stack` of the profiler writes them) and
    cpu_op, of which the outermost inside the innermost module counts. Kernels of the backward pass are launched by another
    thread, which has no modules: they lie in its operators.
    """

    description = "PyTorch profiler JSON with modules, annotations or operators"

    format = kineto.Kineto

    def paths_of_kernels(self, file: Path) -> list[str]:
        """Path of each kernel of the profile, in the profile's order."""
        collected = _Events()
        with open_text(file) as text:
            for event in kineto.events(text, str(file)):
                collected.take(event)
        if not collected.ranges:
            raise ProfileError(
                f"{file}: no modules, annotations or operators beside its kernels; profile with activities CPU and CUDA, and "
                "with_modules=True"
            )
        return collected.paths()


class _Events:
    """Kernels, the calls that launched them, and ranges of host threads."""

    def __init__(self) -> None:
        self.kernels: list[tuple[int, int]] = []  # correlation, start: the order of launches
        self.calls: dict[int, tuple[Thread, float]] = {}
        self.ranges: list[tuple[Thread, float, float, str]] = []

    def take(self, event: dict[str, Any]) -> None:
        """Sort one event in; those without times are passed over."""
        kind = str(event.get("cat", "")).lower()
        if event.get("ph") != "X" or not all(isinstance(event.get(key), int | float) for key in ("ts", "dur")):
            return
        correlation = kineto.correlation_of(event)
        begin, name = float(event["ts"]), str(event.get("name", ""))
        thread = (event.get("pid"), event.get("tid"))
        if kind == "kernel":
            self.kernels.append((correlation, round(event["ts"] * 1000)))
        elif kind in kineto.CALLS:
            self.calls[correlation] = thread, begin
        elif kind == "user_annotation" or (kind == "python_function" and name.startswith(MODULE)):
            self.ranges.append((thread, begin, begin + event["dur"], name.removeprefix(MODULE)))
        elif kind == "cpu_op":
            self.ranges.append((thread, begin, begin + event["dur"], OPERATOR + name))

    def paths(self) -> list[str]:
        """The path of each kernel in the order of launches."""
        self.kernels.sort()
        numbers = [number for number, (key, _) in enumerate(self.kernels) if key in self.calls]
        paths = [""] * len(self.kernels)
        for place, names in enclosing(self.ranges, [self.calls[self.kernels[number][0]] for number in numbers]):
            paths[numbers[place]] = "/".join(with_one_operator(names))
        return paths

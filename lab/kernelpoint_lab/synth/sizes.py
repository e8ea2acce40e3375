"""Sizes that a user may set with `--set`: what each means, and which values are allowed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import pairwise
from typing import Any, TypeVar

from kernelpoint.errors import ConfigError, did_you_mean

Numbers = tuple[int, ...]
Given = Mapping[str, Sequence[int]]


@dataclass(frozen=True)
class Size:
    """One size of a workload.

    Attributes:
        what: meaning of the size, for the listing.
        low, high: smallest and largest allowed number.
        multiple: number that each value must be a multiple of.
        count: least and greatest allowed count of numbers.
        rising: True if each number must be larger than the number before it.
        among: the only allowed numbers; empty: all from low to high.
    """

    what: str
    low: int
    high: int
    multiple: int = 1
    count: tuple[int, int] = (1, 1)
    rising: bool = False
    among: tuple[int, ...] = ()

    def check(self, name: str, numbers: Sequence[int]) -> Numbers:
        """Check the numbers of a size; raises ConfigError for one that is not allowed.

        >>> Size("rows", 32, 100).check("rows", [64])
        (64,)
        """
        option = f"--set {name}={','.join(map(str, numbers))}"
        fewest, most = self.count
        if not fewest <= len(numbers) <= most:
            raise ConfigError(f"{option}: {len(numbers)} numbers given; allowed: {fewest} to {most}, separated by commas")
        for number in numbers:
            if self.among and number not in self.among:
                raise ConfigError(f"{option}: allowed: {', '.join(map(str, self.among))}")
            if not self.low <= number <= self.high or number % self.multiple:
                of = "" if self.multiple == 1 else f", a multiple of {self.multiple}"
                raise ConfigError(f"{option}: allowed: {self.low} to {self.high}{of}")
        if self.rising and any(b <= a for a, b in pairwise(numbers)):
            raise ConfigError(f"{option}: allowed: each number larger than the one before it")
        return tuple(numbers)


def single(size: Size) -> Any:
    """Field of a workload's shape with one number that `--set` may change."""
    return field(metadata={"size": size, "single": True})


def several(size: Size) -> Any:
    """Field of a workload's shape with several numbers that `--set` may change."""
    return field(metadata={"size": size, "single": False})


Shape = TypeVar("Shape")


def sizes_of(shape: Any) -> dict[str, Numbers]:
    """The sizes of a shape by name.

    >>> from kernelpoint_lab.synth.workloads import WORKLOADS
    >>> sizes_of(WORKLOADS["iterative-solver"].shapes["small"])
    {'rows': (4096, 8192, 16384), 'degree': (8,)}
    """
    values = {f.name: getattr(shape, f.name) for f in fields(shape)}
    return {name: value if isinstance(value, tuple) else (value,) for name, value in values.items()}


def checked(owner: str, sizes: Mapping[str, Size], given: Given) -> dict[str, Numbers]:
    """The given numbers by size. Raises ConfigError where there is no such size, or a number is not allowed."""
    for name in given:
        if name not in sizes:
            raise ConfigError(
                f"--set {name}: {owner} has no size named {name}{did_you_mean(name, sizes)}; allowed: {', '.join(sizes)}"
            )
    return {name: sizes[name].check(name, numbers) for name, numbers in given.items()}


def with_sizes(owner: str, shape: Shape, given: Given) -> Shape:
    """Copy of a workload's shape with sizes that the user gave.

    Raises:
        ConfigError: the shape has no such size, or the value is not allowed.
    """
    metadata = {f.name: f.metadata for f in fields(shape)}  # type: ignore[arg-type]  # every shape is a dataclass
    sizes = checked(owner, {name: about["size"] for name, about in metadata.items()}, given)
    changes = {name: numbers[0] if metadata[name]["single"] else numbers for name, numbers in sizes.items()}
    return replace(shape, **changes)  # type: ignore[type-var]


def parse_sizes(options: Sequence[str]) -> dict[str, Numbers]:
    """Parse the values of `--set NAME=NUMBER[,NUMBER...]`.

    >>> parse_sizes(["rows=256", "batches=1,2"])
    {'rows': (256,), 'batches': (1, 2)}
    """
    sizes: dict[str, Numbers] = {}
    for option in options:
        name, sign, text = option.partition("=")
        try:
            sizes[name.strip()] = tuple(int(part) for part in text.split(","))
        except ValueError:
            sign = ""
        if not sign:
            raise ConfigError(f"--set: got {option!r}; allowed: NAME=NUMBER or NAME=NUMBER,NUMBER, as in --set rows=256")
    return sizes

"""A sequence of launches and its description, made from a user's options (family or workload, scale, sizes); refuses bad
values.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path

from kernelpoint.errors import ConfigError, did_you_mean
from kernelpoint.randomness import generator
from kernelpoint_lab.synth.families import FAMILIES, SCALES
from kernelpoint_lab.synth.launch import Launch, Memory
from kernelpoint_lab.synth.lists import DESCRIPTION, LIST, HostCopy
from kernelpoint_lab.synth.sizes import Given, checked, sizes_of, with_sizes
from kernelpoint_lab.synth.workloads import DEFAULT_LAUNCHES, LAUNCHES, WORKLOADS
from kernelpoint_lab.synth.writer import TRACER_VERSIONS


@dataclass(frozen=True)
class Request:
    """A checked request: what to write and how many launches of it.

    Attributes:
        description: name, parameters and seed, as workload.json repeats them.
    """

    sequence: Iterator[Launch | HostCopy]
    launches: int
    description: dict[str, object]


def compose(name: str, scale: str = "small", seed: int = 0, launches: int | None = None, sizes: Given | None = None) -> Request:
    """Check a user's request for a workload or a kernel family, and make its sequence of launches.

    Raises:
        ConfigError: an unknown name, scale or size, or a value outside what is allowed.

    >>> compose("copy", sizes={"n": [1000]}).description["parameters"]
    {'scale': 'small', 'n': 1000, 'block': 256, 'width': 4}
    >>> compose("iterative-solver", sizes={"rows": [256]}).description["parameters"]
    {'scale': 'small', 'rows': (256,), 'degree': (8,)}
    """
    sizes = dict(sizes or {})
    if name not in FAMILIES and name not in WORKLOADS:
        names = [*WORKLOADS, *FAMILIES]
        raise ConfigError(f"no family or workload is called '{name}'{did_you_mean(name, names)}; allowed: {', '.join(names)}")
    if scale not in SCALES:
        raise ConfigError(f"--scale is '{scale}'; allowed: {', '.join(SCALES)}")
    _within("--seed", seed, 0, 2**64 - 1)
    if launches is not None:
        _within("--launches", launches, *LAUNCHES)
    if name in FAMILIES:
        family = FAMILIES[name]
        given = checked(name, {size: family.size(size) for size in family.parameters}, sizes)
        parameters = family.defaults(scale) | {size: number for size, (number,) in given.items()}
        launch = family.build(Memory(), generator(seed, "synth"), parameters)
        description = {"name": name, "parameters": {"scale": scale, **parameters}, "seed": seed}
        return Request(repeat(launch), launches or 1, description)
    shape = with_sizes(name, WORKLOADS[name].shapes[scale], sizes)
    description = {"name": name, "parameters": {"scale": scale, **sizes_of(shape)}, "seed": seed}
    return Request(WORKLOADS[name].sequence(shape, seed), launches or DEFAULT_LAUNCHES, description)


def prepare(directory: Path, force: bool, version: int, ending: str = "traceg") -> None:
    """Make the output folder. A folder that is not empty is refused without `force`; with it, an earlier list in it is
    removed.

    Only what `kernelpoint lab synth` writes is removed. Raises ConfigError.
    """
    if version not in TRACER_VERSIONS:
        allowed = ", ".join(map(str, TRACER_VERSIONS))
        raise ConfigError(f"--tracer-version is {version}; allowed: {allowed}")
    if ending == "tracez" and version != 6:
        raise ConfigError(f"--tracer-version is {version}; allowed with --format tracez: 6")
    if directory.exists() and not directory.is_dir():
        raise ConfigError(f"{directory} is a file; allowed: a folder, or a path where one can be made")
    if directory.is_dir() and any(directory.iterdir()):
        if not force:
            raise ConfigError(f"the folder {directory} is not empty; allowed: an empty or new one, or --force")
        for path in [directory / LIST, directory / DESCRIPTION, *directory.glob("kernel-*.trace[gz]")]:
            path.unlink(missing_ok=True)
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"the folder {directory} cannot be made: {error.strerror}") from error


def _within(option: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise ConfigError(f"{option} is {value}; allowed: {low} to {high}")

"""Configurations of a sweep, from files, patterns of files, or lists of values for the simulator's options."""

from __future__ import annotations

import glob
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelpoint.config import read_yaml
from kernelpoint.errors import ConfigError

MOST_POINTS = 10_000  # configurations of one sweep
PLACE = "{}"  # in the simulator's command: where the file of each configuration goes


@dataclass(frozen=True)
class SweepConfig:
    """One simulated GPU.

    Attributes:
        name: in tables and in the journal's name.
        command: of the simulator.

    >>> SweepConfig("large-l2", ("accel-sim.out", "-config", "large-l2.config")).command[-1]
    'large-l2.config'
    """

    name: str
    command: tuple[str, ...]


def sweep_configs(command: Sequence[str], sweep: Sequence[str]) -> list[SweepConfig]:
    """The configurations of a sweep, in its order.

    Args:
        command: of the simulator; PLACE in it stands for a configuration's file.
        sweep: files or patterns of files; or one YAML file that names values for options, all combinations of which are meant.

    Raises:
        ConfigError: there are none, or the command has no place for them.

    >>> [point.command for point in sweep_configs(["sim", "-config", "{}"], ["a.config", "b.config"])]
    [('sim', '-config', 'a.config'), ('sim', '-config', 'b.config')]
    """
    if len(sweep) == 1 and sweep[0].endswith((".yaml", ".yml")) and PLACE not in command:
        return _grid(command, Path(sweep[0]))
    files = [path for pattern in sweep for path in (sorted(glob.glob(pattern)) or [pattern])]
    if PLACE not in command:
        raise ConfigError(
            f"--sweep: the simulator's command has no {PLACE}; put it where the configuration's file goes: -config {PLACE}"
        )
    names = [Path(path).stem for path in files]
    if len(set(names)) < len(names) or any(name == "gpgpusim" for name in names):
        names = [path.strip("./").replace("/", "-") for path in files]
    return [
        SweepConfig(name, tuple(path if part == PLACE else part for part in command))
        for name, path in zip(names, files, strict=True)
    ]


def _grid(command: Sequence[str], path: Path) -> list[SweepConfig]:
    """All combinations of the values of a YAML file: `-gpgpu_n_clusters: [40, 80]`."""
    content = read_yaml(path, "--sweep")
    lists = isinstance(content, dict) and content and all(isinstance(v, list) and v for v in content.values())
    if not lists:
        raise ConfigError(
            f"--sweep {path}: expected options of the simulator with a list of values each, e.g. -clusters: [40, 80]"
        )
    if (count := math.prod(map(len, content.values()))) > MOST_POINTS:
        raise ConfigError(f"--sweep {path}: its lists make {count:,} configurations; allowed: at most {MOST_POINTS:,}")
    found = []
    for values in itertools.product(*content.values()):
        chosen = dict(zip(map(str, content), map(str, values), strict=True))
        options = [
            part for key, value in chosen.items() for part in ([f"{key}={value}"] if key[:2] == "--" else [key, value])
        ]
        name = "-".join(f"{key.lstrip('-')}-{value}" for key, value in chosen.items()).replace("/", "_")
        found.append(SweepConfig(name, (*command, *options)))
    return found

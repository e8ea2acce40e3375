"""`kernelpoint run --sweep`: one plan and one seed on many simulated GPUs, compared with the first."""

from __future__ import annotations

import glob
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kernelpoint.config import load_config, read_yaml
from kernelpoint.coordinator.run import OpenPool, Workers, ask, check, run_one, with_option
from kernelpoint.errors import ConfigError
from kernelpoint.journal import load_run
from kernelpoint.progress import Log
from kernelpoint.report.pairs import SweepRow, ranked
from kernelpoint.simulators import simulators

MOST_POINTS = 10_000  # configurations of one sweep
PLACE = "{}"  # in the simulator's command: where the file of each configuration goes


def run_sweep(
    command: Sequence[str], sweep: Sequence[str], config_path: str | None, open_pool: OpenPool, say: Log
) -> list[SweepRow]:
    """Make a sampled run with each of several configurations of the simulated GPU, and return a table ranked by total.

    Args:
        command: command line of the simulator, with a place for the configuration.
        sweep: configuration files, or a file with values of options.
        config_path: path of KernelPoint's configuration, if the command does not name it.
        open_pool: function that starts the workers, which all runs share.
        say: function that receives lines for the user.

    Raises:
        KernelPointError: a configuration is refused. All are checked before the first simulation.
    """
    points = sweep_configs(command, sweep)
    if len(points) < 2:
        raise ConfigError(f"--sweep {' '.join(sweep)}: got {len(points)} configurations; allowed: 2 or more")
    asked = []
    for point in points:
        whole, named = with_option(point.command, config_path)
        config = load_config(named)
        hello, memory = ask(whole, say)
        check(config, hello)
        asked.append((point, whole, config, hello, memory))
    workers = Workers(lambda: open_pool(max(memory for *_, memory in asked)))
    journals, plan = [], None
    try:
        for point, whole, config, hello, _ in asked:
            say(f"kernelpoint: configuration {point.name}")
            path = Path(config.journal)
            journal = str(path.with_name(f"{path.stem}.{point.name}{path.suffix}"))
            config = replace(config, journal=journal, plan=plan or config.plan)
            journals.append(run_one(whole, config, hello, workers, say).journal.path)
            plan = plan or load_run(journals[0]).header.plan
    finally:
        workers.close()
    return ranked([point.name for point in points], [load_run(path) for path in journals])


# ---- configurations ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SweepConfig:
    """One configuration of the simulated GPU in a sweep.

    Attributes:
        name: name of the configuration in tables and in the name of its journal.
        command: command line of the simulator with this configuration.

    >>> SweepConfig("large-l2", ("simulator", "-config", "large-l2.config")).command[-1]
    'large-l2.config'
    """

    name: str
    command: tuple[str, ...]


def sweep_configs(command: Sequence[str], sweep: Sequence[str]) -> list[SweepConfig]:
    """Configurations of the simulated GPU to run, in the order of the files or of the combinations of values.

    Args:
        command: command line of the simulator, with `{}` in the place of the configuration's file.
        sweep: configuration files or patterns of their names; or one YAML file with a list of values for each option, all
            combinations of which are run.

    Raises:
        ConfigError: there are no configurations, or the command has no place for them.

    >>> [point.command for point in sweep_configs(["sim", "-config", "{}"], ["a.config", "b.config"])]
    [('sim', '-config', 'a.config'), ('sim', '-config', 'b.config')]
    """
    if len(sweep) == 1 and sweep[0].endswith((".yaml", ".yml")) and PLACE not in command:
        return _grid(command, Path(sweep[0]))
    files = [path for pattern in sweep for path in (sorted(glob.glob(pattern)) or [pattern])]
    if PLACE not in command:
        raise ConfigError(
            f"--sweep: the simulator's command has no {PLACE}; write it where the name of the simulator's "
            f"configuration goes: -config {PLACE}"
        )
    names = [Path(path).stem for path in files]
    if len(set(names)) < len(names) or {*names} & {simulator.configuration for simulator in simulators()}:
        names = [path.strip("./").replace("/", "-") for path in files]
    return [
        SweepConfig(name, tuple(path if part == PLACE else part for part in command))
        for name, path in zip(names, files, strict=True)
    ]


def _grid(command: Sequence[str], path: Path) -> list[SweepConfig]:
    """All combinations of the values of a YAML file: `-clusters: [40, 80]`."""
    content = read_yaml(path, "--sweep")
    lists = isinstance(content, dict) and content and all(isinstance(v, list) and v for v in content.values())
    if not lists:
        raise ConfigError(
            f"--sweep {path}: expected the simulator's options with a list of values each, e.g. -clusters: [40, 80]"
        )
    if (count := math.prod(map(len, content.values()))) > MOST_POINTS:
        raise ConfigError(f"--sweep {path}: its lists of values make {count:,} configurations; allowed: up to {MOST_POINTS:,}")
    configs = []
    for values in itertools.product(*content.values()):
        chosen = dict(zip(map(str, content), map(str, values), strict=True))
        options = [part for key, value in chosen.items() for part in ([f"{key}={value}"] if key[:2] == "--" else [key, value])]
        name = "-".join(f"{key.lstrip('-')}-{value}" for key, value in chosen.items()).replace("/", "_")
        configs.append(SweepConfig(name, (*command, *options)))
    return configs

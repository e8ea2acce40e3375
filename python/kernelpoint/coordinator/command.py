"""Command lines of simulators, and KernelPoint's option in them."""

from __future__ import annotations

import shutil
from collections.abc import Sequence

from kernelpoint.errors import ConfigError

OPTION = "kernel_sampling"


def with_option(command: Sequence[str], config: str | None) -> tuple[list[str], str]:
    """The simulator's command with KernelPoint's option, and the configuration that the option names.

    The option is added where the command lacks it, in the form that the command's other options have.

    Raises:
        ConfigError: the option is missing, or named twice, or there is no such program.

    >>> with_option(["true", "-trace", "list.g"], "kp.yaml")
    (['true', '-trace', 'list.g', '-kernel_sampling', 'kp.yaml'], 'kp.yaml')
    >>> with_option(["true", "--x=1"], "kp.yaml")[0]
    ['true', '--x=1', '--kernel_sampling=kp.yaml']
    >>> with_option(["true", "-kernel_sampling", "own.yaml"], None)[1]
    'own.yaml'
    """
    if not command:
        raise ConfigError("no simulator is named; give its command after --, e.g. -- accel-sim.out -trace LIST ...")
    check_program(command[0])
    named = configuration_in(command)
    if named is not None and config is not None:
        raise ConfigError(f"-c {config}: the command names the configuration {named} already; allowed: one of them")
    if named is not None:
        return list(command), named
    if config is None:
        raise ConfigError(f"no configuration is named; allowed: -c FILE, or -{OPTION} FILE in the simulator's command")
    takes_equals = any(part.startswith("--") and "=" in part for part in command[1:])
    added = [f"--{OPTION}={config}"] if takes_equals else [f"-{OPTION}", config]
    return [*command, *added], config


def configuration_in(command: Sequence[str]) -> str | None:
    """The configuration that a simulator's command names; None where it names none."""
    for position, part in enumerate(command):
        if part.lstrip("-") == OPTION and part.startswith("-"):
            return command[position + 1] if position + 1 < len(command) else ""
        if part.lstrip("-").startswith(f"{OPTION}=") and part.startswith("-"):
            return part.split("=", 1)[1]
    return None


def check_program(name: str) -> None:
    """Refuse a program that cannot be started here.

    Raises:
        ConfigError: there is none of that name, or it cannot be executed.
    """
    if shutil.which(name) is None:
        raise ConfigError(f"{name}: no such program, or it cannot be executed; give the simulator's path")

"""Every key of a configuration, and the commented file, made from the schema."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any

import yaml
from pydantic.fields import FieldInfo

from kernelpoint.config.schema import Config, sections

OF_SECTIONS = "# and of a key in a section also that before the section's name."
USUAL = ("version", "policy", "error_budget", "error_budget.relative_error", "error_budget.confidence")
WIDTH = 100  # columns of the commented file


def keys() -> Iterator[tuple[str, FieldInfo]]:
    """Every key that takes a value, with dots, in the order of the schema.

    >>> [name for name, _ in keys()][:3]
    ['version', 'policy', 'encoder.checkpoint']
    """
    inner = sections()
    for name, field in Config.model_fields.items():
        if name in inner:
            yield from ((f"{name}.{key}", value) for key, value in inner[name].model_fields.items())
        else:
            yield name, field


def commented_yaml(policy: str = "kernelpoint") -> str:
    """A configuration file with every key: the most usual are set, the others stand behind a # with their defaults."""
    lines = [
        "# KernelPoint's configuration. A key behind # has the value shown; take the # away to set it,",
        OF_SECTIONS,
    ]
    section = ""
    for name, field in keys():
        outer, _, key = name.rpartition(".")
        if outer != section:
            section = outer
            lines += ["", f"{'' if outer in USUAL else '#'}{outer}:"] if outer else []
        indent = "  # " if outer else "# "
        lines += [] if outer else [""]
        lines += textwrap.wrap(str(field.description), WIDTH, initial_indent=indent, subsequent_indent=indent)
        value = {"version": 1, "policy": policy}.get(name, field.default)
        lines.append(f"{'' if name in USUAL else '#'}{'  ' if outer else ''}{key}: {_yaml(value)}")
    return "\n".join(lines) + "\n"


def _yaml(value: Any) -> str:
    return yaml.safe_dump(value, default_flow_style=True).split("\n")[0]

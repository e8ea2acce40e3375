"""Every key of a configuration, and the commented file, made from the schema."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any

import yaml
from pydantic.fields import FieldInfo

from kernelpoint.config.schema import Config, sections


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
    """A configuration file with every key: those required are set, the others stand as comments with their defaults."""
    lines = ["# KernelPoint's configuration. Keys that are commented out have the value shown.", ""]
    section = ""
    for name, field in keys():
        outer, _, key = name.rpartition(".")
        if outer != section:
            section = outer
            lines += [f"# {outer}:"] if outer else []
        lines += textwrap.wrap(str(field.description), 110, initial_indent="# ", subsequent_indent="# ")
        value = {"version": 1, "policy": policy}.get(name, field.default)
        lines.append(f"{'' if field.is_required() else '# '}{'  ' if outer else ''}{key}: {_yaml(value)}")
    return "\n".join(lines) + "\n"


def _yaml(value: Any) -> str:
    return yaml.safe_dump(value, default_flow_style=True).split("\n")[0]

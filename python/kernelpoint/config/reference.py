"""List of all configuration keys, JSON schema, and commented configuration file, all made from the schema."""

from __future__ import annotations

import math
import textwrap
import types
import typing
from collections.abc import Iterator
from dataclasses import MISSING
from typing import Annotated, Any, Literal

import yaml

from kernelpoint.config.schema import Config, ErrorBudgetConfig, PolicyChoice, sections, share
from kernelpoint.typed import Key, Length, Range, keys_of

OF_SECTIONS = "# and of a key in a section also that before the section's name."
USUAL = ("version", "policy", "error_budget", "error_budget.relative_error", "error_budget.confidence")
# Keys of the page for users; the others stand on the page for experts.
EVERYDAY = (
    "version", "policy", "error_budget.relative_error", "error_budget.confidence", "error_budget.counter", "profile",
    "ranges", "selection", "journal", "resume", "results_from", "seed",
)  # fmt: skip
WIDTH = 100  # columns of the commented file


def keys() -> Iterator[tuple[str, Key]]:
    """Name and field of every configuration key that takes a value, in the order of the schema. Names have dots, as in
    `encoder.checkpoint`.

    >>> [name for name, _ in keys()][:3]
    ['version', 'policy', 'encoder.checkpoint']
    """
    inner = sections()
    for key in keys_of(Config):
        if key.name in inner:
            yield from ((f"{key.name}.{each.name}", each) for each in keys_of(inner[key.name]))
        else:
            yield key.name, key


def json_schema() -> dict[str, Any]:
    """JSON schema (draft 2020-12) of a configuration, with which editors complete and check the file.

    Keys with dots are included. A policy's name may be any text, because other packages can add policies.

    >>> schema = json_schema()
    >>> schema["required"], schema["properties"]["error_budget.confidence"]["default"]
    (['version', 'policy'], 0.95)
    """
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "KernelPoint configuration"} | _schema(Config)
    for section in sections():
        inner = schema["properties"][section]["properties"]
        schema["properties"] |= {f"{section}.{key}": value for key, value in inner.items()}
    return schema


TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", types.NoneType: "null"}
SHARE: dict[str, Any] = {"anyOf": [{"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
                   {"type": "string", "pattern": r"^\d+(\.\d*)?\s*%$"}]}  # fmt: skip
LIMITS = {"least": "minimum", "end": "exclusiveMaximum", "above": "exclusiveMinimum", "most": "maximum"}


def _schema(kind: Any) -> dict[str, Any]:
    """JSON schema of the values of a type of the configuration."""
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if kind is PolicyChoice:
        return {"anyOf": [{"type": "string"}, {"type": "object", "properties": {"name": _schema(str)}, "required": ["name"]}]}
    if kind in (Config, *sections().values()):
        properties: dict[str, Any] = {}
        required = []
        for key in keys_of(kind):
            properties[key.name] = _schema(key.kind)
            if key.default is MISSING:
                required.append(key.name)
            elif key.name not in sections():
                properties[key.name]["default"] = key.default
        others = SHARE if kind is ErrorBudgetConfig else False  # counters stand there by name
        head = {"type": "object", "description": kind.__doc__.partition("\n")[0]}
        return head | {"properties": properties, "required": required, "additionalProperties": others}
    if origin is Literal:
        return {"enum": list(parts)}
    if origin in (typing.Union, types.UnionType):
        return {"anyOf": [_schema(part) for part in parts]}
    if origin is list:
        return {"type": "array", "items": _schema(parts[0])}
    if origin is dict:
        return {"type": "object", "additionalProperties": _schema(parts[1])}
    if origin is not Annotated:
        return {"type": TYPES[kind]}
    schema = dict(SHARE) if share in parts else _schema(parts[0])
    for note in parts[1:]:
        if isinstance(note, str):
            schema["description"] = note
        elif isinstance(note, Length):
            schema["minProperties"] = note.least
        elif isinstance(note, Range) and share not in parts:
            schema |= {LIMITS[name]: limit for name, limit in vars(note).items() if math.isfinite(limit)}
    return schema


def commented_yaml(expert: bool = False) -> str:
    """Text of a configuration file with comments. Usual keys are set; the other keys are comments with their default values.

    Args:
        expert: True to include keys that few users need.
    """
    lines = [
        "# KernelPoint's configuration. A key after # has the value shown; remove the # to set it,",
        OF_SECTIONS,
    ]
    section = ""
    for name, field in keys():
        if not expert and name not in EVERYDAY:
            continue
        outer, _, key = name.rpartition(".")
        if outer != section:
            section = outer
            lines += ["", f"{'' if outer in USUAL else '#'}{outer}:"] if outer else []
        indent = "  # " if outer else "# "
        lines += [] if outer else [""]
        lines += textwrap.wrap(field.description, WIDTH, initial_indent=indent, subsequent_indent=indent)
        value = {"version": 1, "policy": "kernelpoint"}.get(name, field.default)
        text = yaml.safe_dump(value, default_flow_style=True).split("\n")[0]
        lines.append(f"{'' if name in USUAL else '#'}{'  ' if outer else ''}{key}: {text}")
    return "\n".join(lines) + "\n"

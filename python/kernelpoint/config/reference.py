"""List of all configuration keys, JSON schema, and commented configuration file, all made from the schema."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any

import yaml
from pydantic.fields import FieldInfo

from kernelpoint.config.schema import SHARE_SCHEMA, Config, sections

OF_SECTIONS = "# and of a key in a section also that before the section's name."
USUAL = ("version", "policy", "error_budget", "error_budget.relative_error", "error_budget.confidence")
# Keys of the page for users; the others stand on the page for experts.
EVERYDAY = (
    "version", "policy", "error_budget.relative_error", "error_budget.confidence", "error_budget.counter", "profile",
    "ranges", "selection", "journal", "resume", "results_from", "seed",
)  # fmt: skip
WIDTH = 100  # columns of the commented file


def keys() -> Iterator[tuple[str, FieldInfo]]:
    """Name and field of every configuration key that takes a value, in the order of the schema. Names have dots, as in
    `encoder.checkpoint`.

    >>> [name for name, _ in keys()][:3]
    ['version', 'policy', 'encoder.checkpoint']
    """
    inner = sections()
    for name, field in Config.model_fields.items():
        if name in inner:
            yield from ((f"{name}.{key}", value) for key, value in inner[name].model_fields.items())
        else:
            yield name, field


def json_schema() -> dict[str, Any]:
    """JSON schema (draft 2020-12) of a configuration, with which editors complete and check the file.

    Keys with dots are included. A policy's name may be any text, because other packages can add policies.

    >>> schema = json_schema()
    >>> schema["required"], schema["properties"]["error_budget.confidence"]["default"]
    (['version', 'policy'], 0.95)
    """
    schema = Config.model_json_schema()
    schema["$defs"]["ErrorBudgetConfig"]["additionalProperties"] = SHARE_SCHEMA  # counters stand there by name
    properties: dict[str, Any] = schema["properties"]
    for section in sections():
        inner = schema["$defs"][properties[section]["$ref"].rpartition("/")[2]]["properties"]
        properties |= {f"{section}.{key}": value for key, value in inner.items()}
    properties["policy"]["anyOf"] = [{"type": "string"}, {"$ref": properties["policy"].pop("$ref")}]
    named = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "KernelPoint configuration"}
    return named | _plain(schema)


def _plain(part: Any) -> Any:
    """Simplify a JSON schema of pydantic: without generated titles, and without the examples in descriptions."""
    if isinstance(part, list):
        return [_plain(each) for each in part]
    if not isinstance(part, dict):
        return part
    kept = {key: _plain(value) for key, value in part.items() if key != "title" or not isinstance(value, str)}
    if isinstance(text := kept.get("description"), str):
        kept["description"] = text.partition("\n")[0]
    return kept


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
        lines += textwrap.wrap(str(field.description), WIDTH, initial_indent=indent, subsequent_indent=indent)
        value = {"version": 1, "policy": "kernelpoint"}.get(name, field.default)
        text = yaml.safe_dump(value, default_flow_style=True).split("\n")[0]
        lines.append(f"{'' if name in USUAL else '#'}{'  ' if outer else ''}{key}: {text}")
    return "\n".join(lines) + "\n"

"""Pages and tables that are made from the code; a test holds them against the documents.

python docs/generated.py        writes docs/commands.md and the tables of keys
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from pydantic.fields import FieldInfo

from kernelpoint.cli import COMMANDS, command
from kernelpoint.config.reference import EVERYDAY, keys
from kernelpoint.policies.registry import POLICIES

DOCS = Path(__file__).parent
COMMANDS_PAGE, CONFIGURATION_PAGE = (DOCS / name for name in ("commands.md", "configuration.md"))
HEAD = """\
# Commands

`kernelpoint COMMAND --help` says the same as this page, which is made from it. A command exits with 0 if all is well, else with
one message and another code. The first eight are for every day; `kernelpoint file` and `kernelpoint lab` list the others.
"""


def commands_page() -> str:
    """The page on commands."""
    return "\n".join([HEAD, *(_section(name) for name in COMMANDS)])


def _section(name: str) -> str:
    made = command(name)
    text = re.sub(r"^    ", "", made.help or "", flags=re.MULTILINE).strip()
    text = re.sub(r"Example: (.*)", r"    \1", text)
    text = re.sub(
        r"\x08\n((?:.+\n)+)", lambda found: re.sub("^", "    ", found[1], flags=re.MULTILINE).rstrip(" "), text
    )
    rows = [f"| {_name(it)} | {_help(it)} |" for it in made.params if it.name != "help"]
    return "\n".join(
        [f"## kernelpoint {name}", "", text, "", "| Argument or option | Meaning |", "|---|---|", *rows, ""]
    )


def _name(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return f"`{parameter.name.upper()}`"
    return ", ".join(f"`{option}`" for option in parameter.opts)


def _help(parameter: Any) -> str:
    text = (parameter.help or "").replace("|", r"\|")
    default = parameter.default
    if parameter.required or default in (None, False) or callable(default) or "[default" in text:
        return text
    return f"{text} Default: `{default}`."


def keys_table(everyday: bool) -> str:
    """The table of the keys for every day, or of the others."""
    rows = [
        f"| `{name}` | {_default(field)} | {field.description} |"
        for name, field in keys()
        if (name in EVERYDAY) is everyday
    ]
    head = "Key" if everyday else "Expert key"
    return "\n".join([f"| {head} | Default | Meaning |", "|---|---|---|", *rows]) + "\n"


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    return "none" if field.default is None else f"`{field.default}`"


def parameters_table() -> str:
    """The table of parameters: what each policy of ours lets a user set."""
    rows = []
    for name in POLICIES.own_names():
        for key, field in POLICIES.load(name).Parameters.model_fields.items():
            default = "the error budget" if field.default is None else f"`{field.default}`"
            rows.append(f"| `{name}` | `{key}` | {default} | {field.description} |")
    return "\n".join(["| Policy | Parameter | Default | Meaning |", "|---|---|---|---|", *rows]) + "\n"


def with_table(text: str, table: str) -> str:
    """A page with a table in place of the one that has the same head."""
    head = table.splitlines()[0]
    begin = text.index(head)
    return text[:begin] + table + text[text.index("\n\n", begin) + 1 :]


def configuration_page() -> str:
    """The page on the configuration, its tables made from the schema and the policies."""
    text = CONFIGURATION_PAGE.read_text(encoding="utf-8")
    for table in (keys_table(everyday=True), keys_table(everyday=False), parameters_table()):
        text = with_table(text, table)
    return text


if __name__ == "__main__":
    COMMANDS_PAGE.write_text(commands_page(), encoding="utf-8")
    CONFIGURATION_PAGE.write_text(configuration_page(), encoding="utf-8")

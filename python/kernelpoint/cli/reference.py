"""The reference of the command line, made from the commands themselves: docs/commands.md."""

from __future__ import annotations

import re
import sys
from typing import Any

from kernelpoint.cli import COMMANDS, command

HEAD = """\
# Commands

`kernelpoint COMMAND --help` says the same as this page, which is made from it. A command exits with 0 if all is well, else with
one message and another code.
"""


def markdown() -> str:
    """The page."""
    return "\n".join([HEAD, *(_section(name) for name in sorted(COMMANDS))])


def _section(name: str) -> str:
    made = command(name)
    text = re.sub(r"^    ", "", made.help or "", flags=re.MULTILINE).strip()
    text = re.sub(r"Example: (.*)", r"    \1", text)
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


if __name__ == "__main__":  # python -m kernelpoint.cli.reference > docs/commands.md
    sys.stdout.write(markdown())

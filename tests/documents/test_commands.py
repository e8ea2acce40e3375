"""The reference of the command line is that of the commands."""

import shlex
from pathlib import Path

import pytest

from kernelpoint.cli import COMMANDS, command
from kernelpoint.cli.reference import markdown

PAGE = Path(__file__).resolve().parents[2] / "docs" / "commands.md"


def test_the_page_is_made_from_the_commands():
    assert PAGE.read_text() == markdown(), "python -m kernelpoint.cli.reference > docs/commands.md"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_an_example_that_it_understands(name):
    made = command(name)
    lines = [line.strip() for line in made.help.splitlines()]
    (example,) = [line.removeprefix("Example: ") for line in lines if line.startswith("Example: ")]
    program, called, *arguments = shlex.split(example)
    assert (program, called) == ("kernelpoint", name)
    made.make_context(name, arguments)

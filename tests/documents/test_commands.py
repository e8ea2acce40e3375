"""The reference of the command line is that of the commands."""

import contextlib
import json
import shlex
import sys
from pathlib import Path

import pytest
import yaml
from command_line import run_command
from generated import COMMANDS_PAGE, CONFIGURATION_PAGE, commands_page, configuration_page, with_table
from pages import tables

from kernelpoint import cli
from kernelpoint.cli import COMMANDS, FIRST, GROUPS, INTERRUPTED, KEPT, command
from kernelpoint.cli.doctor import doctor
from kernelpoint.config import parse_config
from kernelpoint.config.reference import EVERYDAY, json_schema, keys
from kernelpoint.errors import ConfigError

PAGE = COMMANDS_PAGE


def test_the_page_is_made_from_the_commands():
    assert PAGE.read_text() == commands_page(), "python docs/generated.py"


def test_the_tables_of_keys_and_parameters_are_made_from_the_schema():
    assert CONFIGURATION_PAGE.read_text() == configuration_page(), "python docs/generated.py"
    everyday = [row["Key"].strip("`") for row in tables(CONFIGURATION_PAGE.read_text())[0]]
    assert everyday == [name for name, _ in keys() if name in EVERYDAY]
    assert len(everyday) == len(EVERYDAY) == 12
    assert with_table("a\n\n| x |\n| old |\n\nb\n", "| x |\n| new |\n") == "a\n\n| x |\n| new |\n\nb\n"


def test_doctor_writes_the_json_schema_and_prints_its_path(capsys):
    doctor(schema=True)
    assert json.loads(Path(capsys.readouterr().out.strip()).read_text()) == json_schema()


CHECKED = [
    ("version: 1\npolicy: kernelpoint\nerror_budget: {relative_error: 0.01, confidence: 0.95}\n", True),
    (
        "version: 1\npolicy: {name: stem, epsilon: 0.05}\nerror_budget.relative_error: 0.05\nreplay: {validation: auto}\n",
        True,
    ),
    ("version: 1\npolicy: random\nerror_budget: {relative_error: 5}\n", False),
    ("version: 1\npolicy: random\nseeds: 1\n", False),
    ("policy: random\n", False),
    ("version: 1\npolicy: random\nreplay.validation: -1\n", False),
]


@pytest.mark.parametrize(("text", "good"), CHECKED)
def test_the_json_schema_and_the_run_agree_on_a_configuration(text, good):
    jsonschema = pytest.importorskip("jsonschema")
    content = yaml.safe_load(text)
    assert jsonschema.Draft202012Validator(json_schema()).is_valid(content) is good
    with contextlib.nullcontext() if good else pytest.raises(ConfigError):
        parse_config(content)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_an_example_that_it_understands(name):
    made = command(name)
    lines = [line.strip() for line in made.help.splitlines()]
    (example,) = [line.removeprefix("Example: ") for line in lines if line.startswith("Example: ")]
    assert example.startswith(f"kernelpoint {name} ") or example == f"kernelpoint {name}"
    arguments = shlex.split(example)[1 + len(name.split()) :]
    made.make_context(name, arguments)


@pytest.mark.parametrize("name", COMMANDS)
def test_an_interrupted_command_says_what_is_kept(name, monkeypatch):
    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "command", lambda _: lambda **_: interrupted(_))
    done = run_command(*name.split())
    assert done.returncode == INTERRUPTED
    assert KEPT.get(name, "Nothing was written.") in done.stderr


def test_ctrl_c_while_a_module_is_loaded_is_ctrl_c(monkeypatch):
    def loaded(_):
        raise ImportError("initialization failed") from KeyboardInterrupt()

    monkeypatch.setattr(cli, "command", lambda _: lambda **_: loaded(_))
    done = run_command("plan")
    assert done.returncode == INTERRUPTED and KEPT["plan"] in done.stderr


def test_what_is_kept_is_told_where_typer_has_caught_the_signal(monkeypatch):
    monkeypatch.setattr(cli, "command", lambda _: lambda **_: sys.exit(INTERRUPTED))
    assert KEPT["plan"] in run_command("plan").stderr and set(KEPT) <= set(COMMANDS)


def listed(*arguments):
    """The commands that an overview lists, in order; it fits a terminal."""
    done = run_command(*arguments, "--help")
    assert done.returncode == 0 and max(map(len, done.stdout.splitlines())) <= 80
    return [line[2:].split("  ")[0] for line in done.stdout.splitlines() if line.startswith("  ")]


def test_the_overview_lists_eight_commands_and_each_group_its_own():
    eight = ["plan", "run", "report", "compare", "select", "patch", "check", "doctor"]
    assert listed() == [*eight, *(f"{group} ..." for group in GROUPS)]
    assert [*eight, FIRST, *(name for group in GROUPS for name in listed(group))] == list(COMMANDS)
    assert run_command("file").returncode == 2


@pytest.mark.parametrize(
    ("words", "right"), [(["init"], "file init"), (["synth", "axpy"], "lab synth"), (["lab", "plan"], "plan")]
)
def test_a_command_without_its_group_is_answered_with_the_right_words(words, right):
    done = run_command(*words)
    assert done.returncode == 1 and done.stderr.endswith(f": unknown command; write kernelpoint {right}\n")

"""Configurations that are refused, and the messages."""

import re

import pytest

from kernelpoint.config import load_config, parse_config
from kernelpoint.config.reference import commented_yaml, keys
from kernelpoint.errors import ConfigError

GOOD = {"version": 1, "policy": "random"}


def test_defaults_are_those_of_the_design():
    config = parse_config(GOOD)
    assert (config.error_budget.relative_error, config.error_budget.confidence, config.seed) == (0.01, 0.95, 0)
    assert (config.on_error, config.resume, config.journal) == ("simulate", "auto", "run.kpjournal")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"polcy": "all"}, "polcy: unknown key (did you mean policy?) (value 'all'); allowed here: version, policy"),
        ({"error_budget": {"relative_eror": 0.1}}, "error_budget.relative_eror: unknown key"),
        ({"error_budget": {"relative_error": 0}}, "error_budget.relative_error: got 0; expected a number, above 0 and below 1"),
        (
            {"error_budget": {"relative_error": 1.0}},
            "error_budget.relative_error: got 1.0; expected a number, above 0 and below 1; write 0.01 for 1 %",
        ),
        (
            {"error_budget": {"confidence": "high"}},
            "error_budget.confidence: got 'high'; expected a number, at least 0.5 and below 1",
        ),
        (
            {"error_budget": {"bound": "fixed"}},
            "error_budget.bound: got 'fixed'; expected 'sequential' or 'none'",
        ),
        ({"seed": -1}, "seed: got -1; expected a whole number from 0 to 18446744073709551615"),
        ({"seed": True}, "seed: got True; expected a whole number from 0 to"),
        ({"version": True}, "version: got True; expected 1"),
        ({"version": 1.0}, "version: got 1.0; expected 1"),
        ({"journal": ""}, "journal: got ''; expected text that is not empty"),
        ({"journal": "a\0b"}, "expected text that is not empty"),
        ({"plan": " "}, "plan: got ' '; expected text that is not empty"),
        ({"profile": ""}, "profile: got ''; expected text that is not empty"),
        ({"encoder": {"checkpoint": ""}}, "encoder.checkpoint: got ''; expected text"),
        ({"version": 2}, "version: got 2; expected 1"),
        ({"error_budget": 0.01}, "error_budget: got 0.01; expected a mapping of relative_error, confidence"),
        ({"replay": None}, "replay: got None; expected a mapping of validation"),
        ({"warmup": {"launches": 1}}, "warmup: unknown key (value {'launches': 1}); allowed here: version, policy"),
        ({"resume": "maybe"}, "resume: got 'maybe'; expected 'auto' or 'never'"),
        ({"policy": None}, "policy: got None"),
        ({"error_budget": {"bound": "none"}, "error_budget.bound": "none"}, "error_budget.bound: this key is given twice"),
        ({"clusters": "offline"}, "clusters: got 'offline'; expected 'auto' or 'online'"),
    ],
)
def test_a_refused_key_is_named_with_its_value_and_what_is_allowed(change, expected):
    with pytest.raises(ConfigError) as error:
        parse_config({**GOOD, **change})
    assert expected in str(error.value)


def test_a_dotted_key_stands_for_the_nested_one():
    assert parse_config({**GOOD, "error_budget.relative_error": 0.02}).error_budget.relative_error == 0.02


def test_a_number_in_scientific_notation_needs_no_point(tmp_path):
    (tmp_path / "a.yaml").write_text("version: 1\npolicy: all\nerror_budget: {relative_error: 5e-3}\n")
    assert load_config(tmp_path / "a.yaml").error_budget.relative_error == 0.005


def test_the_commented_file_is_a_valid_configuration_with_and_without_its_comments(tmp_path):
    text = commented_yaml(expert=True)
    opened = re.sub(r"^#(?! )|^#(?= {2}\w)", "", text, flags=re.MULTILINE)
    for content in (text, opened):
        (tmp_path / "a.yaml").write_text(content)
        assert load_config(tmp_path / "a.yaml") == parse_config({"version": 1, "policy": "kernelpoint"})
    assert "\nseed: 0\n" in opened and "\n  checkpoint: builtin\n" in opened
    assert all(f"{name.rpartition('.')[2]}: " in text for name, _ in keys())
    assert set(commented_yaml().splitlines()) < set(text.splitlines())


def test_a_missing_key_is_named():
    with pytest.raises(ConfigError, match="version: this key is required"):
        parse_config({"policy": "all"})


def test_every_refused_key_is_reported_at_once():
    with pytest.raises(ConfigError) as error:
        parse_config({**GOOD, "seed": "x", "assume": "guess"})
    assert "seed" in str(error.value) and "assume" in str(error.value)


def test_a_missing_or_binary_file_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="No such file"):
        load_config(tmp_path / "absent.yaml")
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="cannot read"):
        load_config(tmp_path / "binary.yaml")


def test_a_file_with_very_many_unknown_keys_is_refused_with_few_lines():
    for count, more in ((100, "80"), (50_000, "9,980")):
        with pytest.raises(ConfigError, match=f"\n[^\n]* {more} more keys are refused") as error:
            parse_config({**GOOD, **{f"key{number}": 1 for number in range(count)}})
        assert len(str(error.value).splitlines()) == 21


BEGIN = "version: 1\npolicy: random\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "expected keys and values"),
        ("- a\n- b\n", "expected keys and values"),
        ("just text", "expected keys and values"),
        ("version: 1\npolicy: [unclosed\n", "line 3"),
        (f"{BEGIN}seed: 1\npolicy: all\n", "is not valid YAML: line 4, column 1: the key 'policy' stands here"),
        *((BEGIN + f"seed: {value}\n", "k.yaml") for value in ("2020-99-99", "!!timestamp x", "!!int x", "!!float x")),
        (BEGIN + "? [a]\n: 1\n", "k.yaml"),
        *((f"{BEGIN}seed: {value}\n", "write it in decimal") for value in ("010", "0x10", "9" * 5000)),
        ("a: &a [x, x]\nb: &b [*a, *a]\nversion: 1\n", "alias"),
        ("".join(f"k{i}: 1\n" for i in range(20_000)), "line 5000, column 8: more than 10,000 keys and values"),
        ("a: [" + 50_000 * "1, " + "]\n", "more than 10,000 keys and values"),
        (f"{BEGIN}journal: [{'x, ' * 5000}]\n", "journal: got ['x', 'x'"),
        *(
            (f"{BEGIN}seed:\n {value}\n", "is not valid YAML: line ")
            for value in (
                *("[" * 5000, "{a: " * 3000, "- " * 20_000, "? " * 3000),
                *("1:" + ":".join(["59"] * 20_000) + ".5", "1:30.5", "1" * 900 + ".5"),
            )
        ),
    ],
    ids=lambda text: text[-12:],
)
def test_a_file_that_is_no_configuration_is_refused_in_one_short_line_with_the_place(tmp_path, text, expected):
    (tmp_path / "k.yaml").write_text(text)
    with pytest.raises(ConfigError) as error:
        load_config(tmp_path / "k.yaml")
    assert expected in str(error.value) and "\n" not in str(error.value) and "<unicode string>" not in str(error.value)
    assert len(str(error.value)) < 1000

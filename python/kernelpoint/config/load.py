"""Reading of a configuration file (YAML), and the check of every key."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, TypeVar, cast

import yaml

from kernelpoint.config.schema import Config, Section, sections
from kernelpoint.errors import ConfigError, did_you_mean, shown
from kernelpoint.files import read_regular
from kernelpoint.typed import Mismatch, reader

S = TypeVar("S", bound=Section)
MOST_BYTES = 1 << 18
MOST_COMPLAINTS = 20
MOST_VALUES = 10_000  # keys and values of a file
MOST_DEPTH = 50  # mappings and lists inside one another


class _OnceLoader(yaml.SafeLoader):
    """YAML without repeated keys, aliases, or numbers in notations other than decimal, and of little depth."""

    values = 0

    def fetch_more_tokens(self) -> Any:
        """Refuse what is deeper than MOST_DEPTH where it is scanned: the scanner's time grows with the square of the depth."""
        if max(self.flow_level, len(self.indents)) > MOST_DEPTH:
            raise yaml.scanner.ScannerError(
                None, None, f"more than {MOST_DEPTH} lists and mappings inside one another", self.get_mark()
            )
        return super().fetch_more_tokens()

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Refuse more than MOST_VALUES, and aliases: a few hundred bytes can expand to more nodes than fit into memory."""
        self.values += 1
        if self.values > MOST_VALUES:
            mark = self.peek_event().start_mark
            raise yaml.constructor.ConstructorError(None, None, f"more than {MOST_VALUES:,} keys and values", mark)
        if self.check_event(yaml.events.AliasEvent):
            event = self.peek_event()
            raise yaml.constructor.ConstructorError(
                None, None, f"the alias *{event.anchor[:40]}: write the value out", event.start_mark
            )
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        """Build a mapping from YAML; raises an error if a key occurs twice."""
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                continue
            if key.value in seen:
                raise yaml.constructor.ConstructorError(None, None, f"the key {key.value!r} stands here twice", key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)

    def construct_yaml_int(self, node: Any) -> int:
        """Read a whole number in decimal; YAML would read 010 as eight."""
        text = self.construct_scalar(node)
        if not re.fullmatch(r"[+-]?(0|[1-9][0-9]{0,29})", text):
            raise yaml.constructor.ConstructorError(
                None, None, f"the number {shown(text)}: write it in decimal, without leading zeros", node.start_mark
            )
        return int(text)

    def construct_yaml_float(self, node: Any) -> float:
        """Read a decimal number of limited length; YAML would read 1:30.5 as ninety and a half."""
        text = self.construct_scalar(node)
        if ":" in text or len(text) > 100:
            raise yaml.constructor.ConstructorError(
                None, None, f"the number {shown(text)}: write it in decimal, with at most 100 digits", node.start_mark
            )
        return float(super().construct_yaml_float(node))


_OnceLoader.add_constructor("tag:yaml.org,2002:int", _OnceLoader.construct_yaml_int)
_OnceLoader.add_constructor("tag:yaml.org,2002:float", _OnceLoader.construct_yaml_float)
# YAML 1.1 takes 1e-3 for text; people mean the number.
_OnceLoader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)[eE][-+]?\d+$"), list("-+.0123456789")
)


def load_config(path: str | Path) -> Config:
    """Read and check a configuration file.

    Raises:
        ConfigError: the file cannot be read, is not YAML, or a key is unknown, of the wrong type or out of range; the
            message names each such key with the value received and what is allowed.

    >>> import pathlib
    >>> _ = pathlib.Path("kernelpoint.yaml").write_text("version: 1\\npolicy: random\\nerror_budget: {relative_error: 0.05}\\n")
    >>> load_config("kernelpoint.yaml").error_budget.relative_error
    0.05
    """
    return parse_config(read_yaml(path, "the configuration"), str(path))


def read_yaml(path: str | Path, what: str) -> Any:
    """Read a YAML file of at most MOST_BYTES bytes.

    Args:
        what: name of the file's purpose in messages.

    Raises:
        ConfigError: the file cannot be read or is no YAML, or it contains aliases, a repeated key, a number that is not
            decimal, or deep nesting.

    >>> _ = Path("grid.yaml").write_text("sms: [40, 80]")
    >>> read_yaml("grid.yaml", "--sweep")
    {'sms': [40, 80]}
    """
    try:
        text = read_regular(path, MOST_BYTES).decode("utf-8")
    except OSError as error:
        raise ConfigError(f"cannot read {what} {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"cannot read {what} {path}: it is not UTF-8 text") from None
    if text.startswith('{"') and '"type":"run"' in text.partition("\n")[0].replace(" ", ""):
        raise ConfigError(f"{path} is a journal, the record of a run; {what} is a YAML file such as kernelpoint.yaml")
    try:
        return yaml.load(text, _OnceLoader)
    except (yaml.YAMLError, ValueError, TypeError, AttributeError, LookupError, RecursionError) as error:
        # PyYAML leaves what Python says of impossible dates, deep nesting and odd tags as it is.
        raise ConfigError(f"{path} is not valid YAML: {_yaml_complaint(error)}") from None


def parse_config(content: Any, source: str = "configuration") -> Config:
    """Check a configuration that is already parsed from YAML, and add the defaults.

    A key may be written with dots: `error_budget.relative_error: 0.02` equals the nested mapping.

    Args:
        content: the parsed configuration.
        source: name of the configuration in messages.

    Raises:
        ConfigError: a key is unknown, or a value is of the wrong type or out of range.

    >>> parse_config({"version": 1, "policy": "all"}).error_budget.confidence
    0.95
    >>> parse_config({"version": 1, "policy": "per-kernel", "error_budget.confidence": 0.9}).replay.state
    'empty'
    >>> parse_config({"version": 1, "policy": "all", "seed": -1})
    Traceback (most recent call last):
    ...
    kernelpoint.errors.ConfigError: configuration: seed: got -1; expected a whole number from 0 to 18446744073709551615
    """
    if not isinstance(content, dict):
        raise ConfigError(f"{source}: expected keys and values, got {'nothing' if content is None else type(content).__name__}")
    keys = _nested(content, source)
    replay = keys.get("replay", {})
    if keys.get("policy") == "per-kernel" and isinstance(replay, dict):  # stands for these two keys
        keys |= {"policy": "all", "replay": {**replay, "state": "empty"}}
    return _checked(Config, keys, f"{source}: ")


def check_section(model: type[S], content: dict[str, Any], key: str) -> S:
    """Check one section (nested mapping) of a configuration, and return its values.

    Args:
        model: class that defines the keys of the section and the allowed values.
        content: the section.
        key: key of the section in messages, such as "policy".

    Raises:
        ConfigError: a value is unknown, of the wrong type or out of range; the message names each.

    >>> from kernelpoint.config import EncoderConfig
    >>> check_section(EncoderConfig, {"checkpoint": "mine.safetensors"}, "encoder")
    EncoderConfig(checkpoint='mine.safetensors')
    """
    return _checked(model, content, f"{key}.")


def _checked(model: type[S], content: dict[Any, Any], head: str) -> S:
    """Values of a section. The error has a line for each refused key, which begins with `head`."""
    try:
        return cast(S, reader(cast(Any, model))(content))
    except Mismatch as error:
        every = [error, *error.others]
        lines = [_complaint(each) for each in every[:MOST_COMPLAINTS]]
        if len(every) > MOST_COMPLAINTS:
            lines.append(f"{len(every) - MOST_COMPLAINTS:,} more keys are refused")
        raise ConfigError("\n".join(f"{head}{line}" for line in lines)) from None


def _nested(content: dict[Any, Any], source: str) -> dict[Any, Any]:
    """Copy of a configuration in which keys such as `a.b: 1` are nested mappings."""
    nested = {k: dict(v) if isinstance(v, dict) else v for k, v in content.items() if not _is_dotted(k)}
    for key in filter(_is_dotted, content):
        section, _, name = key.partition(".")
        inner = nested.setdefault(section, {})
        if not isinstance(inner, dict) or name in inner:
            raise ConfigError(f"{source}: {key}: this key is given twice, with a dot and inside {section}; give it once")
        inner[name] = content[key]
    return nested


def _is_dotted(key: Any) -> bool:
    return isinstance(key, str) and key.partition(".")[0] in sections() and "." in key


def _yaml_complaint(error: Exception) -> str:
    """Place and problem that PyYAML reports, in one line."""
    mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
    if mark is None or problem is None:
        return " ".join(str(error).split())[:300]
    return f"line {mark.line + 1}, column {mark.column + 1}: {problem[:300]}"


def _complaint(error: Mismatch) -> str:
    """Message on one refused key: its name, the value, and the allowed values."""
    key, value = ".".join(error.place)[:80], error.value
    if error.is_missing:
        return f"{key}: this key is required"
    if error.allowed is not None:
        near = did_you_mean(error.place[-1][:80], error.allowed)
        return f"{key}: unknown key{near} (value {shown(value)}); allowed here: {', '.join(error.allowed) or 'none'}"
    percent = ""
    if key.endswith(("relative_error", "confidence")) and type(value) in (int, float) and 1 <= value < 100:
        percent = f"; write {value / 100:g} for {value:g} %"
    return f"{key}: got {shown(value)}; {error}{percent}"

"""The sampling configuration: one YAML file, checked before cycle 0.

A key exists here only once what it does exists. Paths are relative to the working directory of the simulator, so that one
file serves many runs, each with its own journal.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import PydanticCustomError

from kernelpoint.errors import ConfigError


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def _text(value: Any) -> Any:
    """A name or a path; nothing that looks like one."""
    if isinstance(value, str) and (not value.strip() or "\0" in value):
        raise PydanticCustomError("text", "input should be text that is not empty")
    return value


def _whole_number(value: Any) -> Any:
    """Python takes true and 1.0 for 1; a version is neither."""
    if type(value) is not int:
        raise PydanticCustomError("version", "input should be 1")
    return value


Text = Annotated[str, BeforeValidator(_text)]


class ErrorBudgetConfig(_Section):
    """What the user asks of the estimate."""

    relative_error: Annotated[float, Field(gt=0, lt=1)] = 0.01
    confidence: Annotated[float, Field(ge=0.5, lt=1)] = 0.95
    counter: Text = "cycles"
    scope: Literal["workload", "cluster"] = "workload"
    bound: Literal["sequential", "two_stage", "fixed", "none"] = "sequential"


class EncoderConfig(_Section):
    """Which encoder embeds the launches, and how much of a launch it sees."""

    checkpoint: Text = "builtin"
    max_nodes: Annotated[int, Field(ge=100, le=10_000_000)] = 20_000


class WarmupConfig(_Section):
    """Launches simulated before each drawn one, uncounted, so that it meets caches nearer to those of the full run."""

    launches: Annotated[int, Field(ge=0, le=1000)] = 0


# YAML reads a bare `off` as the boolean false.
InsideKernel = Annotated[
    Literal["off", "pka", "cta"], BeforeValidator(lambda value: "off" if value is False else value)
]


class Config(_Section):
    """The resolved configuration: every key with its value, defaults filled in.

    profile: a file with times or counters of every launch, known beforehand from a profiler or another full run; see
    kernelpoint.profiles for the formats. Policies plan from it; the results of the run itself are never looked up there.
    """

    version: Annotated[Literal[1], BeforeValidator(_whole_number)]
    policy: Text
    encoder: EncoderConfig = EncoderConfig()
    clusters: Literal["auto", "plan", "online"] = "auto"
    plan: Text | None = None
    profile: Text | None = None
    error_budget: ErrorBudgetConfig = ErrorBudgetConfig()
    estimate: Literal["regression", "ratio", "mean"] = "regression"
    inside_kernel: InsideKernel = "off"
    warmup: WarmupConfig = WarmupConfig()
    on_error: Literal["simulate", "abort"] = "simulate"
    journal: Text = "run.kpjournal"
    resume: Literal["auto", "never"] = "auto"
    seed: Annotated[int, Field(ge=0, lt=2**64)] = 0


class _OnceLoader(yaml.SafeLoader):
    """YAML in which a key stands once: of two values one would silently be lost."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        """A mapping, unless it names a key twice."""
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                continue
            if key.value in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key.value!r} stands here twice", key.start_mark
                )
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def load_config(path: str | Path) -> Config:
    """Read and check a configuration file.

    Raises:
        ConfigError: the file cannot be read, is not YAML, or a key is unknown, of the wrong type or out of range; the
            message names each such key with the value received and what is allowed.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read the configuration {path}: {error}") from None
    try:
        content = yaml.load(text, _OnceLoader)
    except (yaml.YAMLError, ValueError, TypeError, AttributeError, LookupError, RecursionError) as error:
        # PyYAML leaves what Python says of impossible dates, deep nesting and odd tags as it is.
        raise ConfigError(f"{path} is not valid YAML: {error}") from None
    return parse_config(content, str(path))


def parse_config(content: Any, source: str = "configuration") -> Config:
    """Check configuration content that is already parsed; see :func:`load_config`.

    >>> parse_config({"version": 1, "policy": "all"}).error_budget.confidence
    0.95
    >>> parse_config({"version": 1, "policy": "all", "seed": -1})
    Traceback (most recent call last):
    ...
    kernelpoint.errors.ConfigError: configuration: seed: got -1; input should be greater than or equal to 0
    """
    if not isinstance(content, dict):
        raise ConfigError(f"{source}: expected keys and values, got {type(content).__name__}")
    try:
        return Config.model_validate(content)
    except ValidationError as error:
        lines = [_complaint(detail) for detail in error.errors()]
        raise ConfigError("\n".join(f"{source}: {line}" for line in lines)) from None


def _complaint(detail: Any) -> str:
    """One refused key: which, what was received, what is allowed."""
    key = ".".join(map(str, detail["loc"]))
    message = detail["msg"][0].lower() + detail["msg"][1:]
    if detail["type"] == "missing":
        return f"{key}: this key is required"
    if detail["type"] == "extra_forbidden":
        sections: dict[str, type[_Section]] = {
            "error_budget": ErrorBudgetConfig,
            "encoder": EncoderConfig,
            "warmup": WarmupConfig,
        }
        section = sections.get(str(detail["loc"][0]), Config)
        return f"{key}: unknown key (value {detail['input']!r}); allowed here: {', '.join(section.model_fields)}"
    return f"{key}: got {detail['input']!r}; {message}"

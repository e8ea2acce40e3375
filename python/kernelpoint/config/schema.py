"""The keys of `kernelpoint.yaml`: name, type, default, meaning.

Paths are relative to the working directory of the simulator, so that one file serves many runs, each with its own journal. The
descriptions make the reference (docs/configuration.md) and the file that `kernelpoint file init` writes.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    WithJsonSchema,
    model_serializer,
    model_validator,
)
from pydantic_core import PydanticCustomError

from kernelpoint.errors import did_you_mean


def _text(value: Any) -> Any:
    """Check that text, such as a name or a path, is not empty and has no zero byte."""
    if isinstance(value, str) and (not value.strip() or "\0" in value):
        raise PydanticCustomError("text", "input should be text that is not empty")
    return value


Text = Annotated[str, BeforeValidator(_text)]


class PolicyChoice(BaseModel):
    """Name of a sampling policy, and its parameters. The policy declares and checks the parameters (Policy.Parameters).

    >>> PolicyChoice(name="stem", epsilon=0.05).parameters
    {'epsilon': 0.05}
    """

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)
    name: Text

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters of the policy that the user set, by name."""
        return dict(self.__pydantic_extra__ or {})

    @model_serializer
    def _written(self) -> str | dict[str, Any]:
        """Policy as a user writes it: its name alone if it has no parameters."""
        return {"name": self.name, **self.parameters} if self.parameters else self.name

    def __str__(self) -> str:
        return self.name


def _choice(value: Any) -> Any:
    """Accept the name of a policy in place of a mapping with its parameters."""
    if isinstance(value, str):
        return {"name": value}
    if not isinstance(value, dict | PolicyChoice):
        raise PydanticCustomError("policy", "input should be a policy's name, or a mapping of `name` and its parameters")
    return value


class Section(BaseModel):
    """Base class of all sections of a configuration. Unknown keys are refused, and values are not converted to other types.

    >>> ReplayConfig.model_validate({"validation": 2}).validation
    2
    """

    # The validator of a section alone is made when it is first used: that of the whole file has its own.
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)


def _whole_number(value: Any) -> Any:
    """Check that the version is a whole number; true and 1.0 are refused."""
    if type(value) is not int:
        raise PydanticCustomError("version", "input should be 1")
    return value


def _share(value: Any) -> Any:
    """Parse a share: 0.05, or text in per cent such as "5 %"."""
    if isinstance(value, str) and re.fullmatch(r"\d+(\.\d*)?\s*%", value.strip()):
        return float(value.strip().rstrip("%")) / 100.0
    return value


SHARE_SCHEMA = {
    "anyOf": [
        {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
        {"type": "string", "pattern": r"^\d+(\.\d*)?\s*%$"},
    ]
}
RelativeError = Annotated[float, BeforeValidator(_share), Field(gt=0, lt=1), WithJsonSchema(SHARE_SCHEMA)]


class ErrorBudgetConfig(Section):
    """Error budget: allowed relative error of one or several totals. A run may end when all of them are met.

    >>> ErrorBudgetConfig(relative_error=0.05).confidence
    0.95
    >>> budget = ErrorBudgetConfig.model_validate({"cycles": "1 %", "dram_reads": 0.05})
    >>> budget.counter, budget.relative_error, budget.further
    ('cycles', 0.01, {'dram_reads': 0.05})
    >>> ErrorBudgetConfig.model_validate([{"cycles": "1 %"}, {"range": "decode/*", "cycles": "2 %"}]).ranges
    {'decode/*': {'cycles': 0.02}}
    """

    relative_error: Annotated[
        RelativeError,
        Field(description="half-width as a share of the estimate at which the run may end: 0.01, or `1 %`"),
    ] = 0.01
    confidence: Annotated[float, Field(ge=0.5, lt=1, description="share of runs whose interval contains the total")] = 0.95
    counter: Annotated[
        Text,
        Field(
            description="any counter that the simulator reports, or a ratio: `ipc`, `l1_miss_rate`, `l2_miss_rate`, "
            "`energy_per_cycle`; in Accel-Sim also `active_cycles`, the cycles without the constant launch latency"
        ),
    ] = "cycles"
    bound: Annotated[
        Literal["sequential", "none"],
        Field(description="`sequential` divides the error probability among the passes; `none` states no bound"),
    ] = "sequential"
    further: Annotated[
        dict[Text, RelativeError],
        Field(
            description="relative errors of further counters or ratios for the same sample; names of counters may "
            "also stand directly in `error_budget`: `{cycles: 1 %, dram_reads: 5 %}`"
        ),
    ] = {}
    ranges: Annotated[
        dict[Text, Annotated[dict[Text, RelativeError], Field(min_length=1)]],
        Field(
            description="relative errors of counters in ranges of `ranges:`, each range by itself; also as a list: "
            "`[{cycles: 1 %}, {range: decode/*, cycles: 2 %}]`"
        ),
    ] = {}

    @model_validator(mode="before")
    @classmethod
    def _targets(cls, content: Any) -> Any:
        """Take keys that are no options for counters. The first, or `cycles`, is `counter` where the file names none. An item
        with `range` is of the ranges that it names.
        """
        items = content if isinstance(content, list) else [content]
        if not items or not all(isinstance(item, dict) for item in items):
            return content
        whole, of_ranges = ([item for item in items if ("range" in item) == of] for of in (False, True))
        given = [key for item in whole for key in item] + [("range", str(item["range"])) for item in of_ranges]
        if len(set(given)) < len(given):
            raise PydanticCustomError("twice", "input should give each counter and each range once")
        content = {key: value for item in whole for key, value in item.items()}
        if of_ranges:
            if not isinstance(content.get("ranges", {}), dict):
                return content
            named = {str(item["range"]): {k: v for k, v in item.items() if k != "range"} for item in of_ranges}
            content["ranges"] = {**content.get("ranges", {}), **named}
        named = {key: value for key, value in content.items() if cls._is_target(key)}
        if not named:
            return content
        options = {key: value for key, value in content.items() if key not in named}
        if not {"counter", "relative_error"} & options.keys():
            first = "cycles" if "cycles" in named else next(iter(named))
            options |= {"counter": first, "relative_error": named.pop(first)}
        further = options.get("further")
        return options | {"further": (further if isinstance(further, dict) else {}) | named}

    @classmethod
    def _is_target(cls, key: Any) -> bool:
        """True if a key names a counter, and no option that is misspelt."""
        return isinstance(key, str) and key not in cls.model_fields and not did_you_mean(key, cls.model_fields)

    @model_validator(mode="after")
    def _once(self) -> ErrorBudgetConfig:
        if self.counter in self.further:
            raise PydanticCustomError("twice", "input should give each counter once")
        return self


class EncoderConfig(Section):
    """Choice of the encoder, the neural network that maps instruction sequences to vectors (embeddings).

    >>> EncoderConfig()
    EncoderConfig(checkpoint='builtin')
    """

    checkpoint: Annotated[Text, Field(description="the shipped encoder, or a file made by `kernelpoint lab train`")] = "builtin"


class ReplayConfig(Section):
    """Choice of the cache state in which sampled launches begin, and of the number of launches that measure its error.

    >>> ReplayConfig(validation=0).state  # no validation launches: the bound is on the sampling error only
    'real'
    """

    validation: Annotated[
        Annotated[int, Field(ge=0, le=100)] | Literal["auto"],
        Field(
            description="number of validation launches: each is also simulated directly after the launches before it, from "
            "real caches, so that the bound covers the replay error; `auto`: 1 to 12, as many as the error budget needs; `0`: "
            "the bound is on the sampling error only. In MacSim `auto` makes 3 to 12",
        ),
    ] = "auto"
    state: Annotated[
        Literal["real", "empty"],
        Field(
            description="state of the caches when a launch begins: `real`, as the launches before it leave them; "
            "`empty`, as for the first launch of the list, like Accel-Sim 2.0's `--per-kernel`: the total "
            "is then that of launches by themselves"
        ),
    ] = "real"
    total: Annotated[
        Literal["run", "mean"],
        Field(
            description="total that is bounded where full runs that differ in single cycles at their first fetch differ by per "
            "cents (MacSim): `run`, of one such run; `mean`, of all of them, which compares designs with a narrower bound"
        ),
    ] = "run"


# YAML reads a bare `off` as the boolean false, and `on` as true.
OrOff = Annotated[Text, BeforeValidator(lambda value: ("on" if value else "off") if isinstance(value, bool) else value)]


class Config(Section):
    """Complete configuration of a run: values of the file, and defaults for the other keys.

    >>> from kernelpoint.config import parse_config
    >>> config = parse_config({"version": 1, "policy": "random", "seed": 7})
    >>> config.policy.name, config.seed, config.error_budget.relative_error
    ('random', 7, 0.01)
    >>> Config(version=1, policy="per-kernel").replay.state
    'empty'
    """

    version: Annotated[
        Annotated[Literal[1], BeforeValidator(_whole_number)], Field(description="version of this file's format: 1")
    ]
    policy: Annotated[
        Annotated[PolicyChoice, BeforeValidator(_choice)],
        Field(
            description="`kernelpoint`, `gcl`, `allegro`, `stem`, `sieve`, `pka`, `layer`, `random`, `all` (the full run), or "
            "`per-kernel` (all launches, each from empty caches: `all` with `replay.state: empty`); "
            "or a mapping of its name and its own parameters: `{name: stem, epsilon: 0.05}`"
        ),
    ]
    encoder: EncoderConfig = EncoderConfig()
    clusters: Annotated[
        Literal["auto", "online"],
        Field(
            description="`auto`: the plan is made before the run from the list, or online if the simulator names no list; "
            "`online`: launches are read as they come, and the plan is made after the first pass"
        ),
    ] = "auto"
    plan: Annotated[Text | None, Field(description="a `.kpplan` file; otherwise the plan is made and cached")] = None
    selection: Annotated[
        Text | None,
        Field(
            description="a `.kpselect` file of `kernelpoint select`, if only some launches were traced; the estimate is "
            "for all launches"
        ),
    ] = None
    profile: Annotated[
        Text | None,
        Field(
            description="times or counters of every launch from a profiler or another full run; policies plan from them; "
            "`model`: from the fast model, for policies that need times"
        ),
    ] = None
    accept: Annotated[
        list[Text],
        Field(
            description="kinds of findings (`kernelpoint check`) that neither refuse the input nor take its bound; the journal "
            "names them"
        ),
    ] = []
    fast_model: Annotated[
        OrOff,
        Field(
            description="predicts every launch before the run, if all are traced, and the sample corrects it; `auto`: "
            "configured like the simulated GPU; `off`; or gpgpusim.config, params.in, the model's own YAML, `v100`, `rtx`"
        ),
    ] = "auto"
    ranges: Annotated[
        Text | None,
        Field(
            description="phases, layers and modules whose totals are stated beside that of the run: a CSV with the columns "
            "`launch` and `path`, an Nsight Systems SQLite export with NVTX ranges, PyTorch profiler JSON, a Chakra trace; "
            "`names`: of trace folders and kernels; `detected`: runs of kernels that repeat"
        ),
    ] = None
    error_budget: ErrorBudgetConfig = ErrorBudgetConfig()
    estimate: Annotated[
        Literal["regression", "ratio", "mean"], Field(description="how skipped launches are estimated inside a stratum")
    ] = "regression"
    assume: Annotated[
        Literal["repetitive", "ordinary", "hostile"],
        Field(
            description="trouble that the bound survives although nothing predicts it; more trouble costs more simulated "
            "launches. `repetitive`: none, like launches behave alike; `ordinary`: slow phases, slow first launches, heavy "
            "tails; `hostile`: also rare kinds of launches that take twice as long as predicted, or ten times without traces"
        ),
    ] = "ordinary"
    replay: ReplayConfig = ReplayConfig()
    launch_latency: Annotated[
        Literal["auto", "skip", "simulate"],
        Field(
            description="constant cycles of a launch before its first CTA, in Accel-Sim: `skip` counts them without simulating "
            "them, with the same cycles and counters; `simulate` goes through each; `auto`: `skip`, with `policy: all` "
            "`simulate`"
        ),
    ] = "auto"
    on_error: Annotated[
        Literal["simulate", "abort"],
        Field(description="after a failed decision, `simulate` the launch or `abort` the run"),
    ] = "simulate"
    journal: Annotated[Text, Field(description="the run's record, in the simulator's working directory")] = "run.kpjournal"
    resume: Annotated[
        Literal["auto", "never"], Field(description="`never` sets an existing journal aside and starts a new run")
    ] = "auto"
    results_from: Annotated[
        Text | None,
        Field(
            description="journal of an earlier sampled run of the same launches on the same simulated GPU: launches that it "
            "simulated are not simulated again, whatever its error budget, counter, ranges, policy or seed"
        ),
    ] = None
    seed: Annotated[int, Field(ge=0, lt=2**64, description="same seed, same sample")] = 0

    @model_validator(mode="before")
    @classmethod
    def _per_kernel(cls, content: Any) -> Any:
        """Replace `policy: per-kernel` by the keys that it stands for."""
        replay = content.get("replay", {}) if isinstance(content, dict) else None
        if not isinstance(replay, dict) or content.get("policy") != "per-kernel":
            return content
        return {**content, "policy": "all", "replay": {**replay, "state": "empty"}}

    def recorded(self) -> dict[str, Any]:
        """Configuration in the form that the journal stores. A key that a later version added is left out if it has its
        default.

        >>> "ranges" in Config(version=1, policy="all").recorded()
        False
        """
        without: dict[str, Any] = {key: True for key in ("ranges", "results_from") if getattr(self, key) is None}
        if not self.accept:
            without["accept"] = True
        budget = self.error_budget
        without["error_budget"] = {name for name in ("further", "ranges") if not getattr(budget, name)}
        without["replay"] = {key for key, usual in (("state", "real"), ("total", "run")) if getattr(self.replay, key) == usual}
        return self.model_dump(exclude=without)


def sections() -> dict[str, type[Section]]:
    """Model of each section of the configuration (key with a nested mapping), by its key.

    >>> sorted(sections())
    ['encoder', 'error_budget', 'replay']
    """
    annotations = {name: field.annotation for name, field in Config.model_fields.items()}
    return {name: kind for name, kind in annotations.items() if isinstance(kind, type) and issubclass(kind, Section)}

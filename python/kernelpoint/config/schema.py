"""The keys of `kernelpoint.yaml`: name, type, default, meaning.

Paths are relative to the working directory of the simulator, so that one file serves many runs, each with its own journal. The
descriptions make the reference (docs/configuration.md) and the file that `kernelpoint file init` writes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Annotated, Any, Literal, get_type_hints

from kernelpoint.errors import did_you_mean
from kernelpoint.typed import Length, Mismatch, Range, Stated, keys_of


def _text(value: Any) -> Any:
    """Refuse text, such as a name or a path, that is empty or has a zero byte."""
    if isinstance(value, str) and (not value.strip() or "\0" in value):
        raise Mismatch("expected text that is not empty", value)
    return value


Text = Annotated[str, _text]


@dataclass(frozen=True)
class PolicyChoice:
    """Name of a sampling policy, and its parameters. The policy declares and checks the parameters (Policy.Parameters).

    Attributes:
        name: name of the policy.
        parameters: parameters of the policy that the user set, by name.
    """

    name: Text
    parameters: dict[str, Any] = field(default_factory=dict)

    def written(self) -> str | dict[str, Any]:
        """Policy as a user writes it: its name alone if it has no parameters.

        >>> PolicyChoice("stem", {"epsilon": 0.05}).written()
        {'name': 'stem', 'epsilon': 0.05}
        """
        return {"name": self.name, **self.parameters} if self.parameters else self.name

    def __str__(self) -> str:
        return self.name


def _choice(value: Any) -> Any:
    """Convert the name of a policy, or a mapping of `name` and parameters, to the fields of :class:`PolicyChoice`."""
    if isinstance(value, str):
        return {"name": value}
    if not isinstance(value, dict):
        raise Mismatch("expected a policy's name, or a mapping of `name` and its parameters", value)
    parameters = {key: setting for key, setting in value.items() if key != "name"}
    return {"parameters": parameters} | {key: value[key] for key in ("name",) if key in value}


@dataclass(frozen=True)
class Section:
    """Base class of all sections (nested mappings) of a configuration: a dataclass whose fields are the keys. A key's type has
    the limits and the description of its values, as in `Annotated[int, Range(0, 10), "number of attempts"]`.

    Attributes:
        stated: keys that the configuration states; the others have their default.
    """

    stated: Stated = field(default=Stated(), kw_only=True, repr=False, compare=False)

    def written(self) -> dict[str, Any]:
        """Values of all keys, as a configuration states them.

        >>> EncoderConfig().written()
        {'checkpoint': 'builtin'}
        """
        values = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "stated"}
        return {name: value.written() if isinstance(value, Section | PolicyChoice) else value for name, value in values.items()}


def share(value: Any) -> Any:
    """Convert a share in per cent, such as "5 %", to 0.05."""
    if isinstance(value, str) and re.fullmatch(r"\d+(\.\d*)?\s*%", value.strip()):
        return float(value.strip().rstrip("%")) / 100.0
    return value


RelativeError = Annotated[float, share, Range(above=0, end=1)]


@dataclass(frozen=True)
class ErrorBudgetConfig(Section):
    """Error budget: allowed relative error of one or several totals. A run may end when all of them are met.

    >>> ErrorBudgetConfig(relative_error=0.05).confidence
    0.95
    """

    relative_error: Annotated[
        RelativeError, "half-width as a share of the estimate at which the run may end: 0.01, or `1 %`"
    ] = 0.01
    confidence: Annotated[float, Range(0.5, 1), "share of runs whose interval contains the total"] = 0.95
    counter: Annotated[
        Text,
        "any counter that the simulator reports, or a ratio: `ipc`, `l1_miss_rate`, `l2_miss_rate`, "
        "`energy_per_cycle`; in Accel-Sim also `active_cycles`, the cycles without the constant launch latency",
    ] = "cycles"
    bound: Annotated[
        Literal["sequential", "none"],
        "`sequential` divides the error probability among the passes; `none` states no bound",
    ] = "sequential"
    further: Annotated[
        dict[Text, RelativeError],
        "relative errors of further counters or ratios for the same sample; names of counters may "
        "also stand directly in `error_budget`: `{cycles: 1 %, dram_reads: 5 %}`",
    ] = field(default_factory=dict)
    ranges: Annotated[
        dict[Text, Annotated[dict[Text, RelativeError], Length(1)]],
        "relative errors of counters in ranges of `ranges:`, each range by itself; also as a list: "
        "`[{cycles: 1 %}, {range: decode/*, cycles: 2 %}]`",
    ] = field(default_factory=dict)


def _targets(content: Any) -> Any:
    """Convert an error budget that names counters to the keys of :class:`ErrorBudgetConfig`. The first counter, or `cycles`, is
    `counter` where the file names none. An item of a list with `range` is of the ranges that it names.

    >>> _targets({"cycles": "1 %", "dram_reads": 0.05})
    {'counter': 'cycles', 'relative_error': '1 %', 'further': {'dram_reads': 0.05}}
    >>> _targets([{"relative_error": 0.01}, {"range": "decode/*", "cycles": "2 %"}])
    {'relative_error': 0.01, 'ranges': {'decode/*': {'cycles': '2 %'}}}
    """
    items = content if isinstance(content, list) else [content]
    if not items or not all(isinstance(item, dict) for item in items):
        return content
    whole, of_ranges = ([item for item in items if ("range" in item) == of] for of in (False, True))
    given = [key for item in whole for key in item] + [("range", str(item["range"])) for item in of_ranges]
    if len(set(given)) < len(given):
        raise Mismatch("expected each counter and each range once", content)
    keys = {key: value for item in whole for key, value in item.items()}
    if of_ranges:
        if not isinstance(keys.get("ranges", {}), dict):
            return keys
        named = {str(item["range"]): {k: v for k, v in item.items() if k != "range"} for item in of_ranges}
        keys["ranges"] = {**keys.get("ranges", {}), **named}
    options = [key.name for key in keys_of(ErrorBudgetConfig)]
    # A key that is almost an option is misspelt; any other names a counter.
    named = {k: v for k, v in keys.items() if isinstance(k, str) and k not in options and not did_you_mean(k, options)}
    keys = {key: value for key, value in keys.items() if key not in named}
    if named and not {"counter", "relative_error"} & keys.keys():
        first = "cycles" if "cycles" in named else next(iter(named))
        keys |= {"counter": first, "relative_error": named.pop(first)}
    further = keys.get("further", {})
    if isinstance(further, dict) and named:
        keys["further"] = further = further | named
    if isinstance(further, dict) and any(keys.get("counter", "cycles") == counter for counter in further):
        raise Mismatch("expected each counter once", content)
    return keys


@dataclass(frozen=True)
class EncoderConfig(Section):
    """Choice of the encoder, the neural network that maps instruction sequences to vectors (embeddings).

    >>> EncoderConfig()
    EncoderConfig(checkpoint='builtin')
    """

    checkpoint: Annotated[Text, "the shipped encoder, or a file made by `kernelpoint lab train`"] = "builtin"


@dataclass(frozen=True)
class ReplayConfig(Section):
    """Choice of the cache state in which sampled launches begin, and of the number of launches that measure its error.

    >>> ReplayConfig(validation=0).state  # no validation launches: the bound is on the sampling error only
    'real'
    """

    validation: Annotated[
        Annotated[int, Range(0, 101)] | Literal["auto"],
        "number of validation launches: each is also simulated directly after the launches before it, from "
        "real caches, so that the bound covers the replay error; `auto`: 1 to 12, as many as the error budget needs; `0`: "
        "the bound is on the sampling error only. In MacSim `auto` makes 3 to 12",
    ] = "auto"
    state: Annotated[
        Literal["real", "empty"],
        "state of the caches when a launch begins: `real`, as the launches before it leave them; "
        "`empty`, as for the first launch of the list, like Accel-Sim 2.0's `--per-kernel`: the total "
        "is then that of launches by themselves",
    ] = "real"
    total: Annotated[
        Literal["run", "mean"],
        "total that is bounded where full runs that differ in single cycles at their first fetch differ by per "
        "cents (MacSim): `run`, of one such run; `mean`, of all of them, which compares designs with a narrower bound",
    ] = "run"


# YAML reads a bare `off` as the boolean false, and `on` as true.
OrOff = Annotated[Text, lambda value: ("on" if value else "off") if isinstance(value, bool) else value]


@dataclass(frozen=True)
class Config(Section):
    """Complete configuration of a run: values of the file, and defaults for the other keys.

    >>> from kernelpoint.config import parse_config
    >>> config = parse_config({"version": 1, "policy": "random", "seed": 7})
    >>> config.policy.name, config.seed, config.error_budget.relative_error
    ('random', 7, 0.01)
    """

    version: Annotated[Literal[1], "version of this file's format: 1"]
    policy: Annotated[
        PolicyChoice,
        _choice,
        "`kernelpoint`, `gcl`, `allegro`, `stem`, `sieve`, `pka`, `layer`, `random`, `all` (the full run), or "
        "`per-kernel` (all launches, each from empty caches: `all` with `replay.state: empty`); "
        "or a mapping of its name and its own parameters: `{name: stem, epsilon: 0.05}`",
    ]
    encoder: EncoderConfig = EncoderConfig()
    clusters: Annotated[
        Literal["auto", "online"],
        "`auto`: the plan is made before the run from the list, or online if the simulator names no list; "
        "`online`: launches are read as they come, and the plan is made after the first pass",
    ] = "auto"
    plan: Annotated[Text | None, "a `.kpplan` file; otherwise the plan is made and cached"] = None
    selection: Annotated[
        Text | None,
        "a `.kpselect` file of `kernelpoint select`, if only some launches were traced; the estimate is for all launches",
    ] = None
    profile: Annotated[
        Text | None,
        "times or counters of every launch from a profiler or another full run; policies plan from them; "
        "`model`: from the fast model, for policies that need times",
    ] = None
    accept: Annotated[
        list[Text],
        "kinds of findings (`kernelpoint check`) that neither refuse the input nor take its bound; the journal names them",
    ] = field(default_factory=list)
    fast_model: Annotated[
        OrOff,
        "predicts every launch before the run, if all are traced, and the sample corrects it; `auto`: "
        "configured like the simulated GPU; `off`; or gpgpusim.config, params.in, the model's own YAML, `v100`, `rtx`",
    ] = "auto"
    ranges: Annotated[
        Text | None,
        "phases, layers and modules whose totals are stated beside that of the run: a CSV with the columns "
        "`launch` and `path`, an Nsight Systems SQLite export with NVTX ranges, PyTorch profiler JSON, a Chakra trace; "
        "`names`: of trace folders and kernels; `detected`: runs of kernels that repeat",
    ] = None
    error_budget: Annotated[ErrorBudgetConfig, _targets] = ErrorBudgetConfig()
    assume: Annotated[
        Literal["repetitive", "ordinary", "hostile"],
        "trouble that the bound survives although nothing predicts it; more trouble costs more simulated "
        "launches. `repetitive`: none, like launches behave alike; `ordinary`: slow phases, slow first launches, heavy "
        "tails; `hostile`: also rare kinds of launches that take twice as long as predicted, or ten times without traces",
    ] = "ordinary"
    replay: ReplayConfig = ReplayConfig()
    launch_latency: Annotated[
        Literal["auto", "skip", "simulate"],
        "constant cycles of a launch before its first CTA, in Accel-Sim: `skip` counts them without simulating "
        "them, with the same cycles and counters; `simulate` goes through each; `auto`: `skip`, with `policy: all` "
        "`simulate`",
    ] = "auto"
    on_error: Annotated[
        Literal["simulate", "abort"],
        "after a failed decision, `simulate` the launch or `abort` the run",
    ] = "simulate"
    journal: Annotated[Text, "the run's record, in the simulator's working directory"] = "run.kpjournal"
    resume: Annotated[Literal["auto", "never"], "`never` sets an existing journal aside and starts a new run"] = "auto"
    results_from: Annotated[
        Text | None,
        "journal of an earlier sampled run of the same launches on the same simulated GPU: launches that it "
        "simulated are not simulated again, whatever its error budget, counter, ranges, policy or seed",
    ] = None
    seed: Annotated[int, Range(0, 2**64), "same seed, same sample"] = 0

    def recorded(self) -> dict[str, Any]:
        """Configuration in the form that the journal stores. A key that a later version added is left out if it has its
        default.

        >>> "ranges" in Config(version=1, policy=PolicyChoice("all")).recorded()
        False
        """
        keys, usual = self.written(), Config(version=1, policy=self.policy).written()
        for key in ("accept", "ranges", "results_from"):
            if keys[key] == usual[key]:
                del keys[key]
        for section, key in (("error_budget", "further"), ("error_budget", "ranges"), ("replay", "state"), ("replay", "total")):
            if keys[section][key] == usual[section][key]:
                del keys[section][key]
        return keys


@cache
def sections() -> dict[str, type[Section]]:
    """Class of each section of the configuration (key with a nested mapping), by its key.

    >>> sorted(sections())
    ['encoder', 'error_budget', 'replay']
    """
    kinds = get_type_hints(Config)
    return {name: kind for name, kind in kinds.items() if isinstance(kind, type) and issubclass(kind, Section)}

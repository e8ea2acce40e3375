"""The launches of a run and the inputs of its plan: which there are, which a policy asks for, and how they are made, once."""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kernelpoint.errors import ConfigError, HostError, PolicyError, ProfileError, TraceError
from kernelpoint.pool import Pool
from kernelpoint.progress import Log, Progress, WorkProgress
from kernelpoint.repeated import Texts
from kernelpoint.workload.described import Descriptions
from kernelpoint.workload.host_info import HostInfo
from kernelpoint.workload.population import Population, aligned
from kernelpoint.workload.predictions import model_profile, predicted, with_model_source

if TYPE_CHECKING:
    from kernelpoint.config import Config, EncoderConfig
    from kernelpoint.program import Program
    from kernelpoint.traces import ArtefactCache, TraceList


class Need(enum.Enum):
    """Inputs that a policy's design may need.

    >>> [need.value for need in Need]
    ['traces', 'embeddings', 'model', 'profile']
    """

    TRACES = "traces"  # every launch is read once beforehand: Population.scan
    EMBEDDINGS = "embeddings"  # every stream is embedded by the encoder: Population.embeddings; comes with TRACES
    MODEL = "model"  # the fast model has run over the list: Population.model
    PROFILE = "profile"  # times or counters of every launch, known from elsewhere: Population.profile


def why_no_cells(config: Config, population: Population) -> str | None:
    """Reason why the estimate of a run cannot use predictions of launches, from any source; None if it can.

    Predictions serve the total of one application, estimated by regression.

    >>> from kernelpoint.config import parse_config
    >>> from kernelpoint.workload import Population
    >>> why_no_cells(parse_config({"version": 1, "policy": "random", "estimate": "mean"}, "keys"), Population((6,), seed=0))
    '`estimate: mean`'
    """
    budget = config.error_budget
    reasons = {
        f"`error_budget.bound: {budget.bound}`": budget.bound != "sequential",
        f"`estimate: {config.estimate}`": config.estimate != "regression",
        "several applications run": len(population.counts) != 1 or population.is_part,
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


def why_unassisted(config: Config, population: Population) -> str | None:
    """Reason why the estimate of a run does not use the fast model's predictions; None if it does.

    >>> from kernelpoint.config import parse_config
    >>> from kernelpoint.workload import Population
    >>> why_unassisted(parse_config({"version": 1, "policy": "random"}, "keys"), Population(counts=(6,), seed=0))
    'no trace list is on disk'
    """
    if config.fast_model == "off":
        return "`fast_model: off`"
    if (reason := why_no_cells(config, population)) is not None:
        return reason
    return "no trace list is on disk" if population.model is None and population.model_source is None else None


@dataclass(frozen=True)
class Available:
    """Inputs that are available to a policy.

    Attributes:
        profile: the one that the user named.
        traces: True if the trace of every launch is on disk.
        model: True if the estimate may rest on the fast model's predictions.
        why_no_model: the reason where it may not (why_unassisted).

    >>> Available(traces=True).model
    False
    """

    profile: Program | None = None
    traces: bool = False
    model: bool = False
    why_no_model: str | None = None

    @classmethod
    def of(cls, population: Population, config: Config) -> Available:
        """Inputs that a population has before any trace is read."""
        reason = why_unassisted(config, population)
        return cls(population.profile, population.has_traces, reason is None, reason)


def check_available(policy: str, needs: frozenset[Need], available: Available, option: str = "`profile:`") -> None:
    """Raise an error if an input that a policy needs is missing.

    Args:
        option: the user's option for a profile.

    Raises:
        PolicyError: it needs a profile, and none was named.
        ConfigError: it reads traces, and the host names no list on disk.

    >>> check_available("stem", frozenset({Need.PROFILE}), Available(traces=True))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    kernelpoint.errors.PolicyError: policy: stem plans from times or counters of every launch, known beforehand; name a ...
    """
    if Need.PROFILE in needs and available.profile is None:
        raise PolicyError(
            f"policy: {policy} plans from times or counters of every launch, known beforehand; name a file of them "
            f"with {option}, or the fast model's predictions of traces: `profile: model`"
        )
    if Need.TRACES in needs and not available.traces:
        raise ConfigError(f"policy: {policy} reads traces beforehand, but the simulator names no trace list on disk")


def complete(
    population: Population,
    needs: frozenset[Need],
    encoder: EncoderConfig,
    log: Log,
    cache: ArtefactCache | None = None,
    read: Progress | None = None,
    embedded: Progress | None = None,
) -> Population:
    """Read the inputs that a population still lacks; existing ones are kept.

    Args:
        needs: inputs of a policy; all are available (`check_available`).
        encoder: checkpoint and bound on nodes of the embeddings.
        cache: of traces and embeddings; by default the user's.
        read, embedded: called with (done, total) while traces are read, streams embedded; by default progress is shown.

    Raises:
        TraceError: not one launch can be read.

    >>> from kernelpoint.config import EncoderConfig
    >>> from kernelpoint.traces import launch_paths
    >>> population = Population(counts=(6,), seed=0, paths=launch_paths("traces/kernelslist.g"))
    >>> population = complete(population, frozenset({Need.TRACES}), EncoderConfig(), print)
    >>> population.scan.stream_ids.tolist()
    [0, 0, 0, 0, 0, 0]
    """
    if needs & {Need.TRACES, Need.EMBEDDINGS} and population.scan is None:
        from kernelpoint.traces import scan_launches
        from kernelpoint.traces.scan_launches import passing

        shown = read or WorkProgress("reading", "traces", log)
        scan = scan_launches(population.paths, cache, shown, log=log, pool=population.pool)
        if len(scan.errors) == population.size:
            raise TraceError(
                f"none of the {population.size:,} launches can be read; the first: {next(iter(scan.errors.values()))}"
            )
        population = replace(population, scan=scan, unread=(*population.unread, *passing(scan.errors.values())))
    if Need.EMBEDDINGS in needs and population.embeddings is None and population.scan is not None:
        from kernelpoint.encoder import embed_streams

        shown = embedded or WorkProgress("embedding", "streams", log)
        embeddings = embed_streams(
            population.scan, cache, encoder.checkpoint, progress=shown, log=log, pool=population.pool
        )
        population = replace(population, embeddings=embeddings)
    if Need.MODEL in needs and population.model is None and population.model_source is not None:
        population = predicted(population, log)
    return population


def with_profile(population: Population, config: Config, log: Log) -> Population:
    """Add the profile that the configuration names, if any, to a population.

    `profile: model` takes the fast model's predictions. With a trace list the rows are matched with its launches; `log`
    gets the others. Without one the profile has to have exactly one row per launch.

    Raises:
        ProfileError: the file cannot be read, or does not fit the launches; or the model has nothing to predict.

    >>> import pathlib
    >>> from kernelpoint.config import parse_config
    >>> from kernelpoint.workload import Population
    >>> rows = "".join(f"{launch},gemm,64x1x1,128x1x1,32,0,7,0,5.{launch}\\n" for launch in range(3))
    >>> _ = pathlib.Path("times.csv").write_text("idx,name,grid,block,regs,smem,stream,ts_us,dur_us\\n" + rows)
    >>> config = parse_config({"version": 1, "policy": "stem", "profile": "times.csv"}, "keys")
    >>> with_profile(Population(counts=(3,), seed=0), config, print).profile.size
    3
    """
    if config.profile is None:
        return population
    if config.profile == "model":
        population = complete(population, frozenset({Need.MODEL}), config.encoder, log)
        model = model_profile(population)
        if model is None:
            raise ProfileError(
                "profile: got 'model', but the fast model is off, or there is no trace list on disk; allowed: a file of times "
                "or counters, or `model` with `fast_model: auto` and a list"
            )
        return replace(population, profile=model)
    from kernelpoint.admission import admitted_profile

    profile = admitted_profile(config.profile, config.accept, log)
    if not population.paths:
        if profile.size != population.size:
            raise ProfileError(
                f"{config.profile}: {profile.size} launches; the run has {population.size}, and there is no trace list to "
                "match them with"
            )
        return replace(population, profile=profile)
    return replace(population, profile=aligned(profile, population.paths, log, config.accept))


def with_descriptions(
    population: Population, described: Descriptions | None, is_deterministic: bool = False
) -> Population:
    """Add the simulator's descriptions of launches to a population: predictions if each has a cost, and a profile.

    Traces come first: where they are on disk, descriptions are not used.

    >>> from kernelpoint.workload import Population
    >>> launches = Descriptions.of([{"name": "gemm", "cost": 900.0}, {"name": "softmax", "cost": 90.0}])
    >>> with_descriptions(Population((2,), seed=0), launches).model.counters["cycles"].tolist()
    [900.0, 90.0]
    """
    if described is None or population.paths:
        return population
    described = replace(described, is_deterministic=is_deterministic)
    profile = described.profile()
    return replace(population, described=described, profile=profile, model=profile if described.has_costs else None)


def population_for(config: Config, host: HostInfo, log: Log, pool: Pool | None = None) -> Population:
    """Make the population of a run: launches of all processes, and where the plan's inputs come from (fast model, profile).

    Args:
        pool: workers that read, embed and predict instead of this process.

    Raises:
        TraceError: a trace list cannot be read.
        ConfigError, ProfileError: the fast model's configuration, or the profile, is refused.

    >>> from kernelpoint.config import parse_config
    >>> config = parse_config({"version": 1, "policy": "random"}, "keys")
    >>> population_for(config, HostInfo("mine", list_paths=("traces/kernelslist.g",)), print).has_traces
    True
    """
    population = replace(population_of(host, config.seed), pool=pool)
    population = with_descriptions(population, host.descriptions, host.is_deterministic)
    population = with_model_source(population, config.fast_model, host, log)
    return with_profile(population, config, log)


def population_of(host: HostInfo, seed: int) -> Population:
    """Make the population of a run from its lists, or from the launch counts that the simulator gives.

    >>> population_of(HostInfo("mine", process_count=2, list_paths=(None, None), launch_counts=(3, 2)), seed=0).size
    5
    """
    lists = [_list_of(host, process) for process in range(host.process_count)]
    return Population(
        counts=tuple(_count(host, process, trace_list) for process, trace_list in enumerate(lists)),
        seed=seed,
        paths=Texts.joined([trace_list.paths for trace_list in lists if trace_list is not None]),
        copies=tuple(trace_list.copies for trace_list in lists if trace_list is not None) if None not in lists else (),
    )


def _list_of(host: HostInfo, process: int) -> TraceList | None:
    path = host.list_paths[process]
    if path is None:
        return None
    from kernelpoint.traces import read_trace_list  # needs the native reader, which a run without lists does not

    return read_trace_list(path)


def _count(host: HostInfo, process: int, trace_list: TraceList | None) -> int:
    stated_count = host.launch_counts[process]
    if trace_list is None:
        if stated_count <= 0:
            raise ConfigError(
                f"process {process}: neither its trace list nor its number of launches is known; the simulator has to give one"
            )
        return stated_count
    if stated_count and stated_count != len(trace_list.paths):
        raise HostError(
            f"process {process}: the host counts {stated_count} launches, its list {host.list_paths[process]} has "
            f"{len(trace_list.paths)}"
        )
    return len(trace_list.paths)

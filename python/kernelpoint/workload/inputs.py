"""Program of a run and inputs of its plan: the available inputs, the inputs that a policy needs, and the functions that make
them.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from kernelpoint.errors import ConfigError, HostError, PolicyError, ProfileError, TraceError
from kernelpoint.pool import Pool
from kernelpoint.program import Program
from kernelpoint.progress import Log, WorkProgress
from kernelpoint.repeated import Repeated, Texts
from kernelpoint.workload.host_info import HostInfo

if TYPE_CHECKING:
    from kernelpoint.config import Config, EncoderConfig
    from kernelpoint.fast_model import Configuration


class Need(enum.Enum):
    """Kinds of input that a sampling policy may need: traces, embeddings, the fast model's predictions, a profile.

    >>> [need.value for need in Need]
    ['traces', 'embeddings', 'model', 'profile']
    """

    TRACES = "traces"  # every launch is read once beforehand: Program.contents
    EMBEDDINGS = "embeddings"  # every stream is embedded by the encoder: Program.embeddings; comes with TRACES
    MODEL = "model"  # the fast model has run over the list: Program.predictions
    PROFILE = "profile"  # times or counters of every launch, known from elsewhere: Program.source


def why_no_cells(config: Config) -> str | None:
    """Reason why a run's estimate cannot use predictions of launches, whatever their source; None if it can.

    >>> from kernelpoint.config import parse_config
    >>> why_no_cells(parse_config({"version": 1, "policy": "random", "error_budget": {"bound": "none"}}, "keys"))
    '`error_budget.bound: none`'
    """
    bound = config.error_budget.bound
    return None if bound == "sequential" else f"`error_budget.bound: {bound}`"


def why_unassisted(config: Config, program: Program) -> str | None:
    """Reason why a run's estimate does not use predictions of the fast model (KernelPoint's analytic GPU model); None if it
    does.

    >>> from kernelpoint.config import parse_config
    >>> from kernelpoint.program import Program
    >>> why_unassisted(parse_config({"version": 1, "policy": "random"}, "keys"), Program((6,)))
    'no trace list is on disk'
    """
    if config.fast_model == "off":
        return "`fast_model: off`"
    if (reason := why_no_cells(config)) is not None:
        return reason
    return "no trace list is on disk" if program.predictions is None and program.predictor is None else None


@dataclass(frozen=True)
class Available:
    """Inputs that are available to a sampling policy.

    Attributes:
        profile: launches with names, times or counters, from the profile that the user named, or None.
        traces: True if the trace of every launch is on disk.
        model: True if the estimate may use the fast model's predictions.
        why_no_model: reason why the estimate may not use these predictions, or None.

    >>> Available(traces=True).model
    False
    """

    profile: Program | None = None
    traces: bool = False
    model: bool = False
    why_no_model: str | None = None

    @classmethod
    def of(cls, program: Program, config: Config) -> Available:
        """Inputs that are available for a run, before any trace is read."""
        reason = why_unassisted(config, program)
        return cls(program if program.source else None, program.has_traces, reason is None, reason)


def check_available(policy: str, needs: frozenset[Need], available: Available, option: str = "`profile:`") -> None:
    """Raise an error if an input that a policy needs is missing.

    Args:
        policy: name of the sampling policy.
        needs: kinds of input that the policy needs.
        available: inputs that are available.
        option: name of the option by which the user gives a profile, for messages.

    Raises:
        PolicyError: the policy needs a profile, and no profile was named.
        ConfigError: the policy reads traces, and the simulator names no list on disk.

    >>> check_available("stem", frozenset({Need.PROFILE}), Available(traces=True))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    kernelpoint.errors.PolicyError: policy: stem plans from the time or counters of every launch; name a ...
    """
    if Need.PROFILE in needs and available.profile is None:
        raise PolicyError(
            f"policy: {policy} plans from the time or counters of every launch; name a file of them with {option}, or "
            "set `profile: model` to take the fast model's predictions from traces"
        )
    if Need.TRACES in needs and not available.traces:
        raise ConfigError(
            f"policy: {policy} reads every trace before the simulation, but the simulator names no trace list on "
            "disk; name one, or choose another policy"
        )


def require(program: Program, policy: str, *needs: Need) -> None:
    """Raise an error that names a policy if the program lacks an input. `needs` are the kinds of input.

    Raises:
        PolicyError: an input is missing.

    >>> require(Program((6,)), "gcl", Need.TRACES)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    kernelpoint.errors.PolicyError: policy gcl needs the traces of launches, and there are none; ...
    """
    if Need.TRACES in needs and program.contents is None:
        raise PolicyError(f"policy {policy} needs the traces of launches, and there are none; give a list or another policy")
    if Need.EMBEDDINGS in needs and program.embeddings is None:
        raise PolicyError(
            f"policy {policy} needs the traces of the launches and their embeddings, and there are none; run with a "
            "trace list, or choose another policy"
        )
    if Need.PROFILE in needs and not program.source:
        raise PolicyError(f"policy {policy} needs a time of every launch; name a profile with `profile:`")


def known_times(program: Program, policy: str) -> tuple[np.ndarray, np.ndarray]:
    """Times of the launches from a profile, float64 [N], and True for launches with a time, bool [N].

    Args:
        program: launches with the times.
        policy: name of the sampling policy, for messages.

    Raises:
        PolicyError: there is no profile, fewer than half of the launches have a time, or a time is negative.

    >>> from kernelpoint.profiles import read_profile
    >>> times, known = known_times(read_profile("times.csv"), "stem")
    >>> times[:3].tolist(), known[:3].tolist()
    ([5000.0, 5100.0, 5200.0], [True, True, True])
    """
    require(program, policy, Need.PROFILE)
    times = program.time
    has_time = np.isfinite(times)
    if 2 * has_time.sum() < len(times):
        raise PolicyError(
            f"policy {policy} needs the time of every launch; {program.source} has {has_time.sum():,} of {len(times):,}"
        )
    if (times[has_time] < 0).any():
        raise PolicyError(f"{program.source}: a launch has the time {times[has_time].min()}; allowed: 0 or more")
    return times, has_time


def complete(
    program: Program,
    needs: frozenset[Need],
    encoder: EncoderConfig,
    log: Log,
    pool: Pool | None = None,
) -> Program:
    """Program with the inputs that it lacks: traces are read, embeddings and predictions are computed. Inputs that it has are
    kept.

    Args:
        needs: kinds of input to add; all must be available (`check_available`).
        encoder: checkpoint of the embeddings, and the largest number of graph nodes in one batch.
        log: function that receives lines for the user.
        pool: worker processes that read, embed and predict; None: this process does so.

    Raises:
        TraceError: no launch can be read.

    >>> from kernelpoint.config import EncoderConfig
    >>> from kernelpoint.traces import read_trace_list
    >>> program = complete(read_trace_list("traces/kernelslist.g"), frozenset({Need.TRACES}), EncoderConfig(), print)
    >>> program.stream_ids.tolist()
    [0, 0, 0, 0, 0, 0]
    """
    if needs & {Need.TRACES, Need.EMBEDDINGS} and program.contents is None:
        from kernelpoint.traces import scan_launches

        shown = WorkProgress("reading", "traces", log)
        scan = scan_launches(program.traces, progress=shown, log=log, pool=pool)
        if len(scan.errors) == program.size:
            raise TraceError(f"none of the {program.size:,} traces can be read; the first: {next(iter(scan.errors.values()))}")
        program = program.with_contents_of(scan)
    if Need.EMBEDDINGS in needs and program.embeddings is None and program.contents is not None:
        from kernelpoint.encoder import embed_streams

        shown = WorkProgress("embedding", "streams", log)
        embeddings = embed_streams(program.contents, None, encoder.checkpoint, progress=shown, log=log, pool=pool)
        program = replace(program, embeddings=embeddings)
    if Need.MODEL in needs and program.predictions is None and program.predictor is not None:
        program = predicted(program, log, pool)
    return program


# ---- predictions of the fast model -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class FastModel:
    """Fast model (KernelPoint's analytic GPU model) as the source of predictions. Its configuration is chosen, and printed, at
    the first use.

    Attributes:
        setting: value of the key `fast_model`: `auto`, or a file.
        simulator: description of the simulator.
        traces: trace of every launch.
        log: function that prints the chosen configuration.

    >>> v100 = FastModel("v100", HostInfo(simulator="mine"), traces=(), log=print)
    >>> v100.configuration.name, sorted(v100.dependencies())
    ('v100', ['config_hash', 'configuration', 'model_version'])
    """

    setting: str
    simulator: HostInfo
    traces: Sequence[str]
    log: Log

    @property
    def launch_latency(self) -> float:
        """Constant cost of each launch in the simulator, in cycles."""
        return float(self.simulator.launch_latency)

    @cached_property
    def configuration(self) -> Configuration:
        """Configuration of the fast model for the simulated GPU.

        Raises:
            ConfigError: the file, or the simulator's options, are refused.
        """
        from kernelpoint.fast_model import configuration_for

        simulator = self.simulator
        return configuration_for(
            self.setting, simulator.simulator, simulator.configuration, simulator.config_hash, self.traces, self.log
        )

    def dependencies(self) -> dict[str, str]:
        """Names and values of all settings that the predictions depend on, apart from the launches. The journal and the plan
        store them, to tell whether a plan still fits.
        """
        from kernelpoint.fast_model import MODEL_VERSION

        configuration = self.configuration
        return {"configuration": configuration.name, "config_hash": configuration.hash, "model_version": MODEL_VERSION}


def with_predictor(program: Program, setting: str, simulator: HostInfo, log: Log) -> Program:
    """Add the fast model (KernelPoint's analytic GPU model) to a program as the source of predictions, unless it is off or
    traces are missing.

    Args:
        setting: `auto`, `off`, or a file; see :func:`kernelpoint.fast_model.configuration_for`.
        simulator: description of the simulator.

    Raises:
        ConfigError: the file is refused.

    >>> host = HostInfo("mine", list_paths=("traces/kernelslist.g",))
    >>> with_predictor(program_of(host, seed=0), "v100", host, print).predictor is None
    False
    """
    if setting == "off" or not program.has_traces or None in simulator.list_paths:
        return program
    model = FastModel(setting, simulator, program.traces, log)
    if setting != "auto":
        _ = model.configuration  # a bad file is refused at once, used or not
    return replace(program, predictor=model)


def predicted(program: Program, log: Log, pool: Pool | None = None) -> Program:
    """Add predictions of each launch to a program, computed or read from the cache, under the counter names of the simulator.

    Args:
        pool: worker processes that predict; None: this process does so.

    >>> host = HostInfo("mine", list_paths=("traces/kernelslist.g",))
    >>> program = with_predictor(program_of(host, seed=0), "v100", host, print)
    >>> predicted(program, lambda line: None).predictions["cycles"].shape
    (6,)
    """
    from kernelpoint.fast_model import predict
    from kernelpoint.simulators import simulator

    model = program.predictor
    assert isinstance(model, FastModel)
    host, configuration = model.simulator, model.configuration
    made = predict(program, configuration, log, pool=pool)
    columns = made.predictions
    assert columns is not None
    dependencies = model.dependencies()
    log(
        f"kernelpoint: the fast model predicts {int((~np.isnan(columns['cycles'])).sum()):,} of {program.size:,} launches "
        f"({', '.join([dependencies['configuration'], dependencies['config_hash'], 'model ' + dependencies['model_version']])})"
    )
    latency = int(configuration.values["launch_latency"])
    in_terms = simulator(host.simulator).counters_of(columns.of_kind, host.configuration, latency)
    unread = (*program.unread, *made.unread)
    return replace(program, predictions=Repeated(columns.kinds, in_terms), unread=unread)


def usable(predictions: Mapping[str, np.ndarray], mask: np.ndarray) -> Repeated:
    """Predictions, by counter, with 0 for launches that are not in `mask`. Counters with a negative prediction, or one that is
    not finite, are left out.

    Args:
        predictions: float64 [N] of each counter.
        mask: bool [N], True for launches with predictions.

    >>> counters = Repeated(None, {"cycles": np.array([7.0, np.nan]), "l2_misses": np.array([2.0, np.nan])})
    >>> usable(counters, np.array([True, False]))["l2_misses"].tolist()
    [2.0, 0.0]
    """
    columns = predictions if isinstance(predictions, Repeated) else Repeated(None, predictions)
    columns = columns.where(mask, 0.0)
    values = {name: np.asarray(column, dtype=float) for name, column in columns.of_kind.items()}
    present = slice(None) if columns.kinds is None else np.unique(columns.kinds)
    kept = {name: v for name, v in values.items() if np.isfinite(v[present]).all() and (v[present] >= 0.0).all()}
    return Repeated(columns.kinds, kept)


def as_times(program: Program) -> Program:
    """Program whose profiled times are the predictions, for policies that plan from times. Launches without a prediction get an
    empty name, by which the policies treat them as not profiled.
    """
    assert program.predictions is not None
    source, counters = program.predictor, program.predictions
    about = (
        "fast model"
        if source is None
        else "fast model ({configuration} {config_hash}, model {model_version})".format(**source.dependencies())
    )
    profile = replace(labelled(program), source=about, counters=counters)
    is_unknown = np.isnan(counters["cycles"])
    rows = np.where(is_unknown, -1, np.arange(program.size))
    return program.with_times_of(profile.take(rows) if is_unknown.any() else profile)


# ---- times of a profile -------------------------------------------------------------------------------------------------


def labelled(program: Program) -> Program:
    """Program with names and shapes from the headers of its traces, if every launch has a trace. The name of an unreadable
    trace is one that no kernel has.

    >>> from kernelpoint.traces import read_trace_list
    >>> labelled(read_trace_list("traces/kernelslist.g")).names.distinct
    ('axpy_f32',)
    """
    if not program.has_traces or (program.contents is not None and not program.errors):
        return program
    from kernelpoint.traces import read_labels  # needs the native reader, which a run without lists does not

    return program.with_labels_of(read_labels(program.traces))


def aligned(profile: Program, program: Program, log: Log, accepted: Collection[str] = ()) -> Program:
    """Profile with its rows sorted, so that row i belongs to launch i of a program.

    A profile without names and shapes (a journal, the output of some simulators) is matched by position, and gets names and
    shapes from the traces.

    Args:
        log: function that receives lines on rows and launches without a counterpart.
        accepted: kinds of defects that the user accepts.

    Raises:
        ProfileError: fewer than half of the launches (or of the rows, if there are fewer rows) have a counterpart.

    >>> from kernelpoint.profiles import read_profile
    >>> from kernelpoint.traces import read_trace_list
    >>> import kernelpoint as kp
    >>> _ = kp.simulate("traces/kernelslist.g", "run.kpjournal", policy="all")
    >>> profile = aligned(read_profile("run.kpjournal"), read_trace_list("traces/kernelslist.g"), print)
    >>> profile.size, profile.names[0]
    (6, 'axpy_f32')
    """
    from kernelpoint.admission import admitted_rows

    launches = labelled(program)
    if not profile.is_named and profile.size == program.size:
        return profile.with_labels_of(launches)
    return profile.take(admitted_rows(profile, launches, accepted, lambda line: log(f"kernelpoint: {line}")))


def with_profile(program: Program, config: Config, log: Log, pool: Pool | None = None) -> Program:
    """Add the times and counters of the profile that the configuration names to a program. Without one, return the program.

    `profile: model` uses predictions of the fast model. If there is a trace list, rows are matched with its launches. Without a
    list, the profile must have one row for each launch.

    Args:
        log: function that receives lines on rows without a launch.
        pool: worker processes that predict; None: this process does so.

    Raises:
        ProfileError: the file cannot be read or does not fit the launches, or the model has no traces to predict from.

    >>> from kernelpoint.config import parse_config
    >>> config = parse_config({"version": 1, "policy": "stem", "profile": "times.csv"}, "keys")
    >>> with_profile(Program((6,)), config, print).time[:3].tolist()
    [5000.0, 5100.0, 5200.0]
    """
    if config.profile is None:
        return program
    if config.profile == "model":
        program = complete(program, frozenset({Need.MODEL}), config.encoder, log, pool=pool)
        if program.predictions is None:
            raise ProfileError(
                "profile: got 'model', but the fast model is off, or there is no trace list on disk; name a file of "
                "times or counters, or set `fast_model: auto` and name a trace list"
            )
        return as_times(program)
    from kernelpoint.admission import admitted_profile

    profile = admitted_profile(config.profile, config.accept, log, with_ranges=config.ranges == config.profile)
    if len(program.traces):
        profile = aligned(profile, program, log, config.accept)
    elif profile.size != program.size:
        raise ProfileError(
            f"{config.profile} has {profile.size} launches, the run {program.size}, and there is no trace list to "
            "match them with; give the profile of this run"
        )
    return program.with_times_of(profile)


# ---- the program of a run -----------------------------------------------------------------------------------------------


def program_for(config: Config, host: HostInfo, log: Log, pool: Pool | None = None) -> Program:
    """Make the program (table of launches) of a run, with its profile and its source of predictions.

    Args:
        config: configuration of the run.
        host: description of the simulator, with its trace lists.
        pool: worker processes that read, embed and predict; None: this process does so.

    Raises:
        TraceError: a trace list cannot be read.
        ConfigError, ProfileError: the configuration of the fast model, or the profile, is refused.

    >>> from kernelpoint.config import parse_config
    >>> config = parse_config({"version": 1, "policy": "random"}, "keys")
    >>> program_for(config, HostInfo("mine", list_paths=("traces/kernelslist.g",)), print).has_traces
    True
    """
    program = with_predictor(program_of(host, config.seed), config.fast_model, host, log)
    return with_profile(program, config, log, pool)


def program_of(host: HostInfo, seed: int) -> Program:
    """Make the program (table of launches) of a run from the first of these that exists: its trace lists; the simulator's
    descriptions of launches; their number.

    Args:
        host: description of the simulator.
        seed: the user's seed.

    Raises:
        TraceError: a trace list cannot be read.
        ConfigError, HostError: the number of launches is unknown, or differs from that of the list.

    >>> program_of(HostInfo("mine", process_count=2, list_paths=(None, None), launch_counts=(3, 2)), seed=0).size
    5
    """
    counts, read = [], []
    for process, (path, count) in enumerate(zip(host.list_paths, host.launch_counts, strict=True)):
        if path is not None:
            from kernelpoint.traces import (
                read_trace_list,  # needs the native reader, which a run without lists does not
            )

            read.append(read_trace_list(path))
            if count and count != read[-1].size:
                raise HostError(
                    f"process {process}: the simulator counts {count} launches, its list {path} has {read[-1].size}; name the "
                    "list of this run"
                )
            count = read[-1].size
        elif count <= 0:
            raise ConfigError(
                f"process {process}: the simulator has to name a trace list or a number of launches, and names neither"
            )
        counts.append(count)
    if host.descriptions is not None and not read:
        described = replace(host.descriptions, counts=tuple(counts), processes=(), seed=seed)
        return replace(described, is_deterministic=host.is_deterministic)
    return Program(
        tuple(counts),
        seed,
        lists=tuple(path for path in host.list_paths if path is not None),
        traces=Texts.joined([listed.traces for listed in read]),
        copies=tuple(copies for listed in read for copies in listed.copies) if len(read) == len(counts) else (),
    )

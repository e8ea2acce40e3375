"""Simulators that KernelPoint supports, one package for each.

Other modules use a simulator's package only through its constant `SIMULATOR`, which the functions here find by name. The hook
of a patched simulator is in `NAME_patch`, the C++ parts in `plugin/simulators/NAME`. NAME is the text that the hook sets as
`Host.simulator`, and a Python identifier.

A hook alone gives runs with a bound. Every other part of a simulator is optional, and is used as soon as its file is there:

- a package here with a constant `SIMULATOR` of class `Simulator`: costs for forecasts, constant launch latency, the tracer,
  checks of admission, formats of its output; a `CoreModel`; conversion of traces; state between launches in its own form
  (`kept_state`, `replayed_bytes`); its counters in terms of the fast model's (`in_its_terms`, `in_proportion`, `not_restored`);
- the folder `trace` of its C++ parts: a subclass of `TraceFormat` (`plugin/native/trace/format.h`) and a constant of type
  `RegisteredTraceFormat`, for lists and traces in its own format;
- a file `configuration.cc` in `plugin/simulators/NAME`: a subclass of `Dialect` (`plugin/fast_model/configuration/dialect.h`)
  and a constant of type `RegisteredDialect`, so that the fast model predicts with the simulated GPU of its options;
- a subclass of `SmStateProvider` (`plugin/native/replay/sm_states.h`) in `plugin/simulators/NAME`, if its SMs keep state
  between launches that does not follow from the accesses in traces;
- a `patch.yaml` beside the hook, for `kernelpoint patch NAME CHECKOUT`.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from kernelpoint import _native
from kernelpoint.progress import Log

Options = Mapping[str, str]  # of a simulated GPU, as its simulator states them; see options_of
ConversionProgress = Callable[[str, int, int], None]  # stage, done, of how many
Counters = Mapping[str, np.ndarray]

# Columns of a `CoreModel`. Standard deviation of a launch's cycles over runs of the same list that differ in single cycles; its
# part in the standard deviation of the total (squares add up to the variance); its cycles in the one of these runs whose state
# replay begins it with.
SPREAD, OF_TOTAL, REPLAYED = "cycles_spread", "cycles_of_total", "cycles_replayed"
# Mispredicted branches of a launch: the mean of these runs, and those in the one whose state replay begins it with.
MISPREDICTIONS, REPLAYED_MISPREDICTIONS = "mispredictions", "mispredictions_replayed"


@dataclass(frozen=True)
class Costs:
    """Time that a simulator needs on one core, right within a factor of three.

    Attributes:
        instructions: count that the time is proportional to: `thread_instructions`, or `instructions` (of warps).
        instruction: seconds for each instruction.
        launch: seconds for each launch.
        latency: seconds to simulate the constant latency of a launch; only a full run simulates it.
    """

    instructions: str
    instruction: float
    launch: float = 0.0
    latency: float = 0.0

    def seconds(self, launches: int, instructions: float, is_full_run: bool = False) -> float:
        """Seconds to simulate `launches` launches with `instructions` instructions in total. `is_full_run`: launch latencies
        are simulated too.
        """
        each = self.launch + (self.latency if is_full_run else 0.0)
        return each * launches + self.instruction * instructions


@dataclass(frozen=True)
class Tracer:
    """Interface to the tracer of a simulator: the census (table of all launches) it writes, its input files, and its trace
    lists.

    Attributes:
        first: number that the tracer gives the first launch of a CUDA context.
        census: profile format of the tracer's census.
        tool: file name of the tracer's shared library.
        variables: environment variables in the usage line of the script.
        input_files: function of the tracer's numbers (int [N], ascending), the strata (int [N], group of each launch that is
            sampled separately, -1 for launches that are always simulated) and the launches to trace (bool [N]); returns name
            and text of each file that selects these launches for the tracer.
        script: lines of a shell script that trace the launches selected by `input_files` into folders `run-*/traces`.
        list_name: file name of the tracer's lists.
        list_head: lines of a list before its launches.
        list_entry: function of a trace; returns the path of a link to it in a joined list, and the line of the trace in the
            list.
        beside_list: names of further files in the folder of a list.
    """

    first: int
    census: Any
    tool: str
    variables: str
    input_files: Callable[[np.ndarray, np.ndarray, np.ndarray], dict[str, str]]
    script: str
    list_name: str
    list_head: tuple[str, ...] = ()
    list_entry: Callable[[Path], tuple[Path, str]] = lambda trace: (trace, trace.name)
    beside_list: tuple[str, ...] = ()


@dataclass(frozen=True)
class CoreModel:
    """Model of a simulator's cores, used together with the fast model (KernelPoint's analytic GPU model).

    Attributes:
        version: number raised whenever the predictions of the model change.
        replications: number of simulated runs of a list whose mean is the prediction.
        predict: function that returns the counters of every launch, and the states of the cores before launches, for `Replay`.
        state_events: counters of events that caches and branch predictors decide, such as misses, with the prediction of each.
            A launch with another number of events than predicted began with wrongly restored caches or predictors.
    """

    version: int
    replications: int
    predict: Callable[[Sequence[str], _native.fast_model.Configuration, Log], tuple[dict[str, np.ndarray], bytes]]
    state_events: Mapping[str, str]


@dataclass(frozen=True)
class Simulator:
    """Properties of one simulator that other modules ask for. The defaults are those of an unknown simulator.

    Attributes:
        name: name that the simulator states through the C interface; also the name of its package here.
        title: name of the simulator in messages.
        next_steps: commands to print after `kernelpoint file init`.
        configuration: stem of the file names of the simulator's configurations, if all have the same stem.
        costs: time of a simulation; None if unknown.
        tracer: the simulator's tracer; None if it has none.
        checks: input checks for lists and traces on which the simulator stops, or parts of which it ignores.
        profile_formats: formats of the simulator's output and of its tracer's table of launches.
        cores: model of the simulator's cores; None if the fast model predicts them.
        convert: function of (source, output, level of compression, progress) that converts traces of another simulator for this
            one; returns lines for the user.
        launch_latency: function of the simulator's options; returns the constant cost of each launch in cycles.
        architecture: function of the options; returns the architecture of the code to simulate (70: sm_70), 0 if not stated.
        clock: function of the options; returns the clock of the SMs in MHz, None if not stated.
        sms: function of the options; returns the number of SMs, 0 if not stated.
        in_its_terms: function(predictions, options, cycles), where `cycles` leave out the launch latency; returns the values of
            the simulator's counters that are computed from predictions or options.
        in_proportion: for each predicted counter, the simulator's counters that are proportional to it within each kernel.
        kept_state: function of the bytes with which the hook (the code that the patch adds to the simulator) describes the
            state that stays between launches; returns fields of HostInfo.
        replayed_bytes: function of the state to restore (a Replayed); returns the bytes for the hook.
        not_restored: relative standard deviation of a counter's total due to state that is not restored before a launch, by the
            fast model's or the simulator's name of the counter; infinite: no bound is stated.
    """

    name: str
    title: str = ""
    next_steps: tuple[str, ...] = ()
    configuration: str = ""
    costs: Costs | None = None
    tracer: Tracer | None = None
    checks: tuple[Any, ...] = ()
    profile_formats: tuple[Any, ...] = ()
    cores: CoreModel | None = None
    convert: Callable[[Path, Path, int, ConversionProgress], list[str]] | None = None
    launch_latency: Callable[[Options], int] = lambda options: 0
    architecture: Callable[[Options], int] = lambda options: 0
    clock: Callable[[Options], float | None] = lambda options: None
    sms: Callable[[Options], int] = lambda options: 0
    in_its_terms: Callable[[Counters, Options, np.ndarray], dict[str, np.ndarray]] = lambda *of: {}
    in_proportion: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    kept_state: Callable[[bytes], dict[str, Any]] = lambda stated: {}
    replayed_bytes: Callable[[Any], bytes] = lambda replayed: b""
    not_restored: Mapping[str, float] = field(default_factory=dict)

    def counters_of(self, predictions: Counters, options: str = "", latency: int = 0) -> dict[str, np.ndarray]:
        """Convert predictions of the fast model to the counter names and units of the simulator. Negative values become 0.

        Args:
            predictions: float64 [N] by counter of the fast model; one that the simulator does not have stays.
            options: options of the simulator, as it reports them.
            latency: constant latency of each launch, in cycles, which the predictions include.

        >>> x = {"cycles": np.array([70.0]), "l1_accesses": np.array([5.0]), "l1_global_writes": np.array([2.0])}
        >>> simulator("accelsim").counters_of(x)["l1_accesses"].tolist(), simulator("mine").counters_of(x) == x
        ([7.0], True)
        """
        active = np.maximum(predictions["cycles"] - latency, 0.0)
        after_latency = {"active_cycles": active} if latency else {}
        return {**predictions, **after_latency, **self.in_its_terms(predictions, options_of(options), active)}


DEFAULT = "accelsim"  # the simulator whose traces and costs stand for those of an unknown one


@cache
def simulators() -> tuple[Simulator, ...]:
    """All simulators that KernelPoint knows, sorted by name.

    >>> {"accelsim", "macsim"} <= {one.name for one in simulators()}
    True
    """
    return tuple(importlib.import_module(f"{__name__}.{package.name}").SIMULATOR for package in pkgutil.iter_modules(__path__))


@cache
def simulator(name: str) -> Simulator:
    """Properties of a simulator, looked up by name; an unknown name gives the defaults.

    >>> simulator("macsim").title, simulator("mine").title
    ('MacSim', '')
    """
    return next((each for each in simulators() if each.name == name), Simulator(name))


def simulator_of(paths: Sequence[str]) -> Simulator:
    """Simulator that reads traces in the format of the first path. Without paths, the default simulator.

    >>> simulator_of(["Kernel7/trace.txt"]).title, simulator_of([]).title
    ('MacSim', 'Accel-Sim')
    """
    return simulator(_native.trace_format(paths[0]) if len(paths) else DEFAULT)


def options_of(text: str) -> dict[str, str]:
    """Parse a simulator's configuration into values by option. Lines are `-key value`, `key value` or `key: value`.

    >>> options_of("-n_clusters 80\\nl2_size: 6291456")
    {'-n_clusters': '80', 'l2_size': '6291456'}
    """
    options = {}
    for line in text.splitlines():
        key, _, value = line.strip().partition(" ")
        if key:
            options[key.rstrip(":=")] = " ".join(value.split())
    return options


def whole(options: Options, key: str, otherwise: int = 0) -> int:
    """Integer value of the option `key`; text after it is ignored. `otherwise` if the option is missing.

    >>> whole({"-clusters": "80 # clusters"}, "-clusters"), whole({}, "-cores", 1)
    (80, 1)
    """
    word = options.get(key, "").lstrip("= ").split(" ")[0]
    return int(word) if word.isdecimal() else otherwise

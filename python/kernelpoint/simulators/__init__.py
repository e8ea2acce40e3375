"""Simulators that KernelPoint supports, one package for each.

A package's `SIMULATOR` is all that other modules know of it; they find it by its name here and import nothing else of the
package. The hook stands in `NAME_patch`, the C++ parts in `plugin/simulators/NAME`. NAME is
the text that the hook sets as `Host.simulator`, and a Python identifier.

A hook alone gives runs with a bound. Every other part of a simulator is optional, and is used as soon as its file is there:

- a package here with a constant `SIMULATOR` of class `Simulator`: costs for forecasts, constant launch latency, the tracer,
  checks of admission, formats of its output; a `CoreModel`; conversion of traces; state between launches in its own form
  (`kept_state`, `replayed_bytes`); its counters in terms of the fast model's (`in_its_terms`, `in_proportion`, `not_restored`);
- the folder `trace` of its C++ parts: a subclass of `TraceFormat` (`plugin/native/trace/format.h`) and a constant of type
  `RegisteredTraceFormat`, for lists and traces in its own format;
- a file `configuration.cc` there: a subclass of `Dialect` (`plugin/fast_model/configuration/dialect.h`) and a constant of type
  `RegisteredDialect`, so that the fast model predicts with the simulated GPU of its options;
- a subclass of `SmStateProvider` (`plugin/native/replay/sm_states.h`) there, if its SMs keep state between launches that the
  accesses of traces do not tell;
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


@dataclass(frozen=True)
class Costs:
    """Cost of a simulation: seconds on one core for a launch and for an instruction, right within a factor of three.

    Attributes:
        instructions: the count of traces that costs time: `thread_instructions`, or `instructions` of warps.
        instruction, launch: seconds for each of them, and for each launch.
        latency: for the constant latency of a launch, which only a full run simulates.
    """

    instructions: str
    instruction: float
    launch: float = 0.0
    latency: float = 0.0

    def seconds(self, launches: int, instructions: float, is_full_run: bool = False) -> float:
        """Seconds to simulate these launches with this total of instructions."""
        each = self.launch + (self.latency if is_full_run else 0.0)
        return each * launches + self.instruction * instructions


@dataclass(frozen=True)
class Tracer:
    """Interface to a simulator's tracer: the census it writes, the input it takes, and the lists it makes.

    Attributes:
        first: its number of a context's first launch.
        census: the profile format of its census.
        tool: file name of its shared object; variables: of the environment, in the usage line of the script.
        input_files: of strata (int [N], -1 for take-all units) and launches to trace (bool [N]), name and text of each file
            that tells the tracer which these are.
        script: lines of a shell script that trace the launches of these files into folders `run-*/traces`.
        list_name, list_head: file name of its trace lists, and their lines before the launches.
        list_entry: of a trace, what a joined list links to, and its line.
        beside_list: further files beside a list.
    """

    first: int
    census: Any
    tool: str
    variables: str
    input_files: Callable[[np.ndarray, np.ndarray], dict[str, str]]
    script: str
    list_name: str
    list_head: tuple[str, ...] = ()
    list_entry: Callable[[Path], tuple[Path, str]] = lambda trace: (trace, trace.name)
    beside_list: tuple[str, ...] = ()


@dataclass(frozen=True)
class CoreModel:
    """Model of a simulator's own cores, used together with the fast model.

    Attributes:
        version: raised with its numbers.
        replications: runs of a list that its predictions are means of.
        predict: counters of every launch, and the states that launches begin with, for `Replay`.
    """

    version: int
    replications: int
    predict: Callable[[Sequence[str], _native.fast_model.Configuration, Log], tuple[dict[str, np.ndarray], bytes]]


@dataclass(frozen=True)
class Simulator:
    """Everything that other modules ask about one simulator. The defaults are for an unknown simulator.

    Attributes:
        name: as it calls itself at the ABI (`Host.simulator`), and the name of its package.
        title: for users.
        next_steps: commands that follow `kernelpoint file init`.
        configuration: stem of the file names of its configurations, where all have the same.
        costs: of a simulation, None where not known.
        tracer: None where it has none.
        checks: of admission, for what it stops at or passes over.
        profile_formats: of its output and its tracer's census.
        cores: None where the fast model stands for them.
        convert: writes traces of another simulator in its layout (source, output, level of compression, progress); lines for
            the user.
        launch_latency: constant cycles of each launch, by its options.
        architecture: of the code that its options configure it for, 70 for sm_70; 0 where they do not tell it.
        clock: of the SMs in MHz, by its options; None where they do not tell it.
        sms: their number, by its options; 0 where they do not tell it.
        in_its_terms: its counters that are other sums of the fast model's or need its options, by predictions, options, and
            cycles without the constant latency.
        in_proportion: predicted counter -> its counters that are in proportion to it, kernel by kernel.
        kept_state: fields of HostInfo, from the bytes that its hook states of the state between launches (kp_kept.bytes).
        replayed_bytes: of a Replayed, for its hook (kp_replay.bytes).
        not_restored: relative standard deviation of totals of such counters for what replay does not restore, by either name;
            inf: no bound is stated.
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


DEFAULT = "accelsim"  # the simulator whose traces and costs stand for those of an unknown one


@cache
def simulators() -> tuple[Simulator, ...]:
    """List all known simulators by name.

    >>> {"accelsim", "macsim"} <= {one.name for one in simulators()}
    True
    """
    return tuple(
        importlib.import_module(f"{__name__}.{package.name}").SIMULATOR for package in pkgutil.iter_modules(__path__)
    )


@cache
def simulator(name: str) -> Simulator:
    """Look up a simulator by name; an unknown name gives the defaults.

    >>> simulator("macsim").title, simulator("mine").title
    ('MacSim', '')
    """
    return next((each for each in simulators() if each.name == name), Simulator(name))


def simulator_of(paths: Sequence[str]) -> Simulator:
    """Simulator whose trace format the first trace has; without traces that of `DEFAULT`.

    >>> simulator_of(["Kernel7/trace.txt"]).title, simulator_of([]).title
    ('MacSim', 'Accel-Sim')
    """
    return simulator(_native.trace_format(paths[0]) if len(paths) else DEFAULT)


def options_of(text: str) -> dict[str, str]:
    """Parse a simulator's configuration into option -> value: lines `-key value`, `key value` or `key: value`.

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
    """Integer value of an option; a comment may follow it.

    >>> whole({"-clusters": "80 # clusters"}, "-clusters"), whole({}, "-cores", 1)
    (80, 1)
    """
    word = options.get(key, "").lstrip("= ").split(" ")[0]
    return int(word) if word.isdecimal() else otherwise

"""Simulators that KernelPoint has parts for: one package each, with all that is known of that simulator.

`Simulator` is all that other modules know of one; they find it by its name here and import nothing else of its package. The
hook stands in `NAME_patch`, the C++ parts in `plugin/simulators/NAME`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from kernelpoint import _native
from kernelpoint.registry import Registry

Log = Callable[[str], None]
ConversionProgress = Callable[[str, int, int], None]  # stage, done, of how many


@dataclass(frozen=True)
class Costs:
    """Seconds of a simulation on one core, to a factor of three.

    Attributes:
        instructions: the counter whose amount costs time: `instructions` (of threads) or `warp_instructions`.
        instruction, launch: seconds for each of them, and for each launch.
        latency: for the constant latency of a launch, which only a full run simulates.
    """

    instructions: str
    instruction: float
    launch: float = 0.0
    latency: float = 0.0

    def seconds(self, launches: int, instructions: float, is_full_run: bool = False) -> float:
        """Seconds of launches with so many instructions in all."""
        each = self.launch + (self.latency if is_full_run else 0.0)
        return each * launches + self.instruction * instructions


class Tracer(ABC):
    """The tracer of a simulator: its census, its input, and the lists that it writes.

    Attributes:
        first: its number of a context's first launch.
        list_name: the file name of its trace lists.
        census: the profile format of its census.
        library, variables: of the call of a script that runs it.
    """

    first: ClassVar[int]
    list_name: ClassVar[str]
    census: ClassVar[Any]
    library: ClassVar[str]
    variables: ClassVar[str] = ""
    list_head: ClassVar[tuple[str, ...]] = ()  # lines before the launches
    beside_list: ClassVar[tuple[str, ...]] = ()  # further files that describe all launches

    @abstractmethod
    def input_files(self, strata: np.ndarray, traced: np.ndarray) -> dict[str, str]:
        """Name and text of each file that tells the tracer which launches to trace.

        Args:
            strata: int [N], -1 for take-all units; traced: bool [N].
        """

    @abstractmethod
    def script(self) -> str:
        """Lines of a shell script that trace the launches of these files into folders `run-*/traces`."""

    def entry(self, trace: Path) -> tuple[Path, str]:
        """What of a launch a joined list links to, and the list's line."""
        return trace, trace.name


class Simulator:
    """A simulator as other modules see it; these defaults are those of one that nothing is known of.

    Attributes:
        name: as it calls itself at the ABI.
        title: for users.
        next_steps: commands that follow `kernelpoint init`.
        configuration: stem of the file names of its configurations, where all have the same.
        costs: of a simulation, None where not known.
        tracer: None where it has none.
        sample_list: file name of samples that its tracer drew; None: none.
        is_converted_to: True if `convert` writes traces in its layout.
        has_validation_launches: True if a launch before the sampled one shows what replay misses.
        core_model_version: of a model of its cores, raised with its numbers; replications: runs of a list that its predictions
            are means of.
        in_proportion: predicted counter -> its counters that are in proportion to it, kernel by kernel.
        not_restored: relative standard deviation of totals of such counters for what replay does not restore, by either name.
        own_totals: the same of totals that are sums of the predictions, by the predicted counter.
    """

    name: ClassVar[str] = ""
    title: ClassVar[str] = ""
    next_steps: ClassVar[tuple[str, ...]] = ()
    configuration: ClassVar[str] = ""
    costs: ClassVar[Costs | None] = None
    tracer: ClassVar[Tracer | None] = None
    sample_list: ClassVar[str | None] = None
    is_converted_to: ClassVar[bool] = False
    has_validation_launches: ClassVar[bool] = True
    core_model_version: ClassVar[int] = 0
    replications: ClassVar[int] = 0
    in_proportion: ClassVar[Mapping[str, str]] = {}
    not_restored: ClassVar[Mapping[str, float]] = {}
    own_totals: ClassVar[Mapping[str, float]] = {}

    def profile_formats(self) -> tuple[Any, ...]:
        """Profile formats of its output and of its tracer's census."""
        return ()

    def read_sample(self, path: Path) -> Any:
        """The sample that its tracer drew, beside a list; None where there is none."""

    def launch_latency(self, options: str) -> int:
        """Constant cycles of each launch, by its options as it states them; 0: none."""
        return 0

    def clock(self, options: Mapping[str, str]) -> float | None:
        """Clock of the SMs in MHz, by its options; None where they do not tell it."""
        return None

    def sms(self, options: Mapping[str, str]) -> str:
        """SMs of the simulated GPU, by its options; empty where they do not tell it."""
        return ""

    def in_its_terms(
        self, counters: Mapping[str, np.ndarray], options: str, active: np.ndarray
    ) -> dict[str, np.ndarray]:
        """Its counters that are other sums of the fast model's, or need its options.

        Args:
            counters: predictions by the model's own names; active: cycles without the constant latency of a launch.
        """
        return {}

    def predict_cores(
        self, paths: Sequence[str], configuration: _native.fast_model.Configuration, log: Log
    ) -> tuple[dict[str, np.ndarray], bytes]:
        """Counters of every launch by the model of its cores, and the states that launches begin with, for `Replay`."""
        raise NotImplementedError

    def convert(self, source: Path, output: Path, level: int, progress: ConversionProgress) -> list[str]:
        """Write traces of another simulator in its layout; lines for the user."""
        raise NotImplementedError


SIMULATORS: Registry[Simulator] = Registry("simulator", Simulator, __name__, "kernelpoint.simulators")
DEFAULT = "accelsim"  # the simulator whose traces and costs stand for those of an unknown one


@cache
def simulator(name: str) -> Simulator:
    """The simulator of a name, or one that nothing is known of.

    >>> simulator("macsim").title, simulator("mine").title
    ('MacSim', '')
    """
    return SIMULATORS.load(name)() if name in SIMULATORS.names() else Simulator()


@cache
def simulators() -> tuple[Simulator, ...]:
    """All simulators by name.

    >>> [one.name for one in simulators()]
    ['accelsim', 'macsim']
    """
    return tuple(simulator(name) for name in SIMULATORS.names())


def simulator_of(paths: Sequence[str]) -> Simulator:
    """The simulator whose trace format the first trace has; without traces that of `DEFAULT`.

    >>> simulator_of(["Kernel7/trace.txt"]).title, simulator_of([]).title
    ('MacSim', 'Accel-Sim')
    """
    return simulator(_native.trace_format(paths[0]) if len(paths) else DEFAULT)

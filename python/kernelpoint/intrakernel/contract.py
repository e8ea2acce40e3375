"""The contract of a method that stops a launch inside: when to stop it, and its projected whole."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from kernelpoint.errors import ConfigError
from kernelpoint.intrakernel.progress_trace import ProgressTrace
from kernelpoint.registry import Registry

Model = Callable[[], ProgressTrace | None]


def no_model() -> None:
    """The fast model does not simulate this launch."""


@dataclass(frozen=True)
class Projection:
    """The whole launch, projected.

    Attributes:
        cycles, instructions: projected amounts.
        cycles_error, instructions_error: half-width of each at the confidence that the method was made with; nan where
            the method knows none.
        scale: n / k, by which every other counter is multiplied.

    >>> whole = Projection(cycles=9000.0, instructions=50_000.0, cycles_error=270.0, instructions_error=0.0, scale=2.5)
    >>> whole.cycles_error / whole.cycles
    0.03
    """

    cycles: float
    instructions: float
    cycles_error: float
    instructions_error: float
    scale: float


class StoppingRule(ABC):
    """One method of stopping and projecting, at work on one launch. To add a method, put a file in `methods`, or name a class
    of another package in the entry point group `kernelpoint.intrakernel`.

    Class attributes:
        description: its projections, in the plural, for messages.
        bounded: counters whose projections have a half-width; an error budget on any other is refused. Empty for a method
            that knows no error: a run with its projections states no bound.
        assumption: basis of its half-widths, for the summary.
        interval: cycles between two points of a trace.

    Args:
        confidence: of the half-widths that it states.
        allowance: relative half-width to wait for before a launch is stopped.
        model: gives the trajectory of the whole launch as the fast model simulates it; None where it does not. It is simulated
            when it is first asked for.

    A method that stops at half of the CTAs and takes the second half to be as the first:

    >>> class Half(StoppingRule):
    ...     description = "halves"
    ...     def __init__(self, confidence, allowance, model=no_model):
    ...         pass
    ...     def stops(self, trace):
    ...         return 2 * trace.completed >= trace.total
    ...     def project(self, trace, cycles, instructions):
    ...         return Projection(2 * cycles, 2 * instructions, float("nan"), float("nan"), 2.0)
    >>> half, trace = Half(0.95, 0.01), ProgressTrace()
    >>> trace.add(400, instructions=4000, issued=8, completed=6, total=12)
    >>> half.stops(trace), half.project(trace, 450.0, 4800.0).cycles
    (True, 900.0)
    """

    description: ClassVar[str]
    bounded: ClassVar[tuple[str, ...]] = ()
    assumption: ClassVar[str] = ""
    interval: ClassVar[int] = 200

    @abstractmethod
    def __init__(self, confidence: float, allowance: float, model: Model = no_model) -> None: ...

    @abstractmethod
    def stops(self, trace: ProgressTrace) -> bool:
        """True if the launch may be stopped now. Asked at every point of the trace, in order, and no more after a yes."""

    @abstractmethod
    def project(self, trace: ProgressTrace, cycles: float, instructions: float) -> Projection:
        """Project a launch that was stopped at the last point of its trace.

        Args:
            cycles, instructions: of the stopped launch, its resident CTAs drained.
        """


METHODS: Registry[StoppingRule] = Registry(
    "intra_kernel", StoppingRule, "kernelpoint.intrakernel.methods", "kernelpoint.intrakernel"
)


def load_method(name: str) -> type[StoppingRule]:
    """The method that the key `intra_kernel` names.

    Raises:
        ConfigError: no such method.

    >>> load_method("cta").bounded
    ('cycles', 'instructions')
    """
    if name not in METHODS.names():
        raise ConfigError(f"intra_kernel: got {name!r}; allowed: {', '.join(['off', *METHODS.names()])}")
    return METHODS.load(name)

"""What every projection is: when to stop a launch inside, and what the whole launch would have been."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from kernelpoint.errors import ConfigError
from kernelpoint.projection.curve import Curve

Method = Literal["pka", "cta"]
METHODS: tuple[Method, ...] = ("pka", "cta")


@dataclass(frozen=True)
class Projection:
    """The whole launch, projected.

    cycles, instructions: projected amounts. cycles_error, instructions_error: half-width of each at the confidence that the
    method was made with; nan where the method knows none. scale: n / k, by which every other counter is multiplied.
    """

    cycles: float
    instructions: float
    cycles_error: float
    instructions_error: float
    scale: float


class Stop(Protocol):
    """One method of stopping and projecting."""

    def stops(self, curve: Curve) -> bool:
        """Whether the launch may be stopped now. Asked at every point of the curve, in order, and no more after a yes."""

    def project(self, curve: Curve, cycles: float, instructions: float) -> Projection:
        """Project a launch that was stopped at the last point of its curve.

        Args:
            cycles, instructions: of the stopped launch, its resident CTAs drained.
        """


def load_method(name: str, confidence: float, allowance: float) -> Callable[[], Stop]:
    """A maker of stopping rules, one for each launch.

    Args:
        name: "pka" or "cta".
        confidence: of the errors that `cta` states.
        allowance: relative half-width that `cta` waits for before it stops a launch.

    Raises:
        ConfigError: no such method.
    """
    from kernelpoint.projection.cta import CtaProjection
    from kernelpoint.projection.pka import PrincipalKernelProjection

    if name == "pka":
        return PrincipalKernelProjection
    if name == "cta":
        return lambda: CtaProjection(confidence, allowance)
    raise ConfigError(f"inside_kernel: got {name!r}; allowed: off, {', '.join(METHODS)}")

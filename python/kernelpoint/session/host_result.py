"""Result of a launch as the host reports it, in Python's types; see kp_result in kernelpoint/abi.h."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from kernelpoint.errors import HostError
from kernelpoint.session.ratios import ACTIVE_CYCLES, check_counter, check_names


class HostResult(NamedTuple):
    """One launch simulated.

    Attributes:
        stopped: inside.
        names, values: of the host's further counters.

    >>> HostResult(False, 900, 50, ("reads",), (3.0,)).counters
    {'cycles': 900.0, 'instructions': 50.0, 'reads': 3.0}
    """

    stopped: bool
    cycles: int
    instructions: int
    names: tuple[str, ...] = ()
    values: tuple[float, ...] = ()

    @property
    def amounts(self) -> tuple[tuple[str, float], ...]:
        """Name and value of every counter, cycles and instructions first."""
        own = (("cycles", float(self.cycles)), ("instructions", float(self.instructions)))
        return (*own, *zip(self.names, self.values, strict=True))

    def with_active_cycles(self, latency: int) -> HostResult:
        """The same with the counter `active_cycles`: cycles without the constant latency of a launch, where there is one.

        >>> HostResult(False, 5900, 50).with_active_cycles(5000).counters
        {'cycles': 5900.0, 'instructions': 50.0, 'active_cycles': 900.0}
        """
        if not latency:
            return self
        active = float(max(self.cycles - latency, 0))
        return self._replace(names=(*self.names, ACTIVE_CYCLES), values=(*self.values, active))

    @property
    def counters(self) -> dict[str, float]:
        """The same by name, of a result that was checked."""
        return dict(self.amounts)

    def check(self, index: int, known: Sequence[str] | None, wanted: str) -> None:
        """Refuse counters that are named twice, differ from the `known` ones (of earlier results, or of the host's
        description), lack a part of the `wanted` one, or are no amounts.

        Args:
            index: of the launch, for the message.

        Raises:
            HostError: names the counter and the allowed ones.

        >>> HostResult(False, 900, 50, ("cycles",), (2.0,)).check(0, (), "cycles")
        Traceback (most recent call last):
        ...
        kernelpoint.errors.HostError: counters of launch 0: got ('cycles', 'instructions', 'cycles'); allowed: each name once
        """
        names, values = zip(*self.amounts, strict=True)
        if len(set(names)) != len(names):
            raise HostError(f"counters of launch {index}: got {names}; allowed: each name once")
        if not known:
            check_names(self.names)
        if known and names != tuple(known):
            raise HostError(f"counters of launch {index}: got {names}; allowed: {tuple(known)}")
        check_counter(wanted, names)
        if not all(math.isfinite(v) and v >= 0 for v in values):
            raise HostError(f"counters of launch {index}: got {values}; allowed: finite numbers from 0")

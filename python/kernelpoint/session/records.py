"""What a session writes of a decision, and what it accepts as a result."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from kernelpoint.errors import HostError
from kernelpoint.session.ratios import RATIOS

if TYPE_CHECKING:
    from kernelpoint.session.session import Session

SIMULATE, SKIP = 0, 1


def decision_line(session: Session, process: int, index: int, unit: int, action: int) -> str:
    """The journal's record of one decision, as text: it is written for every launch, and a dict would cost more."""
    stratum = int(session.design.strata[unit])
    if stratum >= 0:
        why = f'"u":{session.design.u[unit]:.17g},"threshold":{session.thresholds[stratum]:.17g}'
    else:
        why = f'"take_all":"{_why_take_all(session, unit)}"'
    word = "skip" if action == SKIP else "warm up" if session.ledger.is_warmup(unit) else "simulate"
    prediction = session.predictions.get(unit)
    expected = f',"prediction":{prediction:.6g}' if prediction is not None else ""
    if action == SIMULATE and session.design.x is not None:
        expected += f',"x":{session.design.x[unit]:.17g}'
    return (
        f'{{"type":"decision","process":{process},"launch":{index},"pass":{session.pass_index},"action":"{word}",'
        f'"stratum":{stratum},{why}{session.run.labels(unit)}{expected}}}'
    )


def check_result(session: Session, unit: int, index: int, stopped: bool, counters: Mapping[str, float]) -> None:
    """Refuse what cannot be the result of a launch in flight.

    Raises:
        HostError: the launch is not in flight, was stopped without having been told to, or its counters are others than
            before, do not hold what the error budget is about, or are no amounts.
    """
    if unit not in session.ledger.in_flight:
        raise HostError(f"a result for launch {index}, which is not in flight: each launch is counted once")
    if stopped and not session.inside.was_told_to_stop(unit):
        raise HostError(f"launch {index} was stopped inside although it was told to continue")
    check_counters(counters, session.engine.counters, session.run.budget.counter, index)


def check_counters(counters: Mapping[str, float], known: tuple[str, ...], wanted: str, index: int) -> None:
    """Refuse counters that are others than the `known` ones of earlier results, lack the `wanted` one, or are no amounts.

    Raises:
        HostError: says which, and what is allowed.
    """
    names = tuple(counters)
    if known and names != known:
        raise HostError(f"counters of launch {index}: got {names}; allowed: {known}")
    if not set(RATIOS.get(wanted, (wanted,))) <= set(names):
        raise HostError(f"error_budget.counter: got {wanted!r}; the host reports {(*names, *ratios_of(names))}")
    if not all(math.isfinite(v) and v >= 0 for v in counters.values()):
        raise HostError(f"counters of launch {index}: got {tuple(counters.values())}; allowed: finite numbers from 0")


def ratios_of(names: tuple[str, ...]) -> tuple[str, ...]:
    """The ratios that can be made from counters of these names.

    >>> ratios_of(("cycles", "instructions"))
    ('ipc',)
    """
    return tuple(name for name, pair in RATIOS.items() if set(pair) <= set(names))


def _why_take_all(session: Session, unit: int) -> str:
    return "by design" if session.design is session.run.design and unit not in session.run.plan.broken else "failure"

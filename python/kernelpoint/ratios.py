"""Reported ratios of totals, each with a bound, if a host reports both counters."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from kernelpoint.errors import HostError, did_you_mean, shown

LONGEST_NAME = 200

# name: counter above, counter below. All are ratios of totals over the workload, not means over launches.
RATIOS: dict[str, tuple[str, str]] = {
    "ipc": ("instructions", "cycles"),
    "l1_miss_rate": ("l1_misses", "l1_accesses"),
    "l2_miss_rate": ("l2_misses", "l2_accesses"),
    "energy_per_cycle": ("energy", "cycles"),
}

ACTIVE_CYCLES = "active_cycles"  # cycles of a launch without the simulator's constant launch latency

# Cycles of warps that wait, as Nsight Compute has them: of each reason (`memory_stalls` and others) per warp instruction.
STALLS, PER_INSTRUCTION = "_stalls", "warp_instructions"


def rates_of(names: Collection[str]) -> dict[str, tuple[str, str]]:
    """Rates that describe a kernel, as pairs of numerator and denominator by name: the ratios in RATIOS, and each `*_stalls`
    counter per warp instruction.

    Args:
        names: names of the available counters.

    >>> rates_of(("cycles", "instructions", "warp_instructions", "memory_stalls"))
    {'ipc': ('instructions', 'cycles'), 'memory_stalls': ('memory_stalls', 'warp_instructions')}
    """
    stalls = {name: (name, PER_INSTRUCTION) for name in names if name.endswith(STALLS)}
    return {name: pair for name, pair in {**RATIOS, **stalls}.items() if set(pair) <= set(names)}


def ratios_of(names: Sequence[str]) -> tuple[str, ...]:
    """Names of the ratios that can be computed from counters with these names.

    >>> ratios_of(("cycles", "instructions"))
    ('ipc',)
    """
    return tuple(name for name, pair in RATIOS.items() if set(pair) <= set(names))


def check_counter(wanted: str, names: Sequence[str]) -> None:
    """Raise an error if the counter of an error budget is neither a counter of the simulator nor a ratio of two.

    Args:
        wanted: counter or ratio of the error budget.
        names: counters that the simulator reports.

    Raises:
        HostError: the name is unknown; the message lists the counters that the simulator reports.

    >>> check_counter("cycle", ("cycles", "ctas"))
    Traceback (most recent call last):
    ...
    kernelpoint.errors.HostError: error_budget.counter: got 'cycle'; this host reports cycles, ctas (did you mean cycles?)
    """
    allowed = (*names, *ratios_of(names))
    if wanted not in allowed:
        raise HostError(
            f"error_budget.counter: got {wanted!r}; this host reports {', '.join(allowed)}{did_you_mean(wanted, allowed)}"
        )


def check_names(names: Sequence[str]) -> None:
    """Raise an error for counter names that a user could not type or read.

    Raises:
        HostError: a name is refused; the message has the first such name.

    >>> check_names(("reads", ""))
    Traceback (most recent call last):
    ...
    kernelpoint.errors.HostError: counter names: got ''; allowed: printable text of 1 to 200 characters
    """
    for name in names:
        if not 0 < len(name) <= LONGEST_NAME or not name.isprintable() or not name.strip():
            raise HostError(f"counter names: got {shown(name)}; allowed: printable text of 1 to {LONGEST_NAME} characters")

"""Forecast of a selection's cost before tracing: launches, disk, simulation time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelpoint.profiles import Profile
from kernelpoint.simulators import DEFAULT, simulator

# Model: over three traced PyTorch programs a warp executes 80 instructions in the mean (half of the launches: fewer than 60),
# and one takes 38 bytes of trace text.
INSTRUCTIONS_OF_WARP = 80.0
BYTES_OF_INSTRUCTION = 38.0
LANES = 32


@dataclass(frozen=True)
class Forecast:
    """Amounts of the launches to trace and of the launches of the first pass, beside those of all launches.

    launches, bytes (of trace text), seconds (in the default simulator on one core): (first pass, traced, all). guessed: share
    of the traced launches without an instruction count.

    Example:
        >>> forecast = Forecast((12, 20, 901), (1e6, 2e6, 4e9), (30.0, 50.0, 2600.0), guessed=0.0)
        >>> forecast.sentences()[0]
        '901 launches; 20 to trace (2.2 %); the first pass simulates at most 12 of them'
    """

    launches: tuple[int, int, int]
    bytes: tuple[float, float, float]
    seconds: tuple[float, float, float]
    guessed: float

    def sentences(self) -> list[str]:
        """Sentences for the user."""
        drawn, traced, all_ = self.launches
        lines = [
            f"{all_:,} launches; {traced:,} to trace ({_percent(traced / all_)}); the first pass simulates at most {drawn:,} "
            "of them",
            f"disk: about {_bytes(self.bytes[1])} of trace text, all launches {_bytes(self.bytes[2])}",
            f"simulation: at most about {_time(self.seconds[0])} for the first pass and {_time(self.seconds[1])} for "
            f"the traced launches, all launches {_time(self.seconds[2])} ({simulator(DEFAULT).title}, one core); less "
            "where the fast model can predict the traced launches",
        ]
        if self.guessed:
            lines.append(
                f"instructions are guessed from the number of warps for {100 * self.guessed:.0f} % of the launches to trace: "
                "take disk and time as orders of magnitude"
            )
        return lines


def forecast(census: Profile, drawn: np.ndarray, traced: np.ndarray) -> Forecast:
    """Cost of tracing and simulating.

    Args:
        census: all launches, with counted instructions of warps where they are known.
        drawn: int64 [n], launches of the first pass.
        traced: bool [N].

    >>> from kernelpoint.profiles import read_profile
    >>> import kernelpoint as kp
    >>> _ = kp.simulate("traces/kernelslist.g", "run.kpjournal", policy="all")
    >>> forecast(read_profile("run.kpjournal"), np.array([1, 4]), np.arange(6) % 2 == 1).launches
    (2, 3, 6)
    """
    threads = census.block.prod(axis=1)
    warps = census.grid.prod(axis=1).astype(float) * np.ceil(threads / LANES)
    told = census.counters.get("warp_instructions", np.full(census.size, np.nan))
    known = np.isfinite(told) & (told > 0)
    instructions = np.where(known, told, INSTRUCTIONS_OF_WARP * warps)
    of_threads = instructions * np.minimum(threads, LANES)
    parts = (drawn, np.flatnonzero(traced), np.arange(census.size))
    costs = simulator(DEFAULT).costs
    assert costs is not None, "those of the default simulator are known"
    seconds = [costs.seconds(len(part), float(of_threads[part].sum()), part is parts[-1]) for part in parts]
    return Forecast(
        (len(drawn), int(traced.sum()), census.size),
        tuple(float(instructions[part].sum() * BYTES_OF_INSTRUCTION) for part in parts),  # type: ignore[arg-type]
        tuple(seconds),  # type: ignore[arg-type]
        float((~known[traced]).mean()) if traced.any() else 0.0,
    )


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share < 0.095 else f"{100 * share:.0f} %"


def _bytes(amount: float) -> str:
    """An amount of bytes as people write it.

    >>> _bytes(2_050_000_000.0)
    '2 GB'
    """
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if amount >= size:
            return f"{amount / size:.2g} {unit}" if amount < 100 * size else f"{amount / size:,.0f} {unit}"
    return f"{amount / 1e3:,.0f} kB"


def _time(seconds: float) -> str:
    """A time as people write it.

    >>> _time(7300.0), _time(40.0)
    ('2 hours', '40 s')
    """
    for unit, size in (("days", 172_800.0), ("hours", 3_600.0), ("minutes", 120.0)):
        if seconds >= size:
            divisor = {"days": 86_400.0, "hours": 3_600.0, "minutes": 60.0}[unit]
            return f"{seconds / divisor:.2g} {unit}" if seconds < 100 * divisor else f"{seconds / divisor:,.0f} {unit}"
    return f"{seconds:.0f} s"

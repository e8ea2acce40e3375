"""Forecast of a selection's cost before tracing: launches, disk, simulation time."""

from __future__ import annotations

import numpy as np

from kernelpoint.pages.numbers import percent
from kernelpoint.program import Program
from kernelpoint.progress import duration
from kernelpoint.simulators import DEFAULT, simulator

# Model: over three traced PyTorch programs a warp executes 80 instructions in the mean (half of the launches: fewer than 60),
# and one takes 38 bytes of trace text.
INSTRUCTIONS_OF_WARP = 80.0
BYTES_OF_INSTRUCTION = 38.0
LANES = 32


def forecast(census: Program, drawn: np.ndarray, traced: np.ndarray) -> list[str]:
    """Sentences on the cost of tracing and simulating a selection, beside the cost of all launches.

    Times are those of the default simulator on one core.

    Args:
        census: all launches, with counted instructions of warps where they are known.
        drawn: int64 [n], launches of the first pass.
        traced: bool [N].

    >>> from kernelpoint.profiles import read_profile
    >>> import kernelpoint as kp
    >>> _ = kp.simulate("traces/kernelslist.g", "run.kpjournal", policy="all")
    >>> forecast(read_profile("run.kpjournal"), np.array([1, 4]), np.arange(6) % 2 == 1)[0]
    '6 launches; 3 to trace (50.0 %); the first pass simulates at most 2 of them'
    """
    threads = census.block.prod(axis=1)
    warps = census.grid.prod(axis=1).astype(float) * np.ceil(threads / LANES)
    told = census.counters.get("warp_instructions", np.full(census.size, np.nan))
    is_known = np.isfinite(told) & (told > 0)
    instructions = np.where(is_known, told, INSTRUCTIONS_OF_WARP * warps)
    of_threads = instructions * np.minimum(threads, LANES)
    chosen, every = np.flatnonzero(traced), np.arange(census.size)
    text, whole_text = (_bytes(float(instructions[part].sum()) * BYTES_OF_INSTRUCTION) for part in (chosen, every))
    costs = simulator(DEFAULT).costs
    assert costs is not None, "those of the default simulator are known"
    first, some, whole = (
        duration(costs.seconds(len(part), float(of_threads[part].sum()), part is every))
        for part in (drawn, chosen, every)
    )
    lines = [
        f"{census.size:,} launches; {len(chosen):,} to trace ({percent(len(chosen) / census.size)}); the first pass simulates "
        f"at most {len(drawn):,} of them",
        f"disk: about {text} of trace text, all launches {whole_text}",
        f"simulation: at most about {first} for the first pass and {some} for the traced launches, all launches {whole} "
        f"({simulator(DEFAULT).title}, one core); less where the fast model can predict the traced launches",
    ]
    guessed = float((~is_known[traced]).mean()) if traced.any() else 0.0
    if guessed:
        lines.append(
            f"instructions are guessed from the number of warps for {percent(guessed)} of the launches to trace: take disk and "
            "time as orders of magnitude"
        )
    return lines


def _bytes(amount: float) -> str:
    """Format a number of bytes with two digits.

    >>> _bytes(2_050_000_000.0), _bytes(900.0)
    ('2 GB', '0.9 kB')
    """
    unit, size = next(((u, s) for u, s in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)) if amount >= s), ("kB", 1e3))
    return f"{float(f'{amount / size:.2g}'):,.12g} {unit}"

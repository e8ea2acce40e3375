"""The passes of an engine over units whose results are all known beforehand: forecasts and checks of coverage.

A run goes through the same loop (session/loop.py), and so does a comparison of methods.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from kernelpoint.estimation.engine import Engine
from kernelpoint.estimation.look import Look
from kernelpoint.estimation.moments import Floats, Ints


def passes(
    engine: Engine,
    counters: Sequence[str],
    results: Floats,
    order: Callable[[Ints], Ints] = lambda units: units,
) -> Iterator[Look]:
    """Make pass after pass with known results until the budget is met or the sample cannot grow; yields each interim analysis.

    The engine grows when the next look is asked for, so that it may be examined between passes.

    Args:
        counters: names of the columns of `results`; results: float64 [N, counters], or [N] for one counter.
        order: of the results of a pass.

    Example:
        >>> import numpy as np
        >>> from kernelpoint.estimation import Design, Engine, ErrorBudget, passes
        >>> u, y = np.random.default_rng(0).random(1000), 100.0 + np.arange(1000) % 7
        >>> engine = Engine(Design(np.zeros(1000, np.int32), np.array([4]), u), ErrorBudget(0.01))
        >>> *_, look = passes(engine, ("cycles",), y)
        >>> look.met, look.estimates["cycles"].contains(y.sum()), len(engine.drawn()) < 100
        (True, True, True)
    """
    columns = results.reshape(len(results), len(counters))
    while True:
        units = order(engine.wanted())
        engine.record_many(units, counters, columns[units])
        look = engine.look()
        yield look
        if look.met or not engine.grow():
            return

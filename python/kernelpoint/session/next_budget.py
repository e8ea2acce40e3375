"""Cost of the next smaller error budget, at the end of a run that met its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from kernelpoint.estimation import Engine, SystematicError
from kernelpoint.planning.forecasting import BUDGETS, drawn_until_met
from kernelpoint.randomness import generator
from kernelpoint.ratios import RATIOS

if TYPE_CHECKING:
    from kernelpoint.session.sample import Sample
    from kernelpoint.session.setup import Setup

MOST_LAUNCHES = 100_000  # a longer list would keep the user waiting for this line


def next_budget(setup: Setup, sample: Sample, replay: Mapping[str, SystematicError]) -> str | None:
    """One line: the cost of the next smaller error budget of BUDGETS beyond a run that met its own; None if it is not
    known.

    The run with that budget is rehearsed over the same design. Results are those of this run, else its estimates, each with the
    relative residual of a launch of the sample, chosen at random (bootstrap). Validation launches are left out.

    Args:
        replay: the replay errors of the run.
    """
    design, budget, engine = setup.frame.design if setup.frame else None, setup.budget, sample.engine
    smaller = next((one for one in sorted(BUDGETS, reverse=True) if one < budget.relative_error), None)
    look, size = sample.look, len(sample.has_result)
    if design is None or smaller is None or look is None or not look.met or size > MOST_LAUNCHES:
        return None
    if budget.counter not in engine.counters or (errors := engine.unit_errors(budget.counter)) is None:
        return None
    values, drawn = sample.estimates(), np.flatnonzero(sample.has_result)
    of_budget = values[:, engine.counters.index(budget.counter)]
    residuals, expected = errors.residuals[drawn], of_budget[drawn] - errors.residuals[drawn]
    relative = np.divide(residuals, expected, out=np.zeros(len(drawn)), where=expected > 0.0)
    redrawn = generator(setup.config.seed, "rehearsal").choice(relative, size)
    of_budget *= np.where(sample.has_result, 1.0, 1.0 + redrawn)
    if not np.isfinite(values).all():
        return None
    rehearsed = Engine(design, replace(budget, relative_error=smaller), setup.estimate, RATIOS)
    rehearsed.set_systematic_errors(replay)
    more = drawn_until_met(rehearsed, values, engine.counters)
    lacking = more[~sample.has_result[more]]
    if not len(lacking):
        return f"+- {100 * smaller:g} % costs nothing more here"
    cost = values[lacking, engine.counters.index("cycles")].sum()
    return (
        f"+- {100 * smaller:g} % would take about {len(lacking):,} more launches of {cost:.2g} cycles, with `results_from: "
        f"{setup.config.journal}`"
    )

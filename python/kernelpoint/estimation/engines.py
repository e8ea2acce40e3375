"""The engine that goes with a design."""

from __future__ import annotations

from collections.abc import Mapping

from kernelpoint.estimation.assisted_design import AssistedDesign
from kernelpoint.estimation.assisted_engine import AssistedEngine
from kernelpoint.estimation.base import BaseEngine
from kernelpoint.estimation.design import Design, ErrorBudget, Method
from kernelpoint.estimation.engine import Engine
from kernelpoint.estimation.layer_engine import LayerEngine


def engine_for(
    design: Design,
    budget: ErrorBudget,
    estimate: Method = "regression",
    ratios: Mapping[str, tuple[str, str]] | None = None,
) -> BaseEngine:
    """LayerEngine for a design of layers, AssistedEngine for one with predictions, Engine for any other; arguments as theirs.

    >>> import numpy as np
    >>> design = Design(np.zeros(9, int), np.ones(1, int), np.linspace(0.0, 0.9, 9), predictions={"cycles": np.ones(9)})
    >>> type(engine_for(design, ErrorBudget(0.01))).__name__
    'AssistedEngine'
    """
    if design.layers is not None:
        return LayerEngine(design, budget, ratios)
    if design.predictions is None:
        return Engine(design, budget, estimate, ratios)
    assisted = AssistedDesign(design.predictions, design.strata, design.u, design.assume, lines=design.clusters)
    return AssistedEngine(assisted, budget, ratios)

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
    design: Design | AssistedDesign,
    budget: ErrorBudget,
    estimate: Method = "regression",
    ratios: Mapping[str, tuple[str, str]] | None = None,
) -> BaseEngine:
    """LayerEngine for a design of layers, AssistedEngine for one with predictions, Engine for any other; arguments as theirs.

    >>> import numpy as np
    >>> design = AssistedDesign({"cycles": np.ones(9)}, np.zeros(9, int), np.linspace(0.0, 0.9, 9))
    >>> type(engine_for(design, ErrorBudget(0.01))).__name__
    'AssistedEngine'
    """
    if isinstance(design, AssistedDesign):
        return AssistedEngine(design, budget, ratios)
    if design.layers is not None:
        return LayerEngine(design, budget, ratios)
    return Engine(design, budget, estimate, ratios)

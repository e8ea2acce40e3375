"""Strata, allocation, totals and bounds: survey sampling of any units. See README.md."""

from kernelpoint.estimation.assisted_design import AssistedDesign, Prediction
from kernelpoint.estimation.assisted_engine import AssistedEngine
from kernelpoint.estimation.base import BaseEngine
from kernelpoint.estimation.design import Assume, Bound, Design, ErrorBudget, Method, Scope
from kernelpoint.estimation.engine import Engine
from kernelpoint.estimation.engines import engine_for
from kernelpoint.estimation.first_phase import FirstPhase
from kernelpoint.estimation.layer_engine import LayerEngine
from kernelpoint.estimation.look import Estimate, Look
from kernelpoint.estimation.measurement_error import OWN_ERROR_SHARE
from kernelpoint.estimation.nested_totals import Tree, UnitErrors, subtotals
from kernelpoint.estimation.passes import passes
from kernelpoint.estimation.replay_error import (
    EXPECTED_CYCLES,
    Compared,
    dependence,
    enough_validations,
    first_validations,
    replay_error,
    trajectory_error,
)
from kernelpoint.estimation.stratify import strata_from
from kernelpoint.estimation.systematic_error import SystematicError
from kernelpoint.estimation.two_phase import TwoPhaseEngine
from kernelpoint.estimation.variance_shares import variance_shares
from kernelpoint.estimation.with_replacement import with_replacement_total

__all__ = [
    "EXPECTED_CYCLES",
    "OWN_ERROR_SHARE",
    "AssistedDesign",
    "AssistedEngine",
    "Assume",
    "BaseEngine",
    "Bound",
    "Compared",
    "Design",
    "Engine",
    "ErrorBudget",
    "Estimate",
    "FirstPhase",
    "LayerEngine",
    "Look",
    "Method",
    "Prediction",
    "Scope",
    "SystematicError",
    "Tree",
    "TwoPhaseEngine",
    "UnitErrors",
    "dependence",
    "engine_for",
    "enough_validations",
    "first_validations",
    "passes",
    "replay_error",
    "strata_from",
    "subtotals",
    "trajectory_error",
    "variance_shares",
    "with_replacement_total",
]

"""Strata, allocation, totals and bounds: survey sampling of any units. See README.md."""

from kernelpoint.estimation.balance import Balance, Terms
from kernelpoint.estimation.budget import Assume, Bound, ErrorBudget, Method, Scope
from kernelpoint.estimation.cells.design import AssistedDesign, Prediction
from kernelpoint.estimation.cells.sampling import CellSampling
from kernelpoint.estimation.engine import Engine
from kernelpoint.estimation.look import Estimate, Look
from kernelpoint.estimation.nested_totals import Tree, UnitErrors, subtotals
from kernelpoint.estimation.nonsampling.measurement_error import OWN_ERROR_SHARE
from kernelpoint.estimation.nonsampling.replay_error import (
    EXPECTED_CYCLES,
    Compared,
    dependence,
    enough_validations,
    first_validations,
    replay_error,
    trajectory_error,
)
from kernelpoint.estimation.nonsampling.systematic_error import SystematicError
from kernelpoint.estimation.passes import passes
from kernelpoint.estimation.proportional_total import proportional_total
from kernelpoint.estimation.sampling import Sampling
from kernelpoint.estimation.stages.first_phase import TwoPhaseDesign
from kernelpoint.estimation.stages.layers import LayerSampling
from kernelpoint.estimation.strata.design import Design
from kernelpoint.estimation.strata.sampling import StrataSampling
from kernelpoint.estimation.strata.stratify import stratify
from kernelpoint.estimation.variance_shares import variance_shares

__all__ = [
    "EXPECTED_CYCLES",
    "OWN_ERROR_SHARE",
    "AssistedDesign",
    "Assume",
    "Balance",
    "Bound",
    "CellSampling",
    "Compared",
    "Design",
    "Engine",
    "ErrorBudget",
    "Estimate",
    "LayerSampling",
    "Look",
    "Method",
    "Prediction",
    "Sampling",
    "Scope",
    "StrataSampling",
    "SystematicError",
    "Terms",
    "Tree",
    "TwoPhaseDesign",
    "UnitErrors",
    "dependence",
    "enough_validations",
    "first_validations",
    "passes",
    "proportional_total",
    "replay_error",
    "stratify",
    "subtotals",
    "trajectory_error",
    "variance_shares",
]

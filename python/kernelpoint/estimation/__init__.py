"""Strata, allocation, totals and bounds: survey sampling that knows nothing of what is simulated. See README.md."""

from kernelpoint.estimation.design import Bound, Design, ErrorBudget, Method, Scope
from kernelpoint.estimation.engine import Engine
from kernelpoint.estimation.look import Estimate, Look
from kernelpoint.estimation.stratify import neighbours, strata_from

__all__ = [
    "Bound",
    "Design",
    "Engine",
    "ErrorBudget",
    "Estimate",
    "Look",
    "Method",
    "Scope",
    "neighbours",
    "strata_from",
]

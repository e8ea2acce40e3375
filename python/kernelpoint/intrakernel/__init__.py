"""Kernel launches that are stopped inside and projected: principal kernel projection and a CTA-level bound."""

from kernelpoint.intrakernel.contract import METHODS, Projection, StoppingRule, load_method
from kernelpoint.intrakernel.progress_trace import ProgressTrace

__all__ = ["METHODS", "ProgressTrace", "Projection", "StoppingRule", "load_method"]

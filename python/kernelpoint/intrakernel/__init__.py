"""Kernel launches that are stopped inside and projected: principal kernel projection and a CTA-level bound."""

from kernelpoint.intrakernel.contract import METHODS as METHODS
from kernelpoint.intrakernel.contract import Projection as Projection
from kernelpoint.intrakernel.contract import StoppingRule as StoppingRule
from kernelpoint.intrakernel.contract import load_method as load_method
from kernelpoint.intrakernel.progress_trace import ProgressTrace as ProgressTrace

"""Projection of a kernel launch that was stopped inside: principal kernel projection and a CTA-level bound."""

from kernelpoint.projection.contract import METHODS, Method, Projection, Stop, load_method
from kernelpoint.projection.curve import Curve

__all__ = ["METHODS", "Curve", "Method", "Projection", "Stop", "load_method"]

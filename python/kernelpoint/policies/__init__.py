"""Sampling methods, one file each, behind one contract."""

from kernelpoint.policies.contract import Policy

__all__ = ["Policy"]

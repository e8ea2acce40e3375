"""Sampling methods, one file each, with one contract."""

from kernelpoint.policies.contract import Policy as Policy

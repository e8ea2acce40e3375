"""Moved to kernelpoint.workload; stands here until every import has followed."""

from kernelpoint.workload import Population

__all__ = ["Population"]

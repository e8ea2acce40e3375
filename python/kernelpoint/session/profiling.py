"""Moved to kernelpoint.workload; stands here until every import has followed."""

from kernelpoint.workload import with_profile

__all__ = ["with_profile"]

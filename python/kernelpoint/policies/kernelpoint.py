"""Moved to kernelpoint.policies.methods; stands here until every import has followed."""

from kernelpoint.policies.methods.kernelpoint import ALIKE, LATENCY, SMS

__all__ = ["ALIKE", "LATENCY", "SMS"]

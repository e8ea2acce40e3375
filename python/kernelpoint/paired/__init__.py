"""Comparing two configurations of a simulated GPU by two sampled runs that share list, plan and seed."""

from kernelpoint.paired.compare import compare_runs
from kernelpoint.paired.comparison import Comparison, CounterRow
from kernelpoint.paired.sample import DrawnSample, sample_of

__all__ = ["Comparison", "CounterRow", "DrawnSample", "compare_runs", "sample_of"]

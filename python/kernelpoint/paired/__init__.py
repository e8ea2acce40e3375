"""Comparing two configurations of a simulated GPU by two sampled runs that share list, plan and seed."""

from kernelpoint.paired.compare import Comparison, CounterRow, compare_runs
from kernelpoint.paired.sampled_run import SampledRun, load_sampled_run

__all__ = ["Comparison", "CounterRow", "SampledRun", "compare_runs", "load_sampled_run"]

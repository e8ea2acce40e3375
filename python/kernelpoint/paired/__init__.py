"""Comparing two configurations of a simulated GPU by two sampled runs that share list, plan and seed."""

from kernelpoint.paired.comparison import Comparison as Comparison
from kernelpoint.paired.comparison import CounterRow as CounterRow
from kernelpoint.paired.comparison import compare_runs as compare_runs
from kernelpoint.paired.comparison import row_apart as row_apart

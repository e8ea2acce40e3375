"""Ranges of launches: phases, layers, modules and operators, in which totals are stated beside that of the run.

A source says in which range each launch lies. Each is a file of `sources`, found by its registry.
"""

from kernelpoint.ranges.layers import layers_of
from kernelpoint.ranges.ranges import Ranges, matching
from kernelpoint.ranges.read import ranges_for, read_ranges
from kernelpoint.ranges.source import RangeSource

__all__ = ["RangeSource", "Ranges", "layers_of", "matching", "ranges_for", "read_ranges"]

"""Ranges of launches: phases, layers, modules and operators, in which totals are stated beside that of the run.

A source says in which range each launch lies. Each is a file of `sources`, found by its registry.
"""

from kernelpoint.ranges.ranges import Ranges as Ranges
from kernelpoint.ranges.ranges import RangeSource as RangeSource
from kernelpoint.ranges.ranges import matching as matching
from kernelpoint.ranges.ranges import ranges_for as ranges_for
from kernelpoint.ranges.ranges import read_ranges as read_ranges

"""Selection of the launches to trace, made before any is traced: the census, the selection, the tracers' input, its runs.

A selection is drawn from a launch census (names and shapes of all launches), with times of a profile where there is one.
It fixes the design of the sample; of every stratum the launches that are drawn first are traced, and spare ones for later
passes. A run over the traced launches estimates the total of all.
"""

from kernelpoint.selection.census import read_census as read_census
from kernelpoint.selection.census import tracers as tracers
from kernelpoint.selection.output import tracing_costs as tracing_costs
from kernelpoint.selection.output import write_output as write_output
from kernelpoint.selection.selection import Selection as Selection
from kernelpoint.selection.selection import draw as draw

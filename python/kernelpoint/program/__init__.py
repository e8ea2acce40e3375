"""The program: one type for the launches of a workload, whatever they were read from.

- Copies and memsets are no kernel launches: every reader leaves them out and counts them in `Program.left_out`.
- A reader records defects of its file in `Program.remarks`. `kernelpoint.admission` decides whether they refuse the run.
"""

from kernelpoint.program.builder import ProgramBuilder as ProgramBuilder
from kernelpoint.program.contents import COUNTS as COUNTS
from kernelpoint.program.contents import DEFECTS as DEFECTS
from kernelpoint.program.contents import RECORD as RECORD
from kernelpoint.program.contents import UNITS as UNITS
from kernelpoint.program.contents import Contents as Contents
from kernelpoint.program.described import descriptions as descriptions
from kernelpoint.program.program import NO_SHAPE as NO_SHAPE
from kernelpoint.program.program import UNKNOWN as UNKNOWN
from kernelpoint.program.program import Labels as Labels
from kernelpoint.program.program import Program as Program
from kernelpoint.program.program import Remark as Remark
from kernelpoint.program.program import fingerprint as fingerprint

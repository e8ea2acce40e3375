"""The program: one type for the launches of a workload, whatever they were read from.

- Copies and memsets are no kernel launches: every reader leaves them out and counts them in `Program.left_out`.
- Readers judge nothing: what a file shows of its own soundness is in `Program.remarks`, and `kernelpoint.admission` says what
  follows from it.
"""

from kernelpoint.program.builder import ProgramBuilder as ProgramBuilder
from kernelpoint.program.program import UNKNOWN as UNKNOWN
from kernelpoint.program.program import Program as Program
from kernelpoint.program.program import Remark as Remark

"""The phases of a run, behind one interface (phase.py)."""

from kernelpoint.session.phases.phase import BEFORE_FIRST, DONE, END_OF_LIST, OK, PENDING, SIMULATE, SKIP, Answer, Phase
from kernelpoint.session.phases.run_ups import RunUps
from kernelpoint.session.phases.sampling import Sampling
from kernelpoint.session.phases.screening import Screening

__all__ = [
    "BEFORE_FIRST",
    "DONE",
    "END_OF_LIST",
    "OK",
    "PENDING",
    "SIMULATE",
    "SKIP",
    "Answer",
    "Phase",
    "RunUps",
    "Sampling",
    "Screening",
]

"""Admission: what is read is checked once, in one place, before anything is computed from it.

Is this the whole program, is it one program, is it sound? Readers return content; a table of checks (`checks.py`) returns
findings. A finding has a kind, a place, a share of launches and of time, and says what to do. A small one is named. A large one
refuses the input, or takes the word "exact" and the bound away, by kind, unless the user accepts the kind.
"""

from kernelpoint.admission.admitted import admit as admit
from kernelpoint.admission.admitted import admitted_profile as admitted_profile
from kernelpoint.admission.admitted import admitted_rows as admitted_rows
from kernelpoint.admission.admitted import check_kinds as check_kinds
from kernelpoint.admission.admitted import withdrawing as withdrawing
from kernelpoint.admission.checks import findings_of as findings_of
from kernelpoint.admission.checks import in_graphs as in_graphs
from kernelpoint.admission.checks import kinds as kinds
from kernelpoint.admission.content import ListFiles as ListFiles
from kernelpoint.finding import Effect as Effect
from kernelpoint.finding import Finding as Finding

"""Admission: all checks of an input, made once, before anything is computed from it.

The checks ask whether an input is complete, is of one program, and is undamaged. Readers return content; the table of checks
(`checks.py`) returns findings. A finding has a kind, a place, a share of launches and of time, and a remedy. A finding with a
small share is only named. One with a large share refuses the input, or withdraws the bound and the word "exact", depending on
its kind, unless the user accepts that kind.
"""

from kernelpoint.admission.admitted import admit as admit
from kernelpoint.admission.admitted import admitted_profile as admitted_profile
from kernelpoint.admission.admitted import admitted_rows as admitted_rows
from kernelpoint.admission.admitted import check_kinds as check_kinds
from kernelpoint.admission.admitted import withdrawing as withdrawing
from kernelpoint.admission.checks import findings_of as findings_of
from kernelpoint.admission.checks import in_graphs as in_graphs
from kernelpoint.admission.checks import kinds as kinds
from kernelpoint.admission.list_files import ListFiles as ListFiles
from kernelpoint.finding import Effect as Effect
from kernelpoint.finding import Finding as Finding

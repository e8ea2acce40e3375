"""A method that stops launches inside, of another package: one module and one entry point, and the configuration names it."""

import pytest

from kernelpoint.errors import ConfigError
from kernelpoint.estimation import ErrorBudget
from kernelpoint.intrakernel import METHODS, load_method
from kernelpoint.journal import ResultRecord
from kernelpoint.session.intra_kernel import IntraKernel

HALF = '''
from kernelpoint.intrakernel import Projection, StoppingRule


class Half(StoppingRule):
    """Stops when half of the CTAs are issued; doubles what there is."""

    description = "projections of halves"
    bounded = ("cycles",)
    assumption = "both halves are alike"

    def __init__(self, confidence, allowance, model=None):
        self.allowance = allowance

    def stops(self, trace):
        return 2 * trace.issued >= trace.total

    def project(self, trace, cycles, instructions):
        return Projection(2 * cycles, 2 * instructions, self.allowance * cycles, float("nan"), 2.0)
'''


def test_a_method_of_another_package_stops_and_projects(install):
    with pytest.raises(ConfigError, match="intra_kernel: got 'half'; allowed: off, cta, pka"):
        load_method("half")
    install("halves", HALF, "kernelpoint.intrakernel", half="Half")
    assert METHODS.names() == ["cta", "half", "pka"]
    inside = IntraKernel("half", ErrorBudget(0.1))
    assert inside.follow(0) > 0
    assert not inside.stops(0, 100, 10, 40, 0, 100) and inside.stops(0, 200, 20, 50, 0, 100)
    taken, record = inside.result(0, True, {"cycles": 300.0, "instructions": 30.0, "l2_misses": 5.0})
    assert taken == {"cycles": 600.0, "instructions": 60.0, "l2_misses": 10.0}
    assert record.half_widths == {"cycles": pytest.approx(0.6 * 0.1 * 300.0), "instructions": None}
    inside.take(ResultRecord(0, 0, 0, taken, record))
    assert inside.assumptions() == ["1 simulated launches were stopped inside: both halves are alike"]

"""Content of a page, made by hand."""

import numpy as np

from kernelpoint.report.full_run import FullRun
from kernelpoint.report.view import Kernel, PassEnd, RunView

HOSTILE = "</script><b>[x]</b>"


def a_view(kernels: int = 20, launches: int = 5000) -> RunView:
    """A view with a hostile kernel name among many."""
    names = [HOSTILE, *(f"kernel_{k}<float, {k}>(float*)" for k in range(1, kernels))]
    of_launch = np.arange(launches) % kernels
    simulated = np.arange(launches) % 97 == 0
    share = 1 / kernels
    return RunView(
        launches=launches,
        counter="cycles",
        simulated=simulated,
        values=np.where(simulated, 5000.0, 0.0),
        kernels=[Kernel(name, launches // kernels, int(simulated.sum()) // kernels, 1e6, share) for name in names],
        kernel_of_launch=of_launch,
        looks=[PassEnd(30, 1e6, 4e4), PassEnd(60, 1.01e6, 9e3)],
        truth=FullRun(total=1.005e6, error=0.005, inside=True, non_sampling_error=0.0),
        stream_map=np.random.default_rng(0).normal(size=(kernels, 2)),
        stream_names=names,
        stream_launches=np.full(kernels, launches // kernels),
    )

"""Kernels that a profiler lost: calls that launch a kernel, in a file that does not have it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from kernelpoint.program import ProgramBuilder

CALL = re.compile(r"(?:cuda|cu|hip)\w*(?:Launch\w*Kernel|StreamBeginCapture)")


def remark_lost(builder: ProgramBuilder, calls: Mapping[str, tuple[int, int]]) -> None:
    """Store a remark about calls whose kernels a profile lacks.

    Model: no kernel is lost where the program captures CUDA graphs, because captured calls start none; and a function of which
    no call has a kernel is called inside another, which has them.

    Args:
        builder: builder of the profile.
        calls: for each function that matches `CALL`, the number of its calls, and of those without a kernel.

    >>> builder = ProgramBuilder("trace.json")
    >>> remark_lost(builder, {"cudaLaunchKernel": (20, 4), "cuLaunchKernel": (16, 16)})
    >>> builder.remarks["lost-kernels"].launches
    4
    """
    lost = {name: lacking for name, (made, lacking) in calls.items() if 0 < lacking < made}
    if lost and not any("StreamBeginCapture" in name for name in calls):
        builder.remark("lost-kernels", sum(lost.values()), place=f"calls of {', '.join(sorted(lost))}")

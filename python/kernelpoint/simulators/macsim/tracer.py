"""The tracer of MacSim: a sampled list of launches as its input. A launch is a folder that its `trace.txt` stands for."""

from __future__ import annotations

import numpy as np

from kernelpoint.simulators import Tracer
from kernelpoint.simulators.macsim.census import FIRST, MacSimCensus

SAMPLE = "sampled_kernel_info.txt"
SCRIPT = f"""mkdir -p "$here/run-1"
SAMPLED_KERNEL_INFO=$here/{SAMPLE} TRACE_PATH=$here/run-1/traces OVERWRITE=1 CUDA_INJECTION64_PATH=$TRACER "$@"
"""


def sampled_kernels(strata: np.ndarray, traced: np.ndarray, first: int) -> str:
    """Text of `SAMPLED_KERNEL_INFO` for MacSim's tracer: two lines, then for each stratum its size, traced launches and
    numbers.

    Take-all units, which stand for themselves only, come first, as one cluster of as many launches as are traced.

    Args:
        strata: int [N], -1 for take-all units.
        traced: bool [N].
        first: number of launch 0.

    >>> print(sampled_kernels(np.array([-1, 0, 0, 0]), np.array([True, True, False, True]), 0), end="")
    launches to trace, made by kernelpoint select
    cluster_size sample_size launches
    1 1 0
    3 2 1 3
    """
    lines = ["launches to trace, made by kernelpoint select", "cluster_size sample_size launches"]
    units = np.flatnonzero(traced)
    units = units[np.argsort(strata[units], kind="stable")]
    sizes = np.bincount(strata + 1)
    for group in np.split(units, np.flatnonzero(np.diff(strata[units])) + 1):
        if len(group):
            stratum = int(strata[group[0]])
            size = len(group) if stratum < 0 else int(sizes[stratum + 1])
            lines.append(" ".join(map(str, [size, len(group), *(group + first).tolist()])))
    return "\n".join(lines) + "\n"


TRACER = Tracer(
    first=FIRST,
    census=MacSimCensus,
    tool="main.so",
    variables="",
    input_files=lambda strata, traced: {SAMPLE: sampled_kernels(strata, traced, FIRST)},
    script=SCRIPT,
    list_name="kernel_config.txt",
    list_head=("nvbit", "14", "-1"),
    list_entry=lambda trace: (trace.parent, f"./{trace.parent.name}/trace.txt"),
    beside_list=("kernel_names.txt",),
)

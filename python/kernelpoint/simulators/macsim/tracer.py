"""The tracer of MacSim: a sampled list of launches as its input. A launch is a folder that its `trace.txt` stands for."""

from __future__ import annotations

import numpy as np

from kernelpoint.simulators import Tracer
from kernelpoint.simulators.macsim.census import FIRST, MacSimCensus

SAMPLE = "sampled_kernel_info.txt"
SCRIPT = f"""mkdir -p "$here/run-1"
SAMPLED_KERNEL_INFO=$here/{SAMPLE} TRACE_PATH=$here/run-1/traces OVERWRITE=1 CUDA_INJECTION64_PATH=$TRACER "$@"
"""


def sampled_kernels(numbers: np.ndarray, strata: np.ndarray, traced: np.ndarray) -> str:
    """Text of the file `SAMPLED_KERNEL_INFO`, which selects launches for MacSim's tracer.

    After two header lines there is one line for each stratum (group of launches sampled separately): number of its launches,
    number of traced ones, and their tracer's numbers. Launches that are always simulated come first, as one stratum.

    Args:
        numbers: int [N], the tracer's number of each launch.
        strata: int [N], stratum of each launch; -1 for launches that are always simulated.
        traced: bool [N], True for launches to trace.

    >>> print(sampled_kernels(np.arange(4), np.array([-1, 0, 0, 0]), np.array([True, True, False, True])), end="")
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
            lines.append(" ".join(map(str, [size, len(group), *numbers[group].tolist()])))
    return "\n".join(lines) + "\n"


TRACER = Tracer(
    first=FIRST,
    census=MacSimCensus,
    tool="main.so",
    variables="",
    input_files=lambda numbers, strata, traced: {SAMPLE: sampled_kernels(numbers, strata, traced)},
    script=SCRIPT,
    list_name="kernel_config.txt",
    list_head=("nvbit", "14", "-1"),
    list_entry=lambda trace: (trace.parent, f"./{trace.parent.name}/trace.txt"),
    beside_list=("kernel_names.txt",),
)

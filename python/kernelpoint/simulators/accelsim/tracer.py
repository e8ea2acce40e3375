"""The tracer of Accel-Sim: ranges of launches as its input. It keeps every copy from the host in each of its lists."""

from __future__ import annotations

import numpy as np

from kernelpoint.simulators import Tracer
from kernelpoint.simulators.accelsim.census import FIRST, AccelSimCensus

MOST_CHARACTERS = 120_000  # Linux takes 128 KiB as one environment string, name included
SCRIPT = """: "${POST:?the path of post-traces-processing}"
for range in "$here"/kernel_range-*.txt; do
    run=$here/run-$(basename "$range" .txt | sed 's/kernel_range-//')
    mkdir -p "$run"
    DYNAMIC_KERNEL_RANGE=$(cat "$range") USER_DEFINED_FOLDERS=1 TRACES_FOLDER=$run TERMINATE_UPON_LIMIT=${TERMINATE:-0} \\
        CUDA_INJECTION64_PATH=$TRACER "$@"
    "$POST" "$run/traces"
done
"""


def kernel_ranges(numbers: np.ndarray, most: int = MOST_CHARACTERS) -> list[str]:
    """Values of the environment variable `DYNAMIC_KERNEL_RANGE` of Accel-Sim's tracer, one for each tracer run. Consecutive
    launch numbers become one range.

    Args:
        numbers: int64 [n], ascending numbers of the launches to trace.
        most: largest number of characters of one value.

    >>> kernel_ranges(np.array([3, 5, 6, 7, 8, 11]))
    ['3 5-8 11']
    >>> kernel_ranges(np.array([3, 5, 6, 7, 8, 11]), most=5)
    ['3 5-8', '11']
    """
    if not len(numbers):
        return []
    cuts = np.flatnonzero(np.diff(numbers) > 1) + 1
    groups = np.split(numbers, cuts)
    items = [str(g[0]) if len(g) == 1 else f"{g[0]}-{g[-1]}" for g in groups]
    runs, length = [[items[0]]], len(items[0])
    for item in items[1:]:
        length += 1 + len(item)
        if length > most:
            runs.append([])
            length = len(item)
        runs[-1].append(item)
    return [" ".join(run) for run in runs]


def _input_files(numbers: np.ndarray, strata: np.ndarray, traced: np.ndarray) -> dict[str, str]:
    return {f"kernel_range-{run}.txt": text + "\n" for run, text in enumerate(kernel_ranges(numbers[traced]), 1)}


TRACER = Tracer(
    first=FIRST,
    census=AccelSimCensus,
    tool="tracer_tool.so",
    variables="POST=.../post-traces-processing ",
    input_files=_input_files,
    script=SCRIPT,
    list_name="kernelslist.g",
)

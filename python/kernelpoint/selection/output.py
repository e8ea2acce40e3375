"""The folder of a selection: its file, what the tracer takes, and a script that traces."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np

from kernelpoint import files
from kernelpoint.errors import ConfigError
from kernelpoint.selection.ranges import kernel_ranges, sampled_kernels
from kernelpoint.selection.selection import Selection

NAME = "selection.kpselect"
SCRIPT = "trace.sh"
SAMPLE = "sampled_kernel_info.txt"
JOINED = "traces"

_HEAD = """#!/bin/sh
# Traces the launches of {name}, written by `kernelpoint select`.
# usage: TRACER=.../{library} {variables}sh {script} PROGRAM ARGUMENT...
set -eu
here=$(cd "$(dirname "$0")" && pwd)
: "${{TRACER:?the path of the tracer, {library}}}"
[ $# -gt 0 ] || {{ echo "usage: TRACER=.../{library} {variables}sh $0 PROGRAM ARGUMENT..." >&2; exit 2; }}
"""
_ACCELSIM = """: "${POST:?the path of post-traces-processing}"
for range in "$here"/kernel_range-*.txt; do
    run=$here/run-$(basename "$range" .txt | sed 's/kernel_range-//')
    mkdir -p "$run"
    DYNAMIC_KERNEL_RANGE=$(cat "$range") USER_DEFINED_FOLDERS=1 TRACES_FOLDER=$run TERMINATE_UPON_LIMIT=${TERMINATE:-0} \\
        CUDA_INJECTION64_PATH=$TRACER "$@"
    "$POST" "$run/traces"
done
"""
_MACSIM = """mkdir -p "$here/run-1"
SAMPLED_KERNEL_INFO=$here/{sample} TRACE_PATH=$here/run-1/traces OVERWRITE=1 CUDA_INJECTION64_PATH=$TRACER "$@"
"""
_JOIN = """kernelpoint join {earlier}"$here"/run-*/traces -o "$here/{joined}"
echo "$here/{joined}: the traces; give the simulator their list, and its configuration selection: $here/{name}"
"""


def write_output(
    folder: Path, selection: Selection, numbers: np.ndarray | None = None, earlier: Path | None = None
) -> list[Path]:
    """Write a selection, the tracer's files and the script into a folder, which is made; the files.

    Args:
        numbers: the tracer's numbers to trace now; by default all of the selection.
        earlier: joined traces of a selection that this one continues.

    Raises:
        ConfigError: the folder cannot be made.

    >>> import numpy as np
    >>> from kernelpoint.estimation import Design
    >>> from kernelpoint.selection import read_census
    >>> row = "0,sum,8x1x1,64x1x1,32,0,7,0,5.5"
    >>> _ = Path("times.csv").write_text(f"idx,name,grid,block,regs,smem,stream,ts_us,dur_us\\n{row}\\n")
    >>> census = read_census(Path("times.csv"), "accelsim", lambda line: None)
    >>> design = Design(np.zeros(1, int), np.ones(1, int), np.full(1, 0.5))
    >>> files = write_output(Path("drawn"), Selection(census, design, {}, np.ones(1, bool), 1.0))
    >>> [file.name for file in files]
    ['selection.kpselect', 'kernel_range-1.txt', 'trace.sh']
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"--output: cannot make the folder {folder}: {error.strerror}") from None
    for old in folder.glob("kernel_range-*.txt"):
        old.unlink()
    numbers = selection.numbers if numbers is None else numbers
    written = [folder / NAME]
    selection.save(written[0])
    written += _tracer_files(folder, selection, numbers)
    script = folder / SCRIPT
    files.write_output(script, _script(selection, earlier))
    script.chmod(0o755)
    return [*written, script]


def _tracer_files(folder: Path, selection: Selection, numbers: np.ndarray) -> list[Path]:
    if selection.census.tracer == "macsim":
        now = np.zeros(selection.census.size, dtype=bool)
        now[numbers - selection.census.first] = True
        path = folder / SAMPLE
        files.write_output(path, sampled_kernels(np.asarray(selection.design.strata), now, selection.census.first))
        return [path]
    written = []
    for run, text in enumerate(kernel_ranges(numbers), 1):
        written.append(folder / f"kernel_range-{run}.txt")
        files.write_output(written[-1], text + "\n")
    return written


def _script(selection: Selection, earlier: Path | None) -> str:
    macsim = selection.census.tracer == "macsim"
    library, variables = ("main.so", "") if macsim else ("tracer_tool.so", "POST=.../post-traces-processing ")
    head = _HEAD.format(name=NAME, script=SCRIPT, library=library, variables=variables)
    before = f"{shlex.quote(str(earlier))} " if earlier else ""
    body = _MACSIM.format(sample=SAMPLE) if macsim else _ACCELSIM
    return head + body + _JOIN.format(earlier=before, joined=JOINED, name=NAME)

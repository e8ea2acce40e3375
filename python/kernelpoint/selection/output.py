"""The folder of a selection: its file, the tracer's input, and a script that traces."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from kernelpoint import files
from kernelpoint.errors import ConfigError
from kernelpoint.selection.selection import Selection

MOST_CHARACTERS = 120_000  # Linux takes 128 KiB as one environment string, name included


def kernel_ranges(numbers: np.ndarray, most: int = MOST_CHARACTERS) -> list[str]:
    """`DYNAMIC_KERNEL_RANGE` of each tracer run: neighbouring numbers merged, so many items that it stays short enough.

    Args:
        numbers: int64 [n], ascending, each once.
        most: characters of one value.

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


def sampled_kernels(strata: np.ndarray, traced: np.ndarray, first: int) -> str:
    """`SAMPLED_KERNEL_INFO` of MacSim's tracer: two lines of text, then for each stratum its size, traced launches, numbers.

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


NAME = "selection.kpselect"
SCRIPT = "trace.sh"
SAMPLE = "sampled_kernel_info.txt"
JOINED = "traces"
RANGES = "ranges.csv"  # of a selection by layer

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
_JOIN = """kernelpoint select --join {earlier}"$here"/run-*/traces -o "$here/{joined}"
echo "$here/{joined}: the traces; give the simulator their list, and its configuration selection: $here/{name}{ranges}"
"""


def write_output(
    folder: Path,
    selection: Selection,
    numbers: np.ndarray | None = None,
    earlier: Path | None = None,
    paths: Sequence[str] | None = None,
) -> list[Path]:
    """Write a selection, the tracer's files and the script into a folder, which is made; the files.

    Args:
        numbers: the tracer's numbers to trace now; by default all of the selection.
        earlier: joined traces of a selection that this one continues.
        paths: the range of each launch of the census.

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
    if paths is not None:
        written.append(folder / RANGES)
        lines = (f'{launch},"{path.replace(chr(34), chr(34) * 2)}"\n' for launch, path in enumerate(paths) if path)
        files.write_output(written[-1], "launch,path\n" + "".join(lines))
    script = folder / SCRIPT
    files.write_output(script, _script(selection, earlier, paths is not None))
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


def _script(selection: Selection, earlier: Path | None, has_ranges: bool) -> str:
    macsim = selection.census.tracer == "macsim"
    library, variables = ("main.so", "") if macsim else ("tracer_tool.so", "POST=.../post-traces-processing ")
    head = _HEAD.format(name=NAME, script=SCRIPT, library=library, variables=variables)
    before = f"{shlex.quote(str(earlier))} " if earlier else ""
    body = _MACSIM.format(sample=SAMPLE) if macsim else _ACCELSIM
    ranges = f" and ranges: $here/{RANGES}" if has_ranges else ""
    return head + body + _JOIN.format(earlier=before, joined=JOINED, name=NAME, ranges=ranges)

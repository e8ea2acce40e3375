"""Output of `kernelpoint select`: the selection, the tracer's input, a script that runs the tracer, and the cost of tracing."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np

from kernelpoint import files
from kernelpoint.pages.numbers import percent
from kernelpoint.program import Program
from kernelpoint.progress import duration
from kernelpoint.selection.census import tracers
from kernelpoint.selection.selection import Selection
from kernelpoint.simulators import DEFAULT, simulator

NAME = "selection.kpselect"
SCRIPT = "trace.sh"
JOINED = "traces"

_HEAD = """#!/bin/sh
# Traces the launches of {name}, written by `kernelpoint select`.
# usage: TRACER=.../{tool} {variables}sh {script} PROGRAM ARGUMENT...
set -eu
here=$(cd "$(dirname "$0")" && pwd)
: "${{TRACER:?the path of the tracer, {tool}}}"
[ $# -gt 0 ] || {{ echo "usage: TRACER=.../{tool} {variables}sh $0 PROGRAM ARGUMENT..." >&2; exit 2; }}
"""
_JOIN = """kernelpoint select --join {earlier}"$here"/run-*/traces -o "$here/{joined}"
"""
_EXPAND = """kernelpoint file expand "$here/{joined}" --selection "$here/{name}" -o "$here/program"
"""
_END = """echo "$here/{lists}: the {what}; give the simulator {whose} list, and its configuration selection: $here/{name}"
"""


def write_output(
    folder: Path,
    selection: Selection,
    numbers: np.ndarray | None = None,
    earlier: Path | None = None,
) -> list[Path]:
    """Write a selection (plan with the launches to trace), the tracer's input files, and a script that traces, into a new
    folder. Returns the files.

    Args:
        numbers: tracer's numbers of the launches to trace now; by default all launches of the selection.
        earlier: folder with joined traces that this selection adds launches to.

    Raises:
        OSError: the folder cannot be made.

    >>> import numpy as np
    >>> from kernelpoint.estimation import Design
    >>> from kernelpoint.selection import read_census
    >>> census = read_census(Path("times.csv"), "accelsim", lambda line: None)
    >>> design = Design(np.zeros(6, int), np.ones(1, int), np.full(6, 0.5))
    >>> files = write_output(Path("drawn"), Selection(census, design, {}, traced=np.ones(6, bool)))
    >>> [file.name for file in files]
    ['selection.kpselect', 'kernel_range-1.txt', 'trace.sh']
    """
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("kernel_range-*.txt"):
        old.unlink()
    selection.save(folder / NAME)
    tracer, counted = tracers()[selection.program.tracer], np.asarray(selection.program.numbers)
    distinct, last = np.unique(counted[::-1], return_index=True)
    strata, now = np.asarray(selection.strata.strata)[::-1][last], selection.numbers if numbers is None else numbers
    script = _HEAD.format(name=NAME, script=SCRIPT, tool=tracer.tool, variables=tracer.variables) + tracer.script
    script += _JOIN.format(earlier=f"{shlex.quote(str(earlier))} " if earlier else "", joined=JOINED)
    if np.array_equal(counted, np.arange(len(counted)) + tracer.first):
        script += _END.format(lists=JOINED, what="traces", whose="their", name=NAME)
    else:
        script += _EXPAND.format(joined=JOINED, name=NAME)
        script += _END.format(lists="program", what="program", whose="its", name=NAME)
    texts = {**tracer.input_files(distinct, strata, np.isin(distinct, now)), SCRIPT: script}
    for name, text in texts.items():
        files.write_output(folder / name, text)
    (folder / SCRIPT).chmod(0o755)
    return [folder / name for name in (NAME, *texts)]


# ---- costs -------------------------------------------------------------------------------------------------------------

# Model: over three traced PyTorch programs a warp executes 80 instructions in the mean (half of the launches: fewer than 60),
# and one takes 38 bytes of trace text.
INSTRUCTIONS_OF_WARP = 80.0
BYTES_OF_INSTRUCTION = 38.0
LANES = 32


def tracing_costs(census: Program, drawn: np.ndarray, traced: np.ndarray) -> list[str]:
    """Sentences on the cost of tracing and simulating selected launches, compared with that of all launches.

    Times are those of the default simulator on one core.

    Args:
        census: all launches, with their warp instructions if known.
        drawn: int64 [n], launches of the first pass (round of sampling).
        traced: bool [N], True for launches to trace.

    >>> from kernelpoint.profiles import read_profile
    >>> import kernelpoint as kp
    >>> _ = kp.simulate("traces/kernelslist.g", "run.kpjournal", policy="all")
    >>> tracing_costs(read_profile("run.kpjournal"), np.array([1, 4]), np.arange(6) % 2 == 1)[0]
    '6 launches; 3 to trace (50.0 %); the first pass simulates at most 2 of them'
    """
    threads = census.block.prod(axis=1)
    warps = census.grid.prod(axis=1).astype(float) * np.ceil(threads / LANES)
    counted = census.counters.get("warp_instructions", np.full(census.size, np.nan))
    is_known = np.isfinite(counted) & (counted > 0)
    instructions = np.where(is_known, counted, INSTRUCTIONS_OF_WARP * warps)
    of_threads = instructions * np.minimum(threads, LANES)
    chosen, every = np.flatnonzero(traced), np.arange(census.size)
    text, whole_text = (_bytes(float(instructions[part].sum()) * BYTES_OF_INSTRUCTION) for part in (chosen, every))
    costs = simulator(DEFAULT).costs
    assert costs is not None, "those of the default simulator are known"
    first, some, whole = (
        duration(costs.seconds(len(part), float(of_threads[part].sum()), part is every)) for part in (drawn, chosen, every)
    )
    lines = [
        f"{census.size:,} launches; {len(chosen):,} to trace ({percent(len(chosen) / census.size)}); the first pass simulates "
        f"at most {len(drawn):,} of them",
        f"disk: about {text} of trace text, all launches {whole_text}",
        f"simulation: at most about {first} for the first pass and {some} for the traced launches, all launches {whole} "
        f"({simulator(DEFAULT).title}, one core); less where the fast model can predict the traced launches",
    ]
    guessed = float((~is_known[traced]).mean()) if traced.any() else 0.0
    if guessed:
        lines.append(
            f"instructions are guessed from the number of warps for {percent(guessed)} of the launches to trace: take disk and "
            "time as orders of magnitude"
        )
    return lines


def _bytes(amount: float) -> str:
    """Format a number of bytes with two digits.

    >>> _bytes(2_050_000_000.0), _bytes(900.0)
    ('2 GB', '0.9 kB')
    """
    unit, size = next(((u, s) for u, s in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)) if amount >= s), ("kB", 1e3))
    return f"{float(f'{amount / size:.2g}'):,.12g} {unit}"

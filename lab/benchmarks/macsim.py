"""Sampled runs of a MacSim beside full runs: error, bound, every stated total, and what both cost.

    python lab/benchmarks/macsim.py OUT LIST=kernel_config.txt... --program NAME=macsim... --design NAME=params.in...

Each run has a folder in OUT, and is not made again where it is there. A row for each list, design, program, budget and seed.
The first program makes the full runs; further ones may restore state wrongly on purpose. The speedup in cycles is by all cycles
that the process simulated, between launches and for validation too; processor time includes planning. `Totals`: those that
MacSim's own files state, exact and within their half-width, of all; those outside stand below the table.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

from simulator_output import Row, of_macsim

from kernelpoint.journal import load_run

QUIET = ("--debug_print_trace=0", "--debug_trace_read=0")
HEAD = (
    "| List | Design | Program | Budget | Seed | Simulated | Error | Half-width | Inside | Verdict | Cycles | Seconds "
    "| Totals |"
)


def run(folder: Path, program: Path, params: Path, trace_list: Path, settings: str) -> dict[str, Any]:
    """Cycles that a run states and simulated, launches, verdict, and seconds of processor time."""
    result = folder / "result.json"
    if not result.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        shutil.copy(params, folder / "params.in")
        (folder / "trace_file_list").write_text(f"1\n{trace_list.resolve()}\n")
        (folder / "kernelpoint.yaml").write_text(f"version: 1\n{settings}\n")
        command = [str(program.resolve()), *QUIET, "--kernel_sampling=kernelpoint.yaml"]
        with open(folder / "out.txt", "w") as out:
            child = subprocess.Popen(command, cwd=folder, stdout=out, stderr=subprocess.STDOUT)
            _, status, usage = os.wait4(child.pid, 0)
        if status:
            raise SystemExit(f"{folder}: exit code {os.waitstatus_to_exitcode(status)}; see out.txt")
        result.write_text(json.dumps(_result(folder, usage.ru_utime + usage.ru_stime)))
    return json.loads(result.read_text())


def _result(folder: Path, seconds: float) -> dict[str, Any]:
    """Totals of a run, from its journal and MacSim's own files."""
    summary = load_run(folder / "run.kpjournal").summary
    ticks = re.search(r"^CYC_COUNT_TOT\w*\s+(\d+)", (folder / "general.stat.out.0").read_text(), re.MULTILINE)
    return {
        "estimate": summary.estimate,
        "half_width": summary.relative_half_width or 0.0,
        "scope": summary.bound_scope,
        "met": summary.met,
        "simulated": summary.simulated,
        "launches": summary.launches,
        "cycles": int(ticks.group(1)),
        "seconds": seconds,
    }


def line(names: tuple[str, ...], full: dict[str, Any], sampled: dict[str, Any], totals: list[Row]) -> str:
    """A sampled run beside its full run."""
    error = sampled["estimate"] / full["estimate"] - 1.0
    inside = abs(sampled["estimate"] - full["estimate"]) <= sampled["half_width"] * sampled["estimate"] + 0.5
    verdict = (
        "exact" if sampled["scope"] == "exact" else f"{sampled['scope']}, {'met' if sampled['met'] else 'not met'}"
    )
    exact, within = (sum(total.verdict == kind for total in totals) for kind in ("exact", "yes"))
    cells = (
        *names,
        f"{sampled['simulated']:,} of {sampled['launches']:,}",
        f"{100 * error:+.2f} %",
        f"{100 * sampled['half_width']:.2f} %",
        "yes" if inside else "**no**",
        verdict,
        f"{full['cycles'] / sampled['cycles']:.3g}x",
        f"{sampled['seconds']:.1f} ({full['seconds']:.1f})",
        "all" if sampled["scope"] == "exact" else f"{exact} + {within} of {len(totals)}",
    )
    return "| " + " | ".join(cells) + " |"


def named(text: str) -> tuple[str, Path]:
    """NAME=PATH."""
    name, _, path = text.partition("=")
    return name, Path(path)


def main() -> None:
    """Makes the runs that are missing and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("lists", type=named, nargs="+", metavar="LIST=PATH")
    parser.add_argument("--program", type=named, action="append", required=True, metavar="NAME=PATH")
    parser.add_argument("--design", type=named, action="append", required=True, metavar="NAME=PATH")
    parser.add_argument("--budgets", type=float, nargs="+", default=[0.05, 0.01])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    given = parser.parse_args()
    print(HEAD, "|" + "---|" * (HEAD.count("|") - 1), sep="\n")
    outside = []
    for name, trace_list in given.lists:
        for design, params in given.design:
            full_folder = given.out / f"{name}-{design}-full"
            full = run(full_folder, given.program[0][1], params, trace_list, "policy: all")
            for program, path in given.program:
                for budget in given.budgets:
                    for seed in given.seeds:
                        folder = given.out / f"{name}-{design}-{program}-{budget:g}-{seed}"
                        settings = f"policy: kernelpoint\nseed: {seed}\nerror_budget: {{relative_error: {budget}}}"
                        sampled = run(folder, path, params, trace_list, settings)
                        totals = list(of_macsim(full_folder, folder))
                        names = (name, design, program, f"{100 * budget:g} %", str(seed))
                        print(line(names, full, sampled, totals), flush=True)
                        if sampled["scope"] != "exact":
                            outside += [(*names, total) for total in totals if total.verdict not in ("exact", "yes")]
    for *names, total in outside:
        print(
            f"\n{', '.join(names)}: {total.name} {total.sampled:,.0f} +- {total.half_width:,.0f} for {total.full:,.0f}"
        )


if __name__ == "__main__":
    main()

"""Content of a page, made by hand."""

import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from kernelpoint.estimation import Estimate
from kernelpoint.journal import (
    JournalWriter,
    KernelRecord,
    LookRecord,
    Outcome,
    PassRecord,
    Run,
    RunRecord,
    SummaryRecord,
    load_run,
)
from kernelpoint.report.result import FullRun, Kernel, PassEnd, Result

VARIANTS = (
    KernelRecord("at::native::f<FillFunctor<long>>", 200, 2, {"cycles": Estimate.of(8e5)}),
    KernelRecord("at::native::f<mse>", 50, 1, {"cycles": Estimate.of(2e5)}),
)
TOTALS = {"cycles": Estimate.of(1e6, 2e4), "instructions": Estimate.exact(3e6), "l2_accesses": Estimate.exact(400.0)}
TOTALS["l2_misses"] = Estimate.of(100.0, 20.0)
TRUTH = {"cycles": Estimate.exact(1.01e6), "instructions": Estimate.exact(3e6)}
HOSTILE = "</script><b>[x]</b>"


@cache
def the_run() -> Run:
    """A run of which nothing differs from `a_run`."""
    return a_run(Path(tempfile.mkdtemp()) / "run.kpjournal")


def a_result(run: Run | None = None, kernels: int = 20, launches: int = 5000) -> Result:
    """A result with a hostile kernel name among many."""
    names = [HOSTILE, *(f"kernel_{k}<float, {k}>(float*)" for k in range(1, kernels))]
    of_launch = np.arange(launches) % kernels
    simulated = np.arange(launches) % 97 == 0
    share = 1 / kernels
    return Result(
        run=run or the_run(),
        counter="cycles",
        simulated=simulated,
        values=np.where(simulated, 5000.0, 0.0),
        kernels=[
            Kernel(
                name,
                launches // kernels,
                int(simulated.sum()) // kernels,
                TOTALS,
                share,
                truth=TRUTH,
                variants=VARIANTS,
            )
            for name in names
        ],
        kernel_of_launch=of_launch,
        passes=[PassEnd(0, 30, Estimate.of(1e6, 4e4)), PassEnd(1, 60, Estimate.of(1.01e6, 9e3))],
        truth=FullRun(total=1.005e6, error=0.005, inside=True, non_sampling_error=0.0),
        stream_map=np.random.default_rng(0).normal(size=(kernels, 2)),
        stream_names=names,
        stream_launches=np.full(kernels, launches // kernels),
    )


def a_run(path: Path, **summary: Any) -> Run:
    """A run of two launches, one of them skipped, whose journal is written by hand; fields of its summary that differ."""
    journal = JournalWriter(path, resume=False)
    config = {"policy": "kernelpoint", "seed": 0, "error_budget": {"counter": "cycles"}}
    run = RunRecord(kernelpoint="0", config=config, bound="sequential", estimate="mean", launches=[2], hashes={})
    run.command = ["sim", "-trace", "my traces/<list>.g"]
    total = Estimate("", 1.01e4, 1e2, 0.0099, 50.0, 9.0, 0.95, 5e3)
    journal.write(run)
    journal.write(PassRecord(0, 1, {}))
    journal.write(Outcome(0, 0, 0, {"cycles": 5000.0, "instructions": 10.0}))
    journal.write(LookRecord(0, True, {"cycles": total}, {}))
    journal.write(replace(a_summary(total), **summary))
    journal.close()
    return load_run(path)


def a_summary(total: Estimate) -> SummaryRecord:
    """The summary of a run of two launches, one of them skipped."""
    return SummaryRecord(
        policy="kernelpoint", seed=0, counter="cycles", confidence=0.95, relative_error=0.01, bound="sequential",
        launches=2, simulated=1, skipped=1, passes=1, projected=0, lost=[], never_completed=[], processes=[],
        estimate=1.01e4, half_width=1e2, relative_half_width=0.0099, met=True, bound_scope="sampling error",
        counters={"cycles": total}, ratios={}, cycle_speedup=2.0, one_per_stream_speedup=None,
        assumptions=[], warnings=[], degraded=[], not_covered=["an example"],
    )  # fmt: skip

"""Results of every launch in a simulator, and the predictions of a run there, as files that measure.py reads.

    python lab/coverage/recorded.py RESULTS.kpjournal SAMPLED.kpjournal FOLDER/NAME
    python lab/coverage/measure.py FOLDER --truth simulator --model predictions

RESULTS is the journal of a run that simulated every launch; SAMPLED that of a run with predictions over the same launches.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from kernelpoint.estimation import AssistedDesign
from kernelpoint.journal import load_run
from kernelpoint.pages.tables import write_table
from kernelpoint.planning.plan import Plan


def write(path: str, names: list[str | None], columns: Mapping[str, np.ndarray]) -> None:
    """A row for each launch: its index, no trace, its kernel, its counters."""
    rows = ((i, "", name, *row) for i, (name, *row) in enumerate(zip(names, *columns.values(), strict=True)))
    write_table(Path(path), ["launch_index", "trace", "kernel_name", *columns], rows)


def main() -> None:
    """Write both files."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    for name in ("results", "sampled", "output"):
        parser.add_argument(name)
    options = parser.parse_args()
    run, sampled = load_run(options.results), load_run(options.sampled)
    count = sum(run.header.launches)
    if len(run.results) < count:
        parser.error(f"{options.results}: {len(run.results):,} of {count:,} launches have a result; give a run of all")
    plan = Plan.load(str(sampled.header.plan), np.zeros(count))
    if not isinstance(plan.design, AssistedDesign):
        parser.error(f"{options.sampled}: the run has no predictions")
    names = [plan.name_of_unit(unit) for unit in range(count)]
    cycles = np.array([run.results[unit].counters["cycles"] for unit in range(count)])
    write(f"{options.output}-simulator.csv", names, {"cycles": cycles})
    write(f"{options.output}-predictions.csv", names, plan.design.means)


if __name__ == "__main__":
    main()

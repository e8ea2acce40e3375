"""Selective tracing on a list whose full run is known: launches and bytes to trace, then runs over the traced launches only.

    python lab/coverage/selected.py TRACES RESULTS --seeds 100 [--model PREDICTIONS] [--spoil noise]

TRACES is the whole list; its headers make the census. RESULTS holds the cycles of every launch in a full run
(`kernelpoint-host -results`). For each error budget and seed a selection is drawn from the census alone; a session over the
launches that it traces looks their cycles up. A run whose next pass wants more goes on with the selection that continues it
(`rounds`). Results are those of the full run, so replay error is outside. PREDICTIONS are the results of a full run with
another configuration, of which a session knows those of the traced launches; --spoil makes them wrong on purpose.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from runs import arguments, bias, largest, mean, percent, print_table, share, text_of

from kernelpoint.config import parse_config
from kernelpoint.estimation import ErrorBudget
from kernelpoint.journal import JournalWriter, SummaryRecord
from kernelpoint.planning.plan import Plan
from kernelpoint.policies.registry import load_policy
from kernelpoint.profiles import read_profile
from kernelpoint.program import Program, ProgramBuilder
from kernelpoint.repeated import Repeated
from kernelpoint.selection import Selection, draw
from kernelpoint.selection.output import NAME, write_output
from kernelpoint.selection.runs import NEXT, first_phase
from kernelpoint.session.session import Session
from kernelpoint.session.setup import Setup
from kernelpoint.traces import read_header, read_trace_list
from kernelpoint.workload.host_info import HostInfo

ROUNDS = 4  # tracing rounds at most


def census_of(paths: list[str]) -> Program:
    """The census of a list, from the headers of its traces."""
    builder = ProgramBuilder("census")
    for number, path in enumerate(paths):
        shape = read_header(path)
        builder.add(shape.kernel_name, shape.grid, shape.block, order=number)
    program = builder.finish()
    return replace(program, numbers=np.arange(program.size) + 1, tracer="accelsim")


def spoiled(model: Program, names: np.ndarray, how: str | None) -> Program:
    """Predictions that are wrong on purpose, by a random factor for each launch (`noise`) or for each kernel (`kernels`)."""
    if how is None:
        return model
    random, cycles = np.random.default_rng(0), model.counters["cycles"]
    wrong = {
        "noise": cycles * random.lognormal(0.0, 0.5, len(cycles)),
        "kernels": cycles * random.lognormal(0.0, 1.0, int(names.max()) + 1)[names],
    }[how]
    return replace(model, counters={"cycles": wrong})


def run(selection: Selection, path: Path, eps: float, seed: int, cycles: np.ndarray, model: Program | None) -> SummaryRecord:
    """Make a sampled run over the traced launches of a selection, with known cycles; `model`: predictions of all
    launches.
    """
    config = parse_config(
        {
            "version": 1,
            "policy": "kernelpoint",
            "selection": str(path),
            "seed": seed,
            "error_budget.relative_error": eps,
        }
    )
    policy, listed = load_policy(config.policy), np.flatnonzero(selection.traced)
    program = replace(selection.program, seed=seed, traces=("",) * len(cycles), listed=listed)
    predictions = None if model is None else Repeated(None, model.counters).take(listed)
    phase = None if predictions is None else first_phase(selection.design, config, program, predictions)
    plan = Plan(program, selection.design, selection.origin, first_phase=phase)
    setup = Setup(config, HostInfo("coverage"), policy, ErrorBudget(eps), policy.estimate, plan)
    session = Session(setup, JournalWriter(path.with_suffix(".kpjournal"), resume=False), lambda line: None)
    place = -1
    while True:
        status, place = session.next(0, place)
        if status:
            break
        session.on_launch(0, place)
        session.on_complete(0, place, False, int(cycles[listed[place]]), 1)
    session.finish()
    assert session.summary is not None
    return session.summary


def numbers_of(
    census: Program, cycles: np.ndarray, sizes: np.ndarray, model: Program | None, spare: float, eps: float, seed: int
) -> Sequence[float]:
    """Select launches to trace, make a sampled run of them, and return its numbers in the order of COLUMNS."""
    config = parse_config({"version": 1, "policy": "kernelpoint", "seed": seed, "error_budget.relative_error": eps}, "coverage")
    selection, _ = draw(census, config, spare, lambda line: None)
    first, met = selection.traced, []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_output(folder, selection)
        while True:
            summary = run(selection, folder / NAME, eps, seed, cycles, model)
            met.append(summary.met)
            if summary.met or len(met) == ROUNDS or not (folder / NEXT / NAME).exists():
                break
            folder /= NEXT
            selection = Selection.load(folder / NAME)
    assert summary.estimate is not None
    half = np.inf if summary.relative_half_width is None else summary.relative_half_width
    truth, last = float(cycles.sum()), selection.traced
    error = summary.estimate / truth - 1.0
    held = abs(summary.estimate - truth) <= half * summary.estimate * (1 + 1e-9)
    speedup = summary.cycle_speedup or np.nan
    traced = first.sum(), sizes[first].sum() / 1e6, met[0], last.sum(), sizes[last].sum() / 1e6, len(met)
    return *traced, summary.simulated, speedup, error, error, error, half, held


def root_mean_square(values: np.ndarray) -> str:
    return f"{100 * np.sqrt((values**2).mean()):.3f} %"


COLUMNS = {
    "first round": mean, "MB": mean, "met with it": share, "traced": mean, "MB traced": mean, "rounds": mean, "simulated": mean,
    "cycle speedup": mean, "error": bias, "root mean square": root_mean_square, "largest": largest, "half-width": percent,
    "held": share,
}  # fmt: skip


def main() -> None:
    """Print a row for each budget."""
    parser = arguments(__doc__, 100, "0.05,0.01,0.005")
    parser.add_argument("traces")
    parser.add_argument("results", type=Path)
    parser.add_argument("--spare", type=float, default=2.0)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--spoil", choices=("noise", "kernels"))
    options = parser.parse_args()
    paths = read_trace_list(options.traces).traces
    cycles = read_profile(options.results).counters["cycles"]
    sizes = np.array([Path(path).stat().st_size for path in paths], dtype=float)
    census = census_of(paths)
    model = spoiled(read_profile(options.model), census.names.numbers, options.spoil) if options.model else None
    print(f"{len(paths):,} launches, {sizes.sum() / 1e6:,.0f} MB, {cycles.sum():,.0f} cycles; spare {options.spare}")
    of_budget = partial(numbers_of, census, cycles, sizes, model, options.spare)
    rows = (((text_of(eps),), map(partial(of_budget, eps), range(options.seeds))) for eps in options.budgets)
    print_table(["budget"], COLUMNS, rows)


if __name__ == "__main__":
    main()

"""Selective tracing on a list whose full run is known: launches and bytes to trace, then runs over the traced launches only.

    python lab/coverage/selected.py TRACES RESULTS --seeds 100 [--model PREDICTIONS] [--spoil noise]

TRACES is the whole list; its headers make the census. RESULTS holds the cycles of every launch in a full run
(`kernelpoint-host -results`). For each error budget and seed a selection is drawn from the census alone; a session over the
launches that it traces looks their cycles up. A run whose next pass wants more goes on with the selection that continues it
(`rounds`). Results are those of the full run, so replay error is outside. PREDICTIONS are the results of a full run with
another configuration, of which a session knows those of the traced launches; --spoil makes them wrong on purpose.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from kernelpoint.config import parse_config
from kernelpoint.estimation import ErrorBudget
from kernelpoint.journal import JournalWriter, SummaryRecord
from kernelpoint.planning.selecting import NEXT, draw, first_phase
from kernelpoint.policies.registry import load_policy
from kernelpoint.profiles import Profile, read_profile
from kernelpoint.profiles.builder import ProfileBuilder
from kernelpoint.selection import Census, Selection
from kernelpoint.selection.output import NAME, write_output
from kernelpoint.session.session import Session
from kernelpoint.session.setup import Setup
from kernelpoint.traces import launch_paths, read_header
from kernelpoint.workload import Population
from kernelpoint.workload.frame import SamplingFrame
from kernelpoint.workload.host_info import HostInfo
from kernelpoint.workload.plan import Plan

BUDGETS = (0.05, 0.01, 0.005)
ROUNDS = 4  # tracing rounds at most


def census_of(paths: list[str]) -> Profile:
    """The census of a list, from the headers of its traces."""
    builder = ProfileBuilder("census")
    for number, path in enumerate(paths):
        shape = read_header(path).shape
        builder.add(shape.kernel_name, shape.grid, shape.block, order=number)
    return builder.finish()


def spoiled(model: Profile, names: np.ndarray, how: str | None) -> Profile:
    """A model made wrong: by a factor for each launch (`noise`) or each kernel (`kernels`), or equal for all (`constant`)."""
    if how is None:
        return model
    random, cycles = np.random.default_rng(0), model.counters["cycles"]
    wrong = {
        "noise": cycles * random.lognormal(0.0, 0.5, len(cycles)),
        "kernels": cycles * random.lognormal(0.0, 1.0, int(names.max()) + 1)[names],
        "constant": np.full(len(cycles), float(cycles.mean())),
    }[how]
    return replace(model, counters={"cycles": wrong})


def run(
    selection: Selection, path: Path, eps: float, seed: int, cycles: np.ndarray, model: Profile | None
) -> SummaryRecord:
    """A session over the traced launches of a selection; model: of all launches."""
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
    population = replace(
        Population((len(cycles),), seed, profile=selection.census.launches),
        paths=("",) * len(cycles),
        listed=listed,
    )
    phase = None if model is None else first_phase(selection.design, config, population, model.take(listed))
    frame = SamplingFrame.of(population, Plan(selection.design, selection.origin, first_phase=phase), None)
    setup = Setup(config, HostInfo("coverage"), policy, ErrorBudget(eps), policy.estimate_for(config), frame)
    session = Session(setup, JournalWriter(path.with_suffix(".kpjournal"), resume=False), lambda line: None)
    session.begin()
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


def one(
    census: Census,
    eps: float,
    seed: int,
    spare: float,
    cycles: np.ndarray,
    sizes: np.ndarray,
    model: Profile | None = None,
) -> dict[str, float]:
    """A selection and its run; launches, bytes, error, half-width, rounds."""
    config = parse_config(
        {"version": 1, "policy": "kernelpoint", "seed": seed, "error_budget.relative_error": eps}, "coverage"
    )
    selection, _ = draw(census, config, spare, lambda line: None)
    first = selection.traced
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_output(folder, selection)
        for rounds in range(1, ROUNDS + 1):
            summary = run(selection, folder / NAME, eps, seed, cycles, model)
            if rounds == 1:
                met_at_once = summary.met
            if summary.met or not (folder / NEXT / NAME).exists():
                break
            folder /= NEXT
            selection = Selection.load(folder / NAME)
    assert summary.estimate is not None
    half = np.inf if summary.relative_half_width is None else summary.relative_half_width
    truth = float(cycles.sum())
    return {
        "first": float(first.sum()),
        "first_bytes": float(sizes[first].sum()),
        "launches": float(selection.traced.sum()),
        "bytes": float(sizes[selection.traced].sum()),
        "simulated": float(summary.simulated),
        "speedup": float(summary.cycle_speedup or np.nan),
        "error": summary.estimate / truth - 1.0,
        "half": half,
        "held": float(abs(summary.estimate - truth) <= half * summary.estimate * (1 + 1e-9)),
        "rounds": float(rounds),
        "at once": float(met_at_once),
    }


def main() -> None:
    """Print one line per budget."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces")
    parser.add_argument("results", type=Path)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--spare", type=float, default=2.0)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--spoil", choices=("noise", "kernels", "constant"))
    parser.add_argument("--budgets", type=float, nargs="+", default=BUDGETS)
    arguments = parser.parse_args()
    paths = launch_paths(arguments.traces)
    cycles = read_profile(arguments.results).counters["cycles"]
    sizes = np.array([Path(path).stat().st_size for path in paths], dtype=float)
    census = Census(census_of(paths), "accelsim")
    model = read_profile(arguments.model) if arguments.model else None
    if model is not None:
        model = spoiled(model, census.launches.name_ids, arguments.spoil)
    print(f"{len(paths):,} launches, {sizes.sum() / 1e6:,.0f} MB, {cycles.sum():,.0f} cycles; spare {arguments.spare}")
    for eps in arguments.budgets:
        rows = [one(census, eps, seed, arguments.spare, cycles, sizes, model) for seed in range(arguments.seeds)]
        mean = {key: float(np.mean([row[key] for row in rows])) for key in rows[0]}
        errors = np.array([row["error"] for row in rows])
        print(
            f"{100 * eps:g} %: first round {mean['first']:,.0f} launches, {mean['first_bytes'] / 1e6:,.1f} MB; budget met with "
            f"it in {100 * mean['at once']:.0f} %; in all {mean['launches']:,.0f} launches, {mean['bytes'] / 1e6:,.1f} MB, "
            f"{mean['rounds']:.2f} rounds; simulated {mean['simulated']:,.0f}, cycle speedup {mean['speedup']:.1f}; error mean "
            f"{100 * errors.mean():+.3f} %, rms {100 * np.sqrt((errors**2).mean()):.3f} %, worst "
            f"{100 * np.abs(errors).max():.3f} %; half-width {100 * mean['half']:.3g} %; held {100 * mean['held']:.0f} %",
            flush=True,
        )


if __name__ == "__main__":
    main()

"""Small runs with records of every kind, each from its beginning, or from where its journal ends, to its summary."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from gpu import WORK, FakePool, Gpu
from samples import CENSUS
from simulated_host import ReplayingHost, SimulatedHost
from trace_writer import small_trace
from workloads import synthesised

from kernelpoint.config import load_config, parse_config
from kernelpoint.coordinator.simulations import Simulations
from kernelpoint.journal.records import plain
from kernelpoint.selection import Selection, draw, read_census
from kernelpoint.session.session import Session

BUDGET = "policy: random\nerror_budget.relative_error: 0.004\nseed: 5"
Step = Callable[[Session, int], None]


def _host(folder: Path, launches: int = 24) -> SimulatedHost:
    return SimulatedHost(5000 + np.random.default_rng(1).integers(0, 900, size=launches), folder)


def _end(host: SimulatedHost, session: Session, step: Step | None = None) -> dict[str, object]:
    try:
        return host.run(session, step)
    finally:
        session.journal.close()


def sample(folder: Path, journal: Path) -> dict[str, object]:
    """A sample in passes."""
    host = _host(folder)
    return _end(host, host.open(f"{BUDGET}\njournal: {journal}"))


def left_out(folder: Path, journal: Path) -> dict[str, object]:
    """A sample of which three launches can never be simulated; each process tries them anew, in a pass more or less."""
    host = _host(folder)

    def step(session: Session, index: int) -> None:
        if index in (3, 11, 17):
            session.on_abort(0, index, "no trace")
        else:
            host.complete(session, index)

    summary = _end(host, host.open(f"{BUDGET}\njournal: {journal}"), step)
    del summary["passes"]
    return summary | {"degraded": sorted(map(str, summary["degraded"]))}  # type: ignore[call-overload]


def validations(folder: Path, journal: Path) -> dict[str, object]:
    """A sample with validation launches before it: launches take 1 % more from replayed state."""
    host = ReplayingHost(_host(folder, 120), bias=0.01)
    session = host.open(f"policy: random\nerror_budget.relative_error: 0.02\njournal: {journal}")
    try:
        return host.run(session)
    finally:
        session.journal.close()


def draw_selection(folder: Path) -> tuple[Path, np.ndarray]:
    """A selection of a census, its launches traced below `folder`: the file, and the launches' indices."""
    drawn = folder / "selection.kpselect"
    listed = folder / "traced" / "kernelslist.g"
    if not drawn.exists():
        (folder / "stats_ctx_0x5d0").write_text(CENSUS)
        config = parse_config({"version": 1, "policy": "kernelpoint", "error_budget": {"relative_error": 0.05}})
        census = read_census(folder / "stats_ctx_0x5d0", None, lambda line: None)
        made, _ = draw(census, config, 2.0, lambda line: None)
        made.save(drawn)
        listed.parent.mkdir()
        names = [f"kernel-{number}-ctx_0x5d0.traceg" for number in made.numbers]
        for name, number in zip(names, made.numbers.tolist(), strict=True):
            fields = {"kernel name": f"_Z{(number - 1) % 4}k", "kernel id": str(number)}
            (listed.parent / name).write_text(small_trace("", "(8,1,1)", "(64,1,1)", **fields))
        listed.write_text("".join(f"{name}\n" for name in names))
    return drawn, Selection.load(drawn).numbers - 1


def selection(folder: Path, journal: Path) -> dict[str, object]:
    """A run over the launches that a selection traced."""
    drawn, launches = draw_selection(folder)
    listed = folder / "traced" / "kernelslist.g"
    host = _host(folder, 40)

    def step(session: Session, place: int) -> None:
        session.on_complete(0, place, False, int(host.cycles[launches[place]]), 10, ("ctas",), (8.0,))

    yaml = f"policy: kernelpoint\nselection: {drawn}\nerror_budget.relative_error: 0.05\nresume: auto\njournal: {journal}"
    session = host.open(yaml, launch_counts=[len(launches)], list_paths=[str(listed)])
    return _end(host, session, step)


def workers(folder: Path, journal: Path) -> dict[str, object]:
    """A run with validation launches and a sample, spread over two workers."""
    gpu = Gpu(folder, 80)
    session = gpu.open(f"policy: random\nerror_budget: {{relative_error: 0.002}}\njournal: {journal}")
    try:
        pool = FakePool(gpu, seed=3)
        session.drive(Simulations(pool, WORK, {}, session.planned, pool.said.append).outcome)
        return plain(session.summary)
    finally:
        session.journal.close()


def simulators(folder: Path, journal: Path) -> dict[str, object]:
    """A run with validation launches on Dask's workers, each with an embedded host; outcomes lie beside the journal."""
    from kernelpoint.cli.host import program
    from kernelpoint.coordinator.dask_pool import open_pool
    from kernelpoint.coordinator.run import Workers, ask, run_one, with_option

    traces, config = folder / "traces", folder / "kernelpoint.yaml"
    if not traces.exists():
        synthesised(traces, "iterative-solver", 40, rows=1024)
    config.write_text(
        f"version: 1\npolicy: random\nerror_budget: {{relative_error: 0.02}}\nfast_model: off\njournal: {journal}\n"
    )
    command, _ = with_option([str(program()), "-trace", str(traces / "kernelslist.g"), "-config", "v100"], str(config))
    hello, memory = ask(command, print_nothing)
    workers = Workers(lambda: open_pool(2, None, memory, print_nothing))
    try:
        return plain(run_one(command, load_config(config), hello, workers, print_nothing).summary)
    finally:
        workers.close()


def print_nothing(line: str) -> None:
    """Take a line of text for the user."""


RUNS = {
    "sample": sample,
    "left out": left_out,
    "validation": validations,
    "selection": selection,
    "workers": workers,
    "simulators": simulators,
}

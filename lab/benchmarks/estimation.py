"""Cost of planning and walking ten million launches: population, strata, engine, ledger; prints a table.

    python lab/benchmarks/estimation.py [--units 10000000] [--signatures 2000] [--predictions]

Launches come in a loop whose body changes now and then, as programs make them; their labels are the signature and its
neighbours; with --predictions the work of each is a prediction of its cycles. Times are compared with one np.lexsort of
(signature, u), the least that ordering the units can cost; memory is the peak of all arrays beyond those held before
(tracemalloc), and what is held while the run goes on, in bytes a launch.
"""

from __future__ import annotations

import argparse
import resource
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np

from kernelpoint.estimation import AssistedDesign, AssistedEngine, Design, Engine, ErrorBudget, strata_from
from kernelpoint.policies.labels import context
from kernelpoint.policies.methods.kernelpoint import MADE_FOR_PROFILES
from kernelpoint.randomness import generator
from kernelpoint.session.ledger import Ledger
from kernelpoint.workload import Population

BODY = 5000  # launches of a loop body


def measured(call: Callable[[], Any]) -> tuple[Any, float, int]:
    """Result, CPU seconds, peak bytes beyond what was held before."""
    tracemalloc.reset_peak()
    held = tracemalloc.get_traced_memory()[0]
    start = time.process_time()
    result = call()
    return result, time.process_time() - start, tracemalloc.get_traced_memory()[1] - held


def launches(units: int, signatures: int) -> tuple[np.ndarray, np.ndarray]:
    """Signature (int32 [N]) and work (float64 [N]) of every launch."""
    random = generator(0, "benchmark estimation")
    body = (signatures * random.random((4, BODY)) ** 2).astype(np.int32)
    which = random.integers(0, 4, units // BODY + 1)
    signature = body[which].ravel()[:units]
    return signature, random.lognormal(8.0, 1.0, signatures)[signature]


def walk(ledger: Ledger, wanted: np.ndarray) -> int:
    """One pass through the ledger, launch by launch, as a session does; the number of launches."""
    ledger.begin_pass(wanted)
    index, count = -1, 0
    while (found := ledger.next_after(0, index)) is not None:
        ledger.start(found)
        ledger.complete(found)
        index, count = found, count + 1
    return count


def held_bytes(design: Design, engine: Engine, ledger: Ledger) -> int:
    """Bytes of all arrays with one entry per launch that stay while a run goes on."""
    arrays = (design.strata, design.u, design.x, ledger._wanted)
    return engine.nbytes + sum(array.nbytes for array in arrays if array is not None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--units", type=int, default=10_000_000)
    parser.add_argument("--signatures", type=int, default=2000)
    parser.add_argument("--budget", type=float, default=0.001)
    parser.add_argument("--predictions", action="store_true")
    options = parser.parse_args()
    N, budget = options.units, ErrorBudget(options.budget)
    signature, x = launches(N, options.signatures)
    random = generator(0, "benchmark results")
    tracemalloc.start()
    rows = []

    def step(name: str, call: Callable[[], Any]) -> Any:
        result, seconds, peak = measured(call)
        rows.append((name, seconds, peak))
        return result

    population = Population((N,), 0)
    u = step("permanent random numbers", lambda: population.u)
    engine: Engine | AssistedEngine
    if options.predictions:
        engine = step("engine", lambda: AssistedEngine(AssistedDesign({"cycles": x}, signature, u), budget))
    else:
        labels = step("context", lambda: [signature, context(signature, population.offsets)])
        design = step(
            "strata, sizes",
            lambda: strata_from(labels, u, budget, spreads=(1.5, 0.05), x=x, design_error=MADE_FOR_PROFILES),
        )
        labels.clear()
        engine = step("engine", lambda: Engine(design, budget))
    ledger = Ledger(population.offsets)
    look = None
    while look is None or (not look.met and step("  growth", engine.grow)):
        wanted = step(f"pass {engine.looks}: wanted", engine.wanted)
        step(f"  walk {len(wanted)} launches", lambda wanted=wanted: walk(ledger, wanted))
        y = x[wanted] * random.lognormal(0.0, 0.05, len(wanted))
        step("  results", lambda w=wanted, v=y: engine.record_many(w, ("cycles",), v[:, None]))
        look = step("  look", engine.look)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    if isinstance(engine, Engine):
        H, held = len(engine.sizes), held_bytes(engine.design, engine, ledger) / N
        print(f"{N} launches, {H} strata; held while running: {held:.1f} bytes a launch")
    _, base, _ = measured(lambda: np.lexsort((u, signature)))
    report(rows, N, base, most, look)


def report(rows: list[tuple[str, float, int]], N: int, base: float, most: float, look: Any) -> None:
    """Print the table."""
    print(f"{'':<36}{'CPU s':>9}{'ratio':>8}{'peak bytes/launch':>19}")
    for name, seconds, peak in rows:
        print(f"{name:<36}{seconds:>9.2f}{seconds / base:>8.2f}{peak / N:>19.1f}")
    total = sum(row[1] for row in rows)
    width = 100 * look.estimates["cycles"].relative_half_width
    print(f"{'all together':<36}{total:>9.2f}{total / base:>8.2f}   one np.lexsort: {base:.2f} s; met +-{width:.2f} %")
    print(f"resident at most: {most:.2f} GiB, the launches' own labels and work included")


if __name__ == "__main__":
    main()

"""Time of a run on 1 to 1,000 workers, from measured times of its launches: makespan against the ideal.

    python lab/benchmarks/many_workers.py RUN.kpjournal [--start SECONDS] [--copies N]

Simulates what coordinator and engine do: passes one after another, in each the batches of coordinator/batches.py, of which
a free worker takes the next; every worker starts its simulator once (--start). The time of a launch is taken as proportional
to its cycles, 1 s a million at --rate 1; --copies repeats the launches of each pass, as a larger workload would.

Columns: makespan; share of the ideal (all work, divided by the workers); the bound that no division can beat (in each pass the
longest launch, or work / workers); makespan over that bound.
"""

from __future__ import annotations

import argparse
import heapq
from pathlib import Path

from kernelpoint.coordinator.batches import batches
from kernelpoint.journal import DecisionRecord, ResultRecord, load_run
from kernelpoint.session.worker_protocol import Planned, Step

WORKERS = (1, 2, 4, 16, 64, 250, 1000)


def passes_of(path: Path, copies: int) -> list[list[tuple[float, float]]]:
    """Of each pass (expected cost, seconds) of its launches; the expected cost is the journal's prediction or covariate."""
    run = load_run(path)
    expected = {d.launch: d.prediction or d.x or 1.0 for d in run.of(DecisionRecord)}
    found: dict[int, list[tuple[float, float]]] = {}
    for result in run.of(ResultRecord):
        seconds = result.counters["cycles"] / 1e6
        found.setdefault(result.pass_index, []).extend([(expected[result.launch], seconds)] * copies)
    return [found[index] for index in sorted(found)]


def makespan(launches: list[tuple[float, float]], workers: int, free: list[float]) -> list[float]:
    """Times at which each worker is free after a pass, given those before it; all wait for the pass's end."""
    planned = [Planned((Step(0, i, 1),), cost) for i, (cost, _) in enumerate(launches)]
    begin = max(free) if max(free) > min(free) else free[0]
    heap = [begin] * workers if begin else list(free)
    heapq.heapify(heap)
    for batch in batches(planned, workers):
        at = heapq.heappop(heap)
        heapq.heappush(heap, at + sum(launches[chain[0].launch][1] for chain in batch.chains))
    return heap


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("journal", type=Path)
    parser.add_argument("--start", type=float, default=1.0, help="seconds that a simulator takes to start")
    parser.add_argument("--rate", type=float, default=1.0, help="million cycles a second")
    parser.add_argument("--copies", type=int, default=1)
    options = parser.parse_args()
    passes = passes_of(options.journal, options.copies)
    passes = [[(cost, seconds / options.rate) for cost, seconds in launches] for launches in passes]
    work = sum(seconds for launches in passes for _, seconds in launches)
    longest = max(seconds for launches in passes for _, seconds in launches)
    count = sum(map(len, passes))
    print(
        f"{count:,} launches in {len(passes)} passes, {work:,.1f} s of simulation, the longest launch {longest:,.2f} s"
    )
    print(f"{'workers':>8} {'makespan':>10} {'of ideal':>9} {'bound':>10} {'over it':>8}")
    for workers in WORKERS:
        free = [options.start] * workers
        for launches in passes:
            free = makespan(launches, workers, free)
        bound = sum(max(max(s for _, s in part), sum(s for _, s in part) / workers) for part in passes)
        took = max(free)
        print(f"{workers:>8} {took:>10,.2f} {100 * work / workers / took:>8.1f}% {bound:>10,.2f} {took / bound:>7.2f}x")


if __name__ == "__main__":
    main()

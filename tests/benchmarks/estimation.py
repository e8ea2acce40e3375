"""Cost of the engine for ten million units: set-up, one pass, one look, one growth step; prints a table.

    python tests/benchmarks/estimation.py [--units 10000000] [--strata 50000]

Times are compared with one np.lexsort of the same keys, the least that ordering the units can cost; memory is the peak of
all arrays beyond the inputs (tracemalloc), in bytes a unit.
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np

from kernelpoint.estimation import Design, Engine, ErrorBudget
from kernelpoint.randomness import generator, permanent_random_numbers


def measured(call: Callable[[], Any]) -> tuple[Any, float, int]:
    """Result, seconds, peak bytes beyond what was held before."""
    tracemalloc.reset_peak()
    held = tracemalloc.get_traced_memory()[0]
    start = time.perf_counter()
    result = call()
    return result, time.perf_counter() - start, tracemalloc.get_traced_memory()[1] - held


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--units", type=int, default=10_000_000)
    parser.add_argument("--strata", type=int, default=50_000)
    options = parser.parse_args()
    random = generator(0, "benchmark estimation")
    N, H = options.units, options.strata
    strata = (H * random.random(N) ** 2).astype(np.int32)
    mean = random.lognormal(8.0, 1.0, H)
    x = mean[strata]
    u = permanent_random_numbers(0, 0, N)
    tracemalloc.start()
    design = Design(strata, np.full(H, 2), u, x=x)
    _, base, base_bytes = measured(lambda: np.lexsort((u, strata)))
    rows = [("np.lexsort of (stratum, u) alone", base, base_bytes)]
    engine, seconds, peak = measured(lambda: Engine(design, ErrorBudget(0.001)))
    rows.append(("set-up", seconds, peak))
    wanted, seconds, peak = measured(engine.wanted)
    rows.append((f"wanted ({len(wanted)} units)", seconds, peak))
    y = x[wanted] * random.lognormal(0.0, 0.05, len(wanted))
    _, seconds, peak = measured(lambda: engine.record_many(wanted, ("cycles",), y[:, None]))
    rows.append(("record", seconds, peak))
    look, seconds, peak = measured(engine.look)
    rows.append((f"look (+-{100 * look.estimates['cycles'].relative_half_width:.2f}%)", seconds, peak))
    _, seconds, peak = measured(engine.grow)
    rows.append(("grow", seconds, peak))
    print(f"{N} units, {H} strata; held by the engine: {engine.nbytes / N:.1f} bytes a unit")
    print(f"{'':<36}{'seconds':>9}{'ratio':>8}{'peak bytes/unit':>17}")
    for name, seconds, peak in rows:
        print(f"{name:<36}{seconds:>9.2f}{seconds / base:>8.2f}{peak / N:>17.1f}")
    total = sum(row[1] for row in rows[1:])
    print(f"{'engine, all together':<36}{total:>9.2f}{total / base:>8.2f}{max(row[2] for row in rows[1:]) / N:>17.1f}")


if __name__ == "__main__":
    main()

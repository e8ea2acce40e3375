"""Coverage and cycle speedup of every method on every population: prints a table and writes JSON.

    python tests/coverage/measure.py --seeds 500 --out coverage.json
    python tests/coverage/measure.py --populations drift,simpletorch --seeds 50

`within` is the share of runs with an error inside the budget, `cover` the share whose stated interval held the truth at
the stop, `ever` the share with a wrong statement at any look, `t SE` what the interval without the floor of bounds.stated
would have held. Alternatives run at the budget, and again with epsilon tightened until `within` reaches the confidence.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from multiprocessing import Pool
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from methods import ALTERNATIVES, Outcome, kernelpoint
from populations import PROFILES, SYNTHETIC, TUNING, population, shared_data

from kernelpoint.estimation import ErrorBudget

TIGHTER = (1.0, 0.6, 0.35, 0.2, 0.1, 0.05)


def summary(outcomes: list[Outcome], eps: float) -> dict[str, float]:
    error, half, simulated, computed = (
        np.array([getattr(o, name) for o in outcomes]) for name in ("error", "half_width", "simulated", "computed")
    )
    slack = 1e-9
    return {
        "within": float((np.abs(error) <= eps + slack).mean()),
        "cover": float((np.abs(error) <= half + slack).mean()),
        "ever_wrong": float(np.mean([o.ever_wrong for o in outcomes])),
        "computed_cover": float((np.abs(error) <= computed + slack).mean()),
        "rms_error": float(np.sqrt((error**2).mean())),
        "speedup": float(1.0 / simulated.mean()),
        "passes": float(np.mean([o.passes for o in outcomes])),
    }


def measure(task: tuple[str, float, float, int, bool]) -> dict:
    """All methods on one population at one budget."""
    name, eps, confidence, seeds, alternatives = task
    people, budget = population(name), ErrorBudget(eps, confidence)
    first = np.unique(people.signature, return_index=True)[1]
    row: dict = {
        "population": name,
        "budget": eps,
        "confidence": confidence,
        "seeds": seeds,
        "tuning": name in TUNING,
        "floor": float(people.y.sum() / people.y[first].sum()),
        "kernelpoint": summary([kernelpoint(people, budget, seed) for seed in range(seeds)], eps),
    }
    for method, draw in ALTERNATIVES.items() if alternatives else ():
        few = min(seeds, 60)
        row[method] = summary([draw(people, budget, seed, eps) for seed in range(few)], eps)
        for factor in TIGHTER:
            tight = (
                row[method]
                if factor == 1.0
                else summary([draw(people, budget, s, eps * factor) for s in range(few)], eps)
            )
            if tight["within"] >= confidence:
                break
        row[method + " tightened"] = {**tight, "epsilon": eps * factor}
    return row


def means(values: list[float]) -> dict[str, float]:
    """Harmonic, geometric and arithmetic mean: a single average over workloads hides which one it is."""
    return {
        "harmonic": statistics.harmonic_mean(values),
        "geometric": statistics.geometric_mean(values),
        "arithmetic": statistics.fmean(values),
    }


def line(row: dict) -> str:
    k = row["kernelpoint"]
    parts = [
        f"{row['population']:<20}{'*' if row['tuning'] else ' '} {100 * row['budget']:4.1f}% {100 * row['confidence']:.0f}%",
        f"floor {row['floor']:6.1f} | within {k['within']:.3f} cover {k['cover']:.3f} ever wrong {k['ever_wrong']:.3f}",
        f"t SE {k['computed_cover']:.3f} rms {100 * k['rms_error']:.3f}% x{k['speedup']:.2f} in {k['passes']:.1f} passes |",
    ]
    for method in ALTERNATIVES:
        if method in row:
            a, t = row[method], row[method + " tightened"]
            parts.append(f"{method} {a['within']:.2f} x{a['speedup']:.1f} -> {t['within']:.2f} x{t['speedup']:.1f};")
    return " ".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    real = (*PROFILES, "simpletorch") if shared_data() else ()
    parser.add_argument("--populations", default=",".join((*real, *SYNTHETIC)))
    parser.add_argument("--budgets", default="0.05,0.01,0.005")
    parser.add_argument("--confidences", default="0.95,0.9")
    parser.add_argument("--seeds", type=int, default=500)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=60.0, help="stop starting new rows after this long")
    parser.add_argument("--no-alternatives", action="store_true")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    tasks = [
        (name, float(eps), float(confidence), options.seeds, not options.no_alternatives)
        for confidence in options.confidences.split(",")
        for eps in options.budgets.split(",")
        for name in options.populations.split(",")
    ]
    rows, start = [], time.monotonic()
    with Pool(options.processes) as pool:
        for row in pool.imap_unordered(measure, tasks):
            rows.append(row)
            print(line(row), flush=True)
            if options.out:
                options.out.write_text(json.dumps(rows, indent=1))
            if time.monotonic() - start > 60.0 * options.minutes:
                print(f"stopped after {options.minutes} minutes: {len(rows)} of {len(tasks)} rows")
                break
    judged = [row for row in rows if not row["tuning"]]
    for eps, confidence in sorted({(row["budget"], row["confidence"]) for row in judged}):
        part = [row for row in judged if (row["budget"], row["confidence"]) == (eps, confidence)]
        for method in ("kernelpoint", *(m + " tightened" for m in ALTERNATIVES)):
            if all(method in row for row in part):
                mean = means([row[method]["speedup"] for row in part])
                print(f"{eps:g} {confidence:g} {method:<22}", " ".join(f"{k} {v:.2f}" for k, v in mean.items()))


if __name__ == "__main__":
    main()

"""One representative layer times N beside a run with a bound, on profiles of real GPUs.

    python lab/coverage/layers.py [--seeds 20] [--budget 0.01] [POPULATION or profile ...]

Of each population: launches, equal layers (copies of repeats), the share of the time that lies in them; the error of the total
from the middle layer, and from the worst choice of a copy, with the speedup; the same for the ranges that are layers: median
and largest error of a layer's own total where the middle one stands for all. Then the shipped policy: root mean square and
largest error of the run over seeds, its speedup, median and largest error of layers, and their median half-width.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from populations import PROFILES, population

from kernelpoint.policies.methods.layer import equal_layers
from kernelpoint.ranges import Ranges
from ranges import known_ranges, run

HEAD = (
    "| Population | launches | in layers | layer x N: middle, worst | speedup | a layer: median, worst "
    "| bounded: rms, worst | speedup | a layer: median, worst | its half-width |"
)
PLACES = np.linspace(0.0, 1.0, 21)


def one_layer(keys: np.ndarray, y: np.ndarray, place: float) -> tuple[np.ndarray, float]:
    """Estimate of every launch from one copy of each layer, and the time simulated."""
    positions = equal_layers(keys)
    estimates = y.copy()
    order = np.argsort(positions, kind="stable")
    inside = order[positions[order] >= 0]
    _, start, copies = np.unique(positions[inside], return_index=True, return_counts=True)
    chosen = inside[start + np.round(place * (copies - 1)).astype(int)]
    estimates[inside] = np.repeat(y[chosen], copies)
    return estimates, float(y[positions < 0].sum() + y[chosen].sum())


def innermost(ranges: Ranges) -> np.ndarray:
    """Numbers of the ranges without others inside."""
    return np.setdiff1d(np.arange(1, len(ranges.paths)), ranges.parents)


def line(name: str, budget: float, seeds: int) -> str:
    """A row of the table."""
    made = population(name)
    y, keys = made.y, made.signature if made.known.profile is None else made.known.profile.signature
    ranges = known_ranges(name, keys)
    truths, layers = ranges.sums(y), innermost(ranges)
    layers = layers[truths[layers] > 0.0]  # a clock of whole microseconds reads 0
    runs = [one_layer(keys, y, place) for place in PLACES]
    errors = np.array([estimates.sum() / y.sum() - 1.0 for estimates, _ in runs])
    middle, spent = runs[len(PLACES) // 2]
    own = np.abs(ranges.sums(middle)[layers] / truths[layers] - 1.0)
    bounded, ours, halves, speedups = [], [], [], []
    for seed in range(seeds):
        estimates, half, speedup, _ = run(name, budget, seed)
        bounded.append(estimates[0] / truths[0] - 1.0)
        ours.append(np.abs(estimates[layers] / truths[layers] - 1.0))
        halves.append(np.median(half[layers] / np.maximum(np.abs(estimates[layers]), 1e-300)))
        speedups.append(speedup)
    inside = y[equal_layers(keys) >= 0].sum() / y.sum()
    rms, worst = np.sqrt(np.mean(np.square(bounded))), np.abs(bounded).max()
    values = (
        f"{100 * inside:.0f} %",
        f"{100 * errors[len(PLACES) // 2]:+.1f}, {100 * errors[np.abs(errors).argmax()]:+.1f} %",
        f"{y.sum() / spent:.1f}x",
        f"{100 * np.median(own):.1f}, {100 * own.max():.0f} %",
        f"{100 * rms:.2f}, {100 * worst:.2f} %",
        f"{len(speedups) / sum(1 / s for s in speedups):.1f}x",
        f"{100 * np.median(ours):.1f}, {100 * np.max(ours):.0f} %",
        f"{100 * np.median(halves):.1f} %",
    )
    return f"| {Path(name).name.partition('.')[0]} | {len(y):,} | {' | '.join(values)} |"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("populations", nargs="*")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--budget", type=float, default=0.01)
    asked = parser.parse_args()
    print(HEAD)
    print("|---" * HEAD.count(" | ") + "|---|")
    for name in asked.populations or (*PROFILES, "simpletorch accelsim"):
        print(line(name, asked.budget, asked.seeds), flush=True)


if __name__ == "__main__":
    sys.exit(main())

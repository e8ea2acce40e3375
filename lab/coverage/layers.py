"""One representative layer times N beside a run with a bound, on profiles of real GPUs.

    python lab/coverage/layers.py [--seeds 20] [--budgets 0.01] [POPULATION or profile ...]

Of each population: launches, equal layers (copies of repeats), the share of the time that lies in them; the error of the total
from the middle layer, and from the worst choice of a copy, with the speedup; the same for the ranges that are layers: median
and largest error of a layer's own total where the middle one stands for all. Then the shipped policy: root mean square and
largest error of the run over seeds, its speedup, median and largest error of layers, and their median half-width.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from populations import PROFILES
from runs import arguments, print_row, speedup, text_of

from kernelpoint.policies.methods.layer import equal_layers
from ranges import ranged, totals

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


def cells(name: str, eps: float, seeds: int) -> list[str]:
    """Cells of a row."""
    people, ranges = ranged(name)
    y, keys = people.y, people.signature
    truths, layers = ranges.sums(y), np.setdiff1d(np.arange(1, len(ranges.paths)), ranges.parents)
    layers = layers[truths[layers] > 0.0]  # a clock of whole microseconds reads 0
    choices = [one_layer(keys, y, place) for place in PLACES]
    errors = np.array([estimates.sum() / y.sum() - 1.0 for estimates, _ in choices])
    middle, spent = choices[len(PLACES) // 2]

    def off(sums: np.ndarray) -> np.ndarray:
        return np.abs(sums[..., layers] / truths[layers] - 1.0)

    runs = (totals(people, ranges, eps, seed) for seed in range(seeds))
    estimates, halves, shares = map(np.array, zip(*runs, strict=True))
    bounded = estimates[:, 0] / truths[0] - 1.0
    widths = np.median((halves / np.maximum(np.abs(estimates), 1e-300))[:, layers], axis=1)
    own, ours = off(ranges.sums(middle)), off(estimates)
    return [
        f"{len(y):,}",
        f"{100 * y[equal_layers(keys) >= 0].sum() / y.sum():.0f} %",
        f"{100 * errors[len(PLACES) // 2]:+.1f}, {100 * errors[np.abs(errors).argmax()]:+.1f} %",
        f"{y.sum() / spent:.1f}x",
        f"{100 * np.median(own):.1f}, {100 * own.max():.0f} %",
        f"{100 * np.sqrt(np.mean(bounded**2)):.2f}, {100 * np.abs(bounded).max():.2f} %",
        speedup(shares),
        f"{100 * np.median(ours):.1f}, {100 * ours.max():.0f} %",
        f"{100 * np.median(widths):.1f} %",
    ]


def main() -> None:
    parser = arguments(__doc__, 20, "0.01")
    parser.add_argument("populations", nargs="*", default=(*PROFILES, "simpletorch accelsim"))
    options = parser.parse_args()
    heads = (
        "Population", "budget", "launches", "in layers", "layer x N: middle, worst", "speedup", "a layer: median, worst",
        "bounded: rms, worst", "speedup", "a layer: median, worst", "its half-width",
    )  # fmt: skip
    print_row(*heads)
    print("|---" * len(heads) + "|")
    for name in options.populations:
        for eps in options.budgets:
            print_row(Path(name).name.partition(".")[0], text_of(eps), *cells(name, eps, options.seeds))


if __name__ == "__main__":
    main()

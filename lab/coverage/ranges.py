"""Coverage of the half-widths of ranges, over seeds.

    python lab/coverage/ranges.py [--seeds 200] [--budget 0.01] [POPULATION ...]

Populations are those of populations.py, and `BASE:TROUBLE` (trouble.py); `model: POPULATION` is predicted by a model made wrong
on purpose. Ranges are those that are detected, and ten phases of ten layers each where nothing repeats; `kernels: POPULATION`
has a range for each kernel and shape instead. Of each population: the mean share of runs in which a range was held, over ranges
and weighted by their totals; the least one, of all and of ranges of more than 5 % of the total; the median relative half-width
of ranges by depth; the share of runs in which all were held at once.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, field

import numpy as np
from populations import population
from runs import design as of_policy
from runs import last_look

from kernelpoint.estimation import AssistedDesign, Engine, ErrorBudget, Tree, subtotals
from kernelpoint.randomness import generator, permanent_random_numbers
from kernelpoint.ranges import Ranges
from kernelpoint.ranges.sources.detected import repeats

POPULATIONS = (
    "h100_owlv2", "v100_df_index", "v100_resnet50", "b200_eager", "rtx2080ti_resnet", "a100_control", "a100_negative_queue",
    "drift", "late_change", "bimodal", "uneven", "mixed",
    "model: h100_owlv2", "model: v100_df_index", "model: v100_resnet50", "model: drift", "model: late_change", "model: mixed",
)  # fmt: skip
HEAD = (
    "| Population | ranges | run held | ranges held, mean | weighted | least | least of those above 5 % (how many) "
    "| half-width by depth, % | speedup | all at once |"
)
KERNELS = "kernels: "
LARGE = 0.05  # of the total


def base_of(name: str) -> str:
    """The name of a population by itself."""
    return name.removeprefix(KERNELS).removeprefix("model: ")


@dataclass
class Held:
    """Results of seeded runs of one population, for each range."""

    truths: np.ndarray
    depths: np.ndarray
    runs: int = 0
    all_held: int = 0
    held: np.ndarray = field(default_factory=lambda: np.zeros(0))
    widths: list[np.ndarray] = field(default_factory=list)
    speedup: list[float] = field(default_factory=list)


def ranges_of(signature: np.ndarray) -> Ranges:
    """Detected ranges, or phases and layers of equal numbers of launches where nothing repeats."""
    paths = repeats(signature)
    if any(paths):
        return Ranges.of(paths, "detected")
    place = np.arange(len(signature)) * 100 // len(signature)
    return Ranges.of([f"phase.{p // 10}/layer.{p % 10}" for p in place.tolist()], "made up")


def wrong_model(y: np.ndarray, signature: np.ndarray) -> np.ndarray:
    """Predictions that are off by a level and a slope of each kernel, and scatter by 3 %."""
    random = generator(0, "wrong model")
    level = random.lognormal(0.0, 0.15, int(signature.max()) + 1)
    smooth = np.bincount(signature, weights=y) / np.maximum(np.bincount(signature), 1)
    return (0.3 * smooth[signature] + 0.7 * y) * level[signature] * random.lognormal(0.0, 0.03, len(y))


def run(name: str, budget: float, seed: int) -> tuple[np.ndarray, np.ndarray, float, Ranges]:
    """Estimates and half-widths of the ranges of one run, and its speedup."""
    made, is_predicted = population(base_of(name)), "model: " in name
    y, signature = made.y, made.known.profile.signature if made.known.profile is not None else made.signature
    ranges = known_ranges(name, signature)
    wanted = ErrorBudget(budget)
    if is_predicted:
        x, u = wrong_model(y, signature), permanent_random_numbers(seed, 0, len(y))
        design = AssistedDesign({"cycles": x}, signature, u)
    else:
        design = of_policy(made, wanted, seed)
    engine = Engine(design, wanted)
    look = last_look(engine, ("cycles",), y)
    values = engine.predict(np.arange(len(y)))[:, 0]
    results = np.zeros(len(y), bool)
    results[engine.drawn()] = True
    tree = Tree(ranges.parents, ranges.of_launch)
    found = subtotals(tree, look.estimates["cycles"], values, results, engine.unit_errors("cycles"), engine.has_bias)
    estimates, halves = (np.array([getattr(part, key) for part in found]) for key in ("estimate", "half_width"))
    return estimates, halves, y.sum() / y[results].sum(), ranges


_KNOWN: dict[str, Ranges] = {}


def known_ranges(name: str, signature: np.ndarray) -> Ranges:
    if name not in _KNOWN:
        of_kernels = [f"kernel.{k}" for k in signature.tolist()] if name.startswith(KERNELS) else []
        _KNOWN[name] = Ranges.of(of_kernels, "kernels") if of_kernels else ranges_of(signature)
    return _KNOWN[name]


def measure(name: str, budget: float, seeds: int) -> Held:
    """All seeded runs of one population."""
    held: Held | None = None
    for seed in range(seeds):
        estimates, halves, speedup, ranges = run(name, budget, seed)
        if held is None:
            truths = ranges.sums(population(base_of(name)).y)
            held = Held(truths, ranges.depths, held=np.zeros(len(truths)))
        held.runs += 1
        right = np.abs(estimates - held.truths) <= halves + 1e-9 * held.truths
        held.held += right
        held.all_held += bool(right.all())
        held.widths.append(halves / np.maximum(np.abs(estimates), 1e-300))
        held.speedup.append(speedup)
    assert held is not None
    return held


def line(name: str, held: Held) -> str:
    """A row of the table."""
    share, part = held.held / held.runs, held.truths / held.truths[0]
    inner = held.depths > 0
    large = inner & (part > LARGE)
    widths = np.median(np.array(held.widths), axis=0)
    by_depth = [f"{100 * np.median(widths[held.depths == d]):.1f}" for d in range(min(4, held.depths.max() + 1))]
    least = f"{share[large].min():.3f} ({int(large.sum())})" if large.any() else "-"
    speed = len(held.speedup) / sum(1 / s for s in held.speedup)
    held_by = (share[0], share[inner].mean(), np.average(share[inner], weights=part[inner]), share[inner].min())
    return (
        f"| {name} | {int(inner.sum())} | {' | '.join(f'{value:.3f}' for value in held_by)} | {least} | "
        f"{', '.join(by_depth)} | {speed:.1f}x | {held.all_held / held.runs:.3f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("populations", nargs="*", default=POPULATIONS)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--budget", type=float, default=0.01)
    asked = parser.parse_args()
    print(HEAD)
    print("|---" * (HEAD.count(" | ") + 1) + "|")
    for name in asked.populations or POPULATIONS:
        print(line(name, measure(name, asked.budget, asked.seeds)), flush=True)


if __name__ == "__main__":
    sys.exit(main())

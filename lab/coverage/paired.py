"""Coverage of the bound of `kernelpoint compare` on the ratio of two full runs, and how much tighter it is than two bounds.

    python lab/coverage/paired.py LIST... --gpus v100,rtx --seeds 50 --folder out/paired

`cover` is the share of seeds whose paired interval holds the ratio of the full runs' cycles; `paired` its half-width,
`separate` the half-width of the ratio from both runs' own bounds, both relative to the ratio; `tighter` the median over
seeds of one over the other; `common` the launches drawn in both runs.
"""

from __future__ import annotations

import argparse
import csv
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from kernelpoint.config import parse_config
from kernelpoint.encoder import embed_streams
from kernelpoint.estimation import Design, Engine, ErrorBudget, Look, passes
from kernelpoint.estimation.estimators import Sample
from kernelpoint.estimation.paired import joint_error_probability, paired_totals
from kernelpoint.evaluation.workload import full_run
from kernelpoint.policies.methods.kernelpoint import KernelPoint
from kernelpoint.traces import ScanTable, launch_paths, scan_launches
from kernelpoint.workload import Population

say = partial(print, flush=True)  # rows come slowly


@dataclass(frozen=True)
class Replayed:
    """A trace list, read and embedded, whose results are looked up in full runs of the embedded host."""

    name: str
    source: str
    folder: Path
    scan: ScanTable
    embeddings: np.ndarray
    paths: tuple[str, ...]

    @classmethod
    def read(cls, source: str, folder: Path) -> Replayed:
        """Reads a list; full runs are kept in `folder`."""
        paths = tuple(str(path) for path in launch_paths(source))
        scan = scan_launches(paths)
        where = Path(source).parent if Path(source).is_file() else Path(source)
        return cls(where.name, source, folder, scan, embed_streams(scan), paths)

    def cycles(self, gpu: str) -> np.ndarray:
        """Cycles of every launch in the full run on a configuration of the embedded host."""
        with full_run(self.source, gpu, self.folder, say).open() as file:
            return np.array([float(row["cycles"]) for row in csv.DictReader(file)])

    def design(self, budget: float, seed: int) -> Design:
        """The shipped policy's design."""
        people = Population((len(self.paths),), seed, self.scan, self.paths, embeddings=self.embeddings)
        settings = {"version": 1, "policy": "kernelpoint", "seed": seed, "error_budget": {"relative_error": budget}}
        return KernelPoint(parse_config(settings)).design(people)


def sampled(design: Design, y: np.ndarray, budget: float) -> tuple[Engine, Look]:
    """The passes of a run whose results are looked up instead of simulated."""
    engine = Engine(design, ErrorBudget(budget))
    *_, look = passes(engine, ("cycles",), y)
    return engine, look


def compare(workload: Replayed, first: np.ndarray, second: np.ndarray, budget: float, seed: int) -> list[float]:
    """One seed: whether the interval holds, paired and separate relative half-widths, error, common launches."""
    design = workload.design(budget, seed)
    (a, look_a), (b, look_b) = sampled(design, first, budget), sampled(design, second, budget)
    drawn = np.intersect1d(a.drawn(), b.drawn())
    inside, exact = drawn[design.strata[drawn] >= 0], drawn[design.strata[drawn] < 0]
    totals = np.bincount(design.strata + 1, design.x, len(design.first_sizes) + 1)[1:]
    sample = Sample(design.strata[inside], design.sizes, design.clusters, design.x[inside], totals)
    alpha = joint_error_probability(
        ("sequential", "sequential"), 0.05, (a.pass_state()["kinds"], b.pass_state()["kinds"])
    )
    values = np.column_stack([first, second])
    pair = paired_totals(sample, values[inside], values[exact], "regression", alpha)
    p, q = look_a.estimates["cycles"], look_b.estimates["cycles"]
    high = (q.estimate + q.half_width) / (p.estimate - p.half_width)
    low = (q.estimate - q.half_width) / (p.estimate + p.half_width)
    truth = second.sum() / first.sum()
    held = pair.ratio.contains(truth)
    return [held, pair.ratio.half_width / truth, 0.5 * (high - low) / truth, pair.ratio.value / truth - 1, len(drawn)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("lists", nargs="+")
    parser.add_argument("--gpus", default="v100,rtx", help="two configurations of the embedded host")
    parser.add_argument("--budgets", default="0.05,0.01")
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--folder", type=Path, default=Path("out/paired"), help="where full runs are kept")
    options = parser.parse_args()
    for source in options.lists:
        workload = Replayed.read(source, options.folder)
        first, second = (workload.cycles(gpu) for gpu in options.gpus.split(","))
        for budget in map(float, options.budgets.split(",")):
            rows = np.array([compare(workload, first, second, budget, seed) for seed in range(options.seeds)])
            mean = rows.mean(axis=0)
            say(
                f"{workload.name:<20} {options.gpus} {100 * budget:g} % ratio {second.sum() / first.sum():.4f} "
                f"cover {mean[0]:.3f} paired {100 * mean[1]:.3f} % separate {100 * mean[2]:.3f} % "
                f"tighter {np.median(rows[:, 2] / np.maximum(rows[:, 1], 1e-12)):.1f}x "
                f"error {100 * np.abs(rows[:, 3]).mean():.3f} % common {mean[4]:.0f}"
            )


if __name__ == "__main__":
    main()

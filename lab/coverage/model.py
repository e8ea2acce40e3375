"""Coverage, speedup, bias and passes of the model-assisted engine, with models right and wrong on purpose.

    kernelpoint-host -trace LIST -config GPU -results FOLDER/WORKLOAD-GPU.csv    # once for each workload and GPU
    python lab/coverage/model.py FOLDER --truth v100 --model rtx --seeds 500
    python lab/coverage/model.py FOLDER --truth v100 --model rtx --seeds 200 --wrong --budgets 0.05,0.01
    python lab/coverage/model.py FOLDER --truth v100 --model rtx --assume hostile

Results are looked up in the full run of one configuration; predictions are those of the other. Kernels are the groups.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scaffold import add_full_runs, arguments, full_runs, percents, print_head, print_row

from kernelpoint.estimation import AssistedDesign, AssistedEngine, ErrorBudget, passes
from kernelpoint.randomness import generator, permanent_random_numbers


def wrong_models(x: np.ndarray, kernel: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Predictions made wrong on purpose, by name."""
    random = generator(0, "wrong models")
    share = np.bincount(kernel, weights=x) / x.sum()
    big, middling = int(np.argmax(share)), int(np.argmin(np.abs(share - 0.05)))
    within = x.copy()
    within[kernel == big] = random.permutation(x[kernel == big])
    yield "shuffled", random.permutation(x)
    yield "constant", np.full(len(x), x.mean())
    yield "30 % noise", x * np.exp(0.3 * random.standard_normal(len(x)))
    yield "drifting to twice", x * np.linspace(1.0, 2.0, len(x))
    yield "largest kernel x3", np.where(kernel == big, 3.0 * x, x)
    yield "a 5 % kernel x0.3", np.where(kernel == middling, 0.3 * x, x)
    yield "largest kernel shuffled", within


def outcomes(
    design: AssistedDesign, truth: np.ndarray, counter: str, eps: float, seeds: int, cost: np.ndarray
) -> list[np.ndarray]:
    """Of each seed, float64 [seeds]: relative error, whether the interval holds the truth, share of `cost` spent, passes."""
    total, rows = float(truth.sum()), []
    for seed in range(seeds):
        u = permanent_random_numbers(seed, 0, design.size)
        engine = AssistedEngine(
            AssistedDesign(design.predictions, design.groups, u, design.assume, design._trees, design.lines),
            ErrorBudget(eps, counter=counter),
        )
        *_, look = passes(engine, (counter,), truth)
        estimate = look.estimates[counter]
        rows.append(
            (
                estimate.estimate / total - 1.0,
                estimate.contains(total),
                cost[engine.drawn()].sum() / cost.sum(),
                engine.looks,
            )
        )
    return [np.array(column, dtype=float) for column in zip(*rows, strict=True)]


def measure(design: AssistedDesign, truth: np.ndarray, counter: str, eps: float, seeds: int, cost: np.ndarray) -> str:
    """One cell: share of intervals that hold, speedup in cycles, bias, mean and most passes."""
    error, held, spent, passes = outcomes(design, truth, counter, eps, seeds, cost)
    return f"{held.mean():.3f}, {1.0 / spent.mean():.1f}x, {100 * error.mean():+.3f} %, {passes.mean():.1f}/{passes.max():.0f}"


def main() -> None:
    parser = arguments(__doc__, 500, "0.05,0.01,0.005")
    add_full_runs(parser)
    parser.add_argument("--counter", default="cycles")
    parser.add_argument("--assume", default="ordinary")
    parser.add_argument("--wrong", action="store_true", help="models made wrong on purpose instead of the model")
    options = parser.parse_args()
    print_head("Workload", "model", *percents(options.budgets))
    for run in full_runs(options):
        truth, counter = run.counters, options.counter
        models = [(options.model, run.predictions)]
        if options.wrong:
            models = [(k, {counter: x}) for k, x in wrong_models(run.predictions[counter], run.kernel)]
        for model, predictions in models:
            design = AssistedDesign(predictions, run.kernel, np.zeros(len(run.kernel)), options.assume)
            cells = (
                measure(design, truth[counter], counter, eps, options.seeds, truth["cycles"]) for eps in options.budgets
            )
            print_row(run.name, model, *cells)


if __name__ == "__main__":
    main()

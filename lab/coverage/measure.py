"""Tables of coverage: share of runs whose interval contains the truth, cost of runs, and launches that they could miss.

    python lab/coverage/measure.py --populations "v100_resnet50,program: drift,rtx2080ti_resnet:periodic" --assume hostile
    kernelpoint-host -trace LIST -config GPU -results FOLDER/WORKLOAD-GPU.csv    # once for each workload and GPU
    python lab/coverage/measure.py FOLDER --truth v100 --model rtx [--wrong] [--trouble judged] [--latency 2000] --seeds 500

Without FOLDER launches are known by traces, or names and shapes (populations.py). With it results are looked up in the full
run of one configuration, and predictions are those of the other, or `--known names`, `counts` or `traces` (of `--lists`)
replaces them. `--show` names the columns of a population and budget:

    held      share of runs whose interval holds the total, speedup in cycles (time), draws, bias, mean and most passes; after
              several populations, for each budget: share of all runs, geometric mean of the speedups, populations in which
              less than 95 % of the runs are right, and those whose mean draws exceed those of the next tighter budget by .1 %
    looser    share of seeds in which the budget simulates more than the next tighter one
    counters  a row for each counter: draws, share of runs whose interval holds, the same of runs that state one no wider than
              WEAK (printed under the simulator's own name), share of these, median half-width, draws that are no zeros; share
              of runs that state an upper limit, share of these that hold, median limit over the total of the whole that the
              counter is a part of. `--further dram_reads=0.05` adds targets to the budget, here and of forecasts. `--truth
              accelsim`: FOLDER has the counters of full runs in Accel-Sim
    planted   some launches made slow: share of runs whose bound is right, whose bound is right with what the run's sentence on
              unsampled launches adds to it, and whose sentence is wrong; share of the slow launches, mean share stated
    single    the open unit that breaks the budget first: medians of its multiple and of that of a unit of mean size; mean
              probability of being drawn; share of runs that draw it, or whose interval leaves the total out, where it takes
              twice the multiple
    sieve     the policy `sieve`, which states no bound (`--known counts`): 1 if its error is within the budget, speedup,
              launches, error
    forecasts share of runs whose launches, and whose speedup, lie in the 80 % range that `kernelpoint plan` forecasts; launches
              and cost over those of the rehearsal of a run as predicted, without the margin: 10th, 50th and 90th percentile;
              means of the range's ends and of the launches taken
    paired    the bound of `kernelpoint compare` on the ratio of two full runs, of workloads whose traces `--lists NAME=LIST`
              names, without predictions: share of seeds whose interval holds the ratio of cycles; medians of its half-width
              and of that from the bounds of both runs, relative to the ratio; median of one over the other; mean error;
              launches in both
"""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import pairwise
from pathlib import Path

import numpy as np
from made_up import MADE_UP
from populations import (
    PROFILES,
    RUNS,
    SHARED_DATA,
    Population,
    Run,
    full_runs,
    known_from_traces,
    last_look,
    population,
    with_traces,
)
from runs import (
    Experiment,
    Numbers,
    arguments,
    bias,
    mean,
    median_percent,
    most,
    percent,
    print_row,
    print_table,
    quantiles,
    share,
    speedup,
    text_of,
    times,
)
from trouble import GROUPS as TROUBLES

from kernelpoint.config import parse_config
from kernelpoint.estimation import Engine, ErrorBudget, Look
from kernelpoint.estimation.bounds import joint_error_probability
from kernelpoint.estimation.inference import ratio
from kernelpoint.estimation.strata.estimators import StrataSample
from kernelpoint.estimation.strata.inference import PAIR, errors_of_change
from kernelpoint.planning.plan import Plan
from kernelpoint.policies.methods.sieve import Sieve
from kernelpoint.policies.registry import load_policy
from kernelpoint.program import Program
from kernelpoint.randomness import generator
from kernelpoint.session.rehearsal import made_up, ranged, rehearse
from kernelpoint.session.setup import Setup
from kernelpoint.totals.identities import AT_MOST
from kernelpoint.totals.limits import with_limits
from kernelpoint.totals.proportional import WEAK
from kernelpoint.traces import read_trace_list
from kernelpoint.workload.host_info import HostInfo

PLANTS = {"1 in 97 x3": (97, 3.0), "1 in 50 x1.5": (50, 1.5), "1 in 200 x3": (200, 3.0)}  # one in so many, by how much


def wrong_models(people: Population, counter: str) -> Iterator[Population]:
    """The population with predictions that are wrong on purpose, one copy for each kind of error."""
    random, x, kernel = generator(0, "wrong models"), people.predictions[counter], people.kernel
    part = np.bincount(kernel, weights=x) / x.sum()
    big, middling = int(np.argmax(part)), int(np.argmin(np.abs(part - 0.05)))
    within = x.copy()
    within[kernel == big] = random.permutation(x[kernel == big])
    for name, predicted in {
        "shuffled": random.permutation(x),
        "constant": np.full(len(x), x.mean()),
        "30 % noise": x * np.exp(0.3 * random.standard_normal(len(x))),
        "drifting to twice": x * np.linspace(1.0, 2.0, len(x)),
        "largest kernel x3": np.where(kernel == big, 3.0 * x, x),
        "a 5 % kernel x0.3": np.where(kernel == middling, 0.3 * x, x),
        "kernels x exp N(0, .5)": x * np.exp(0.5 * random.standard_normal(len(part)))[kernel],
        "largest kernel shuffled": within,
    }.items():
        yield replace(people, name=f"{people.name}, {name}", predictions={counter: predicted})


def populations(options: Namespace) -> Iterator[Population]:
    """Populations that the command line names, with wrong models or planted trouble."""
    if options.folder is None:
        yield from map(population, options.populations.split(","))
        return
    for people in full_runs(options):
        if options.wrong:
            yield from wrong_models(people, options.counter)
        for trouble in TROUBLES.get(options.trouble, filter(None, options.trouble.split(","))):
            yield people.with_trouble(trouble, f"{trouble} {people.name}")
        if not (options.wrong or options.trouble):
            yield people


Rows = Iterator[tuple[Sequence[object], Numbers]]  # further labels of a row, and the numbers of its runs


def held(people: Population, eps: float, options: Namespace) -> Rows:
    counter = options.counter

    def numbers_of(seed: int) -> Sequence[float]:
        run = people.run(ErrorBudget(eps, counter=counter), seed, (counter,))
        return (
            run.held(counter),
            run.spent,
            len(run.engine.drawn()),
            run.error(counter),
            run.engine.sampling.looks,
            run.engine.sampling.looks,
        )

    yield (), map(numbers_of, range(options.seeds))


def over_populations(table: Mapping[tuple[object, ...], np.ndarray]) -> None:
    """Print a summary over all populations for each error budget: share of runs whose interval held the total, mean speedup,
    and number of populations with a share below 0.95.
    """
    names, budgets = (list(dict.fromkeys(label[k] for label in table)) for k in (0, 1))
    if len(names) == 1:
        return
    draws = {label: float(numbers[:, 2].mean()) for label, numbers in table.items()}

    def row(budget: object, tighter: object) -> Iterator[object]:
        inside = [table[name, budget] for name in names]
        right = np.array([numbers[:, 0].mean() for numbers in inside])
        speedups = np.array([1.0 / numbers[:, 1].mean() for numbers in inside])
        rises = sum(draws[name, budget] > 1.001 * draws.get((name, tighter), np.inf) for name in names)
        yield from (share(right), f"{np.exp(np.log(speedups).mean()):.1f}x", int((right < 0.95).sum()), rises)

    print()
    print_row(f"{len(names)} populations", "held", "geometric mean of the speedups", "below .95", "more draws than the next")
    print("|---" * 5 + "|")
    for budget, tighter in zip(budgets, [*budgets[1:], None], strict=True):
        print_row(budget, *row(budget, tighter))


def looser(people: Population, eps: float, options: Namespace) -> Rows:
    tighter = dict(pairwise(options.budgets)).get(eps)

    def numbers_of(seed: int) -> Sequence[float]:
        loose, tight = (people.run(ErrorBudget(budget), seed).spent for budget in (eps, tighter))
        return (loose > tight * (1.0 + 1e-12),)

    yield (), map(numbers_of, range(options.seeds if tighter else 0))


def budget_of(eps: float, options: Namespace) -> ErrorBudget:
    """Error budget of the cycles, with the further targets of the command line."""
    parts = (text.partition("=") for text in options.further.split(",") if text)
    return ErrorBudget(eps, further={name: float(error) for name, _, error in parts})


def counters(people: Population, eps: float, options: Namespace) -> Rows:
    budget, names = budget_of(eps, options), tuple(people.values)

    @cache
    def numbers_of(seed: int) -> Mapping[str, Sequence[float]]:
        run = people.run(budget, seed, names)
        drawn, totals = run.engine.drawn(), {name: float(values.sum()) for name, values in run.values.items()}
        plan = Plan(Program((len(people.y),)), run.engine.sampling.design, {})
        limits = with_limits(run.look, run.engine, plan, set(), budget.targets).estimates

        def numbers(name: str) -> Sequence[float]:
            e = run.look.estimates[name]
            width = e.relative_half_width
            holds, narrow = np.isnan(e.half_width) or run.held(name), width <= WEAK
            limit = limits[name].at_most
            is_limited = bool(np.isfinite(limit))
            whole = totals.get(dict(AT_MOST).get(name, ""), np.nan)
            numbers = len(drawn), holds, holds if narrow else np.nan, narrow, width, (run.values[name][drawn] != 0).sum()
            return *numbers, is_limited, totals[name] <= limit if is_limited else np.nan, limit / whole if whole else np.nan

        return {name: numbers(name) for name in names}

    for name in names:
        yield (name,), (numbers_of(seed)[name] for seed in range(options.seeds))


def stated_share(look: Look) -> float:
    """Largest share of the total that a run states for kinds of launches that were never sampled; 0 if all launches are
    sampled.
    """
    matches = (re.search(r"never sampled make up at most ([\d.e+-]+) %", line) for line in look.assumptions)
    return max((float(match[1]) / 100.0 for match in matches if match), default=0.0)


def planted(people: Population, eps: float, options: Namespace) -> Rows:
    y = people.y

    def numbers_of(count: int, factor: float, seed: int) -> Sequence[float]:
        slow = people.every(count, count // 7)
        run = people.run(ErrorBudget(eps), seed, cycles=np.where(slow, factor * y, y))
        estimate, stated = run.look.estimates["cycles"], stated_share(run.look)
        widened = estimate.half_width + (factor - 1.0) * stated * estimate.estimate
        within = abs(estimate.estimate - run.values["cycles"].sum()) <= widened
        part = float(y[slow].sum() / y.sum())
        return run.held(), within, part > stated and not slow[run.engine.drawn()].any(), part, stated

    for name, plant in PLANTS.items():
        yield (name,), map(partial(numbers_of, *plant), range(options.seeds))


def single(people: Population, eps: float, options: Namespace) -> Rows:
    def numbers_of(seed: int) -> Sequence[float] | None:
        if (open_unit := people.run(ErrorBudget(eps), seed).look.open_unit) is None:
            return None  # all is drawn
        truth = people.y.copy()
        truth[open_unit.unit] *= 2.0 * open_unit.times
        run = people.run(ErrorBudget(eps), seed, cycles=truth)
        breaks = open_unit.unit in run.engine.drawn() or not run.held()
        return open_unit.times, 1.0 + eps * len(truth), open_unit.probability, breaks

    yield (), filter(None, map(numbers_of, range(options.seeds)))


def sieve(people: Population, eps: float, options: Namespace) -> Rows:
    design = Sieve(parse_config({"version": 1, "policy": "sieve"})).design(people.program)
    engine = Engine(design, ErrorBudget(eps, bound="none"), Sieve.estimate)
    run = Run(engine, last_look(engine, ("cycles",), people.y[:, None]), people.values)
    yield (), [(abs(run.error()) <= eps, run.spent, len(engine.drawn()), run.error())]


def forecasts(people: Population, eps: float, options: Namespace) -> Rows:
    budget = budget_of(eps, options)
    targets = {name: people.predictions[name] for name in budget.targets}
    people, predicted, counts = replace(people, predictions=targets), targets["cycles"], (len(people.y),)
    host, config = HostInfo("none", launch_counts=counts, stateless=True), parse_config({"version": 1, "policy": "kernelpoint"})

    def numbers_of(seed: int) -> Sequence[float]:
        run = people.run(budget, seed, tuple(targets))
        design = people.design(budget, seed)
        setup = Setup(config, host, load_policy(config.policy), budget, "regression", Plan(Program(counts), design, {}))
        rehearsed = rehearse(setup, made_up(targets, design.labels, seed))
        launches = [float(len(units)) for units in rehearsed]
        cost = [float(predicted[units].sum() / predicted.sum()) for units in rehearsed]
        ranges, taken = [ranged(launches), ranged(cost)], (float(len(run.engine.drawn())), run.spent)
        within = [low <= took <= high for (low, high), took in zip(ranges, taken, strict=True)]
        return *within, taken[0] / launches[-2], taken[1] / cost[-2], *ranges[0], taken[0]

    yield (), map(numbers_of, range(options.seeds))


def compared(people: Population, second: np.ndarray, eps: float, seed: int) -> Sequence[float]:
    """Compare two runs with the same seed.

    Returns:
        1 if the interval of the ratio is right, its half-width and that from separate bounds, their quotient, the error, and
        the number of launches in both samples.
    """
    budget = ErrorBudget(eps)
    made = people.design(budget, seed)
    a, b = (people.run(budget, seed, cycles=y) for y in (people.y, second))
    drawn = np.intersect1d(a.engine.drawn(), b.engine.drawn())
    inside, exact = drawn[made.strata[drawn] >= 0], drawn[made.strata[drawn] < 0]
    totals = np.bincount(made.strata + 1, made.x, len(made.first_sizes) + 1)[1:]
    sample = StrataSample(made.strata[inside], made.sizes, made.clusters, made.x[inside], totals)
    kinds = tuple(run.engine.sampling.pass_state()["kinds"] for run in (a, b))
    alpha = joint_error_probability(("sequential", "sequential"), 0.05, kinds)
    values = np.column_stack([people.y, second])
    pair = ratio("", PAIR[::-1], errors_of_change(sample, values[inside], values[exact], "regression", alpha), 0.95)
    p, q = (run.look.estimates["cycles"] for run in (a, b))
    high = (q.estimate + q.half_width) / (p.estimate - p.half_width)
    low = (q.estimate - q.half_width) / (p.estimate + p.half_width)
    truth = second.sum() / people.y.sum()
    paired, separate = pair.half_width / truth, 0.5 * (high - low) / truth
    error = abs(pair.estimate / truth - 1.0)
    return pair.contains(truth), paired, separate, separate / max(paired, 1e-12), error, len(drawn)


@cache
def with_list(people: Population, trace_list: str) -> Population:
    """The population with its traces and without predictions."""
    return with_traces(people.name, people.y, known_from_traces(read_trace_list(trace_list).traces))


def paired(people: Population, eps: float, options: Namespace) -> Rows:
    if people.name in options.lists:
        second = people.predictions["cycles"]
        numbers = map(partial(compared, with_list(people, options.lists[people.name]), second, eps), range(options.seeds))
        yield (f"{second.sum() / people.y.sum():.4f}",), numbers


EXPERIMENTS = {
    "held": Experiment(
        held,
        {"held": share, "speedup": speedup, "draws": mean, "bias": bias, "passes": mean, "most passes": most},
        after=over_populations,
    ),
    "looser": Experiment(looser, {"dearer than the next tighter": share}),
    "counters": Experiment(
        counters,
        {"draws": mean, "held": share, "of those known": share, "known": share, "half-width": median_percent, "no zeros": mean}
        | {"limited": share, "limit holds": share, "limit of whole": median_percent},
        ("counter",),
    ),
    "planted": Experiment(
        planted,
        {"held": share, "with the sentence": share, "sentence wrong": share, "slow share": percent, "stated": percent},
        ("planted",),
    ),
    "single": Experiment(
        single, {"multiple": times, "of a mean unit": times, "probability": share, "drawn or out": share}
    ),
    "sieve": Experiment(sieve, {"in budget": share, "speedup": speedup, "draws": mean, "error": bias}),
    "forecasts": Experiment(
        forecasts,
        {"launches in range": share, "speedup in range": share, "launches, times": quantiles, "cost, times": quantiles}
        | {"fewest": mean, "most": mean, "taken": mean},
    ),
    "paired": Experiment(
        paired,
        {
            "held": share,
            "paired": median_percent,
            "separate": median_percent,
            "tighter": times,
            "error": percent,
            "common launches": mean,
        },
        ("ratio",),
    ),
}  # fmt: skip
OF_FOLDER = ("forecasts", "paired")  # they ask for predictions


def main() -> None:
    parser = arguments(__doc__, 60, "0.05,0.01,0.005")
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--truth", default="v100")
    parser.add_argument("--model", default="rtx")
    parser.add_argument("--known", choices=("model", "names", "counts", "traces"), default="model", help="of launches")
    parser.add_argument("--lists", nargs="*", default=[], metavar="NAME=LIST", help="traces of workloads of FOLDER")
    real = (*RUNS, "simpletorch accelsim", *PROFILES) if SHARED_DATA.is_dir() else RUNS
    parser.add_argument("--populations", default=",".join((*real, *MADE_UP)))
    parser.add_argument("--show", choices=EXPERIMENTS, default="held")
    parser.add_argument("--assume", default="ordinary")
    parser.add_argument("--counter", default="cycles", help="of the budget")
    parser.add_argument("--further", default="", help="further targets: dram_reads=0.05,l2_accesses=0.05")
    parser.add_argument("--latency", type=float, default=0.0, help="cycles of each launch that the truth states as known")
    parser.add_argument("--wrong", action="store_true", help="models made wrong on purpose instead of the model")
    parser.add_argument("--trouble", default="", help=f"names of trouble.py, or one of {', '.join(TROUBLES)}")
    options = parser.parse_args()
    if options.folder is None and options.show in OF_FOLDER:
        parser.error(f"--show {options.show} needs FOLDER, with the full runs of two configurations")
    if options.show == "paired" and not options.lists:
        parser.error("--show paired needs --lists, with the traces of a workload of FOLDER")
    options.lists = dict(text.split("=", 1) for text in options.lists)
    shown = EXPERIMENTS[options.show]
    table = print_table(
        ["population", "budget", *shown.labels],
        shown.columns,
        (
            ((people.name, text_of(eps), *label), numbers)
            for people in (replace(base, assume=options.assume, latency=options.latency) for base in populations(options))
            for eps in options.budgets
            for label, numbers in shown.rows(people, eps, options)
        ),
    )
    shown.after(table)


if __name__ == "__main__":
    main()

"""Checks that STEM and Allegro behave as published, and the choice of the launch that represents an instruction sequence.

    python lab/coverage/methods.py sweep --seeds 20
    python lab/coverage/methods.py times --seeds 60 --budgets 0.05,0.01,0.005
    python lab/coverage/methods.py applications --seeds 20 --budgets 0.05,0.01
    python lab/coverage/methods.py another --recordings FIRST,SECOND ... --seeds 20 --budgets 0.05,0.01
    python lab/coverage/methods.py representatives
    python lab/coverage/methods.py repeated --seeds 20 --budgets 0.05

sweep: harmonic mean of speedups and mean |error| over the shared profiles, planned from the times that they are judged on: STEM
in three forms, Allegro, and random samples as large as theirs. Speedups follow how often a workload repeats itself, so only the
direction compares.

times: share of runs that are right and geometric mean of speedups over the shared profiles, all methods planned from the times
that they are judged on, times exp(N(0, noise)): `kernelpoint`, with a bound that it measures, STEM and Allegro, whose bound is
their promise, and random samples as large as those of `kernelpoint`.

applications: `kernelpoint` with known times, as in `times`, of several of the shared profiles in one run, each as an
application. Share of runs in which an interval contains the true total, over the totals of the run and of the applications, the
share of the worst total, and geometric mean of speedups.

another: the same methods for each pair of recordings of one program, launch by launch (files of profiles, or of full runs): all
are planned from the first and judged on the second.

representatives: the first, middle and last launch of each sequence on simpletorch in Accel-Sim, with launch latency and
without. `kernelpoint compare` shows the policies there.

repeated: speedup and error of Allegro by the number of times that a list repeats its kernels; each launch takes the time of its
kernel, times a factor exp(s z) of its own. The design is planned from one run of the list and judged on another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from statistics import NormalDist

import numpy as np
from populations import PROFILES, Population, last_look, policy, population
from runs import Numbers, arguments, bias, mean, percent, print_table, share, speedup, text_of

from kernelpoint.estimation import Design, Engine, ErrorBudget
from kernelpoint.planning.range_targets import with_range_targets
from kernelpoint.policies.methods.allegro import split
from kernelpoint.policies.methods.stem import clusters_of, joint_sizes, sample_size
from kernelpoint.policies.processes import design_of
from kernelpoint.policies.time_clusters import Leaf, clustered_design
from kernelpoint.profiles import read_profile
from kernelpoint.program import Program, ProgramBuilder
from kernelpoint.randomness import generator, permanent_random_numbers

NOISES = (0.0, 0.05, 0.15)  # standard deviation of the logarithm of a known time over the true one
TIMED = ("kernelpoint", "stem joint (eq. 6 over all)", "allegro", "random")
LATENCY = 5000  # cycles of each launch on SM7_QV100
MADE_UP_KERNELS, REPEATED_PROFILE = 10, "v100_resnet50"  # lists that `repeated` repeats
APPLICATIONS = (  # profiles that are the applications of one run
    ("h100_owlv2", "a100_control"),
    ("v100_df_index", "b200_eager"),
    ("rtx2080ti_resnet", "v100_resnet50"),
    ("a100_nccl", "a100_negative_queue"),
    ("h100_owlv2", "b200_eager", "a100_control"),
    ("v100_resnet50", "rtx2080ti_resnet", "a100_nccl"),
)
Judged = tuple[float, float]  # harmonic mean of speedups, mean |error|


def sampled(people: Population, design: Design) -> tuple[float, float]:
    """Cycle speedup and signed relative error of one sample of a design."""
    engine = Engine(design, ErrorBudget(0.05, bound="none"), "mean")
    units = engine.wanted()
    engine.record_many(units, ("cycles",), people.y[units][:, None])
    estimate, total = engine.look().estimates["cycles"].estimate, people.y.sum()
    return total / people.y[units].sum(), estimate / total - 1.0


def judged(people: Population, design: Design, seeds: int) -> Judged:
    """Harmonic mean of the cycle speedups, and mean absolute error, of samples of a design with different random numbers."""
    redrawn = (replace(design, u=permanent_random_numbers(seed, 0, len(people.y))) for seed in range(seeds))
    speedups, errors = np.array([sampled(people, sample) for sample in redrawn]).T
    return float(1.0 / (1.0 / speedups).mean()), float(np.abs(errors).mean())


def columns_of(leaves: list[Leaf]) -> list[np.ndarray]:
    return [np.array([getattr(leaf, name) for leaf in leaves]) for name in ("N", "mean", "deviation")]


Sizes = Callable[[list[Leaf], float], np.ndarray]
FORMS: dict[str, Sizes] = {
    "stem joint (eq. 6 over all)": lambda leaves, z: joint_sizes(*columns_of(leaves), z),
    "stem per split (as its artifact)": lambda leaves, z: np.array([leaf.m for leaf in leaves]),
    "stem per cluster (eq. 3)": lambda leaves, z: np.array(
        [sample_size(*row, z) for row in zip(*columns_of(leaves), strict=True)]
    ),
    "allegro": lambda leaves, z: np.array([leaf.m for leaf in leaves]),
}


def planned(form: str, people: Population, eps: float) -> Design:
    """Make the design of STEM or Allegro, planned from the true times."""
    z, y, kernel = NormalDist().inv_cdf(0.975) / eps, people.y, people.kernel.astype(np.int64)
    if form == "allegro":
        leaves = [leaf for k in np.unique(kernel) for leaf in split(y, np.flatnonzero(kernel == k), z)]
    else:
        leaves = clusters_of(y, kernel, z)
    return clustered_design(Program((len(y),)), leaves, FORMS[form](leaves, z), y)


def random_sample(people: Population, speed: float) -> Design:
    """Design of a simple random sample whose size gives this speedup."""
    size = max(2, round(len(people.y) / speed))
    return Design(np.zeros(len(people.y), np.int32), np.array([size]), np.zeros(len(people.y)))


def sweep(budgets: Sequence[float], seeds: int) -> Iterator[tuple[Sequence[object], Numbers]]:
    """A row for each method and epsilon; a number for each workload."""
    workloads = [population(name) for name in sorted(PROFILES)]
    for form in FORMS:
        for eps in budgets:
            judgements = [judged(people, planned(form, people, eps), seeds) for people in workloads]
            yield (form, text_of(eps)), judgements
            pairs = zip(workloads, judgements, strict=True)
            yield (
                ("  random at its speedup", text_of(eps)),
                [judged(people, random_sample(people, speed), seeds) for people, (speed, _) in pairs],
            )
    yield ("random, 0.1 % of the launches", "-"), [judged(people, random_sample(people, 1000.0), seeds) for people in workloads]


def known_times(people: Population, noise: float) -> Population:
    """The population with its true times, disturbed by a relative error `noise`, as predictions."""
    off = generator(0, f"times {people.name}").lognormal(0.0, noise, len(people.y))
    return people.with_times(people.y * off)


def by_times(people: Population, eps: float, seeds: int, method: str) -> tuple[float, float]:
    """Share of runs whose bound was right, and mean share of the total that they simulated, for a method that plans from
    times.
    """
    if method == "kernelpoint":
        runs = [people.run(ErrorBudget(eps), seed) for seed in range(seeds)]
        return float(np.mean([run.held() for run in runs])), float(np.mean([run.spent for run in runs]))
    if method == "random":
        design = random_sample(people, 1.0 / by_times(people, eps, min(seeds, 5), "kernelpoint")[1])
    else:
        predicted = np.asarray(people.predictions["cycles"].mean)
        design = planned(method, replace(people, y=predicted), eps)
    samples = (sampled(people, replace(design, u=permanent_random_numbers(s, 0, len(people.y)))) for s in range(seeds))
    speeds, errors = np.array(list(samples)).T
    return float((np.abs(errors) <= eps).mean()), float((1.0 / speeds).mean())


def from_times(
    label: str, workloads: Sequence[Population], budgets: Sequence[float], seeds: int
) -> Iterator[tuple[Sequence[object], Numbers]]:
    """Rows for each method that plans from times, and each budget: share of right runs and share simulated, for each
    workload.
    """
    for method in TIMED:
        for eps in budgets:
            shares = [by_times(people, eps, seeds, method) for people in workloads]
            yield (label, method.partition(" (")[0], text_of(eps)), [(right, right, spent) for right, spent in shares]


def times(budgets: Sequence[float], seeds: int, names: Sequence[str] = PROFILES) -> Iterator[tuple[Sequence[object], Numbers]]:
    """Rows of the table `times`, for each noise."""
    workloads = [population(name) for name in names]
    for noise in NOISES:
        yield from from_times(f"{100 * noise:g} %", [known_times(people, noise) for people in workloads], budgets, seeds)


def together(names: Sequence[str]) -> Program:
    """Launches of several profiles, each as an application of one run, with their times."""
    builder = ProgramBuilder(" + ".join(names))
    for process, name in enumerate(names):
        people = population(name)
        assert people.program is not None
        columns = people.program.names, people.program.grid.tolist(), people.program.block.tolist(), people.y.tolist()
        for order, (kernel, grid, block, time) in enumerate(zip(*columns, strict=True)):
            builder.add(kernel, grid, block, process=process, order=order, duration=time)
    return builder.finish()


def applications(
    budgets: Sequence[float], seeds: int, sets: Sequence[Sequence[str]] = APPLICATIONS
) -> Iterator[tuple[Sequence[object], Numbers]]:
    """Rows of the table `applications`, for each noise and budget."""
    programs = [together(names) for names in sets]
    for noise, eps in product(NOISES[:2], budgets):
        numbers = []
        for program in programs:
            y, config, runs = program.duration, policy(ErrorBudget(eps)).config, []
            off = generator(0, f"times {program.source}").lognormal(0.0, noise, len(y))
            budget, targets = with_range_targets(config, None, ErrorBudget(eps), program.counts)
            totals = y.sum(), *np.add.reduceat(y, program.offsets[:-1])
            for seed in range(seeds):
                planned_from = replace(program, duration=y * off, seed=seed)
                engine = Engine(design_of(policy(budget, seed), planned_from), budget, ranges=targets)
                look = last_look(engine, ("cycles",), y)
                estimates = look.estimates["cycles"], *look.ranges.values()
                right = [one.contains(float(total)) for one, total in zip(estimates, totals, strict=True)]
                runs.append([*right, y[engine.drawn()].sum() / y.sum()])
            *shares, spent = np.mean(runs, axis=0)
            numbers.append((np.mean(shares), min(shares), spent))
        yield (f"{100 * noise:g} %", text_of(eps)), numbers


def recorded_again(pair: str) -> Population:
    """The second of two recordings `FIRST,SECOND`, with the times of the first as predictions: cycles of a full run, or times
    of a profile.
    """
    first, second = map(read_profile, pair.split(","))
    x, y = (np.asarray(one.counters.get("cycles", one.duration), dtype=float) for one in (first, second))
    kernel = second.names.numbers
    return Population(y, kernel, kernel, pair, second).with_times(x)


def representatives() -> Iterator[tuple[Sequence[object], Numbers]]:
    """A row for each rule: the first, middle or last launch represents its instruction sequence."""
    people = population("simpletorch accelsim")
    stream, total = people.signature, people.y.sum()
    units = [np.flatnonzero(stream == s) for s in np.unique(stream)]
    for name, pick in (("first", 0.0), ("middle", 0.5), ("last", 1.0)):
        chosen = np.sort([members[round(pick * (len(members) - 1))] for members in units])
        design = Design(stream, np.ones(len(units), np.int64), np.zeros(len(stream)), chosen=chosen)
        speed, error = sampled(people, design)
        yield (name,), [(len(units), 1.0 / speed, error, error * total / (total - LATENCY * len(stream)))]


def repeated(eps: float, seeds: int) -> Iterator[tuple[Sequence[object], Numbers]]:
    """Rows of a table, one for each list: speedup, error, number of simulated launches, number of clusters."""
    kernels = generator(0, "kernels of a list").lognormal(9.0, 1.0, MADE_UP_KERNELS)
    profile = population(REPEATED_PROFILE)
    lists = {
        "made up": (kernels, np.arange(MADE_UP_KERNELS), (400, 4_000, 40_000)),
        REPEATED_PROFILE: (profile.y, profile.kernel, (1, 5, 50)),
    }
    for name, (times, kernel, repetitions) in lists.items():
        for count, spread in product(repetitions, (0.02, 0.1)):
            size, numbers = len(times) * count, np.tile(kernel, count)
            planned_from, judged_on = (
                np.tile(times, count) * np.exp(spread * generator(run, "repeated list", size).standard_normal(size))
                for run in (1, 2)
            )
            design = planned("allegro", Population(planned_from, numbers, numbers, name), eps)
            drawn = Engine(design, ErrorBudget(eps, bound="none"), "mean").wanted()
            speed, error = judged(Population(judged_on, numbers, numbers, name), design, seeds)
            yield (name, f"{size:,}", f"{100 * spread:g} %"), [(speed, error, len(drawn), len(design.sizes))]


def geometric(values: np.ndarray) -> str:
    return f"{np.exp(-np.log(values).mean()):.1f}x"


def least(values: np.ndarray) -> str:
    return f"{values.min():.2f}"


def harmonic(values: np.ndarray) -> str:
    return speedup(1.0 / values)


def main() -> None:
    parser = arguments(__doc__, 20, "0.03,0.05,0.10,0.25")
    parser.add_argument("what", choices=("sweep", "times", "applications", "another", "representatives", "repeated"))
    parser.add_argument("--recordings", nargs="*", default=[], metavar="FIRST,SECOND")
    options = parser.parse_args()
    if options.what == "sweep":
        rows = sweep(options.budgets, options.seeds)
        print_table(["method", "epsilon"], {"speedup": harmonic, "error": percent}, rows)
    elif options.what in ("times", "another"):
        if options.what == "times":
            rows = times(options.budgets, options.seeds)
        else:
            rows = from_times("another", [recorded_again(pair) for pair in options.recordings], options.budgets, options.seeds)
        print_table(["known times", "method", "budget"], {"right": share, "least": least, "speedup": geometric}, rows)
    elif options.what == "applications":
        columns = {"right": share, "least": least, "speedup": geometric}
        print_table(["known times", "budget"], columns, applications(options.budgets, options.seeds))
    elif options.what == "repeated":
        columns = {"speedup": harmonic, "error": percent, "simulated": mean, "clusters": mean}
        print_table(["list", "launches", "spread"], columns, repeated(options.budgets[0], options.seeds))
    else:
        columns = {"simulated": mean, "speedup": speedup, "error": bias, "beyond latency": bias}
        print_table(["launch of each sequence"], columns, representatives())


if __name__ == "__main__":
    main()

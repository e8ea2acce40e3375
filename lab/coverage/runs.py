"""Runs of the shipped engines on populations whose totals are known, and tables of them in Markdown."""

from __future__ import annotations

import csv
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from populations import Population
from scipy.stats import binom

from kernelpoint.config import parse_config
from kernelpoint.estimation import AssistedDesign, Design, Engine, ErrorBudget, Look, passes
from kernelpoint.estimation.strata.inference import Inference
from kernelpoint.estimation.strata.stratify import Stratification, stratify
from kernelpoint.fast_model import in_terms_of
from kernelpoint.fast_model.configuration import configuration_of_host
from kernelpoint.policies.methods import kernelpoint as shipped
from kernelpoint.randomness import permanent_random_numbers


@dataclass(frozen=True)
class Case:
    """A population with known values, and the engine of a sampled run on it.

    Attributes:
        values: truth of every counter, float64 [N].
        engine: of a run with a budget and a seed.
    """

    name: str
    values: dict[str, np.ndarray]
    engine: Callable[[ErrorBudget, int], Engine]

    @property
    def y(self) -> np.ndarray:
        """Cycles, or times."""
        return self.values["cycles"]

    def run(
        self, budget: ErrorBudget, seed: int, counters: tuple[str, ...] = ("cycles",), **changed: np.ndarray
    ) -> tuple[Engine, Look]:
        """The engine after its passes on these counters, and its last look; changed: other values of counters."""
        engine, columns = self.engine(budget, seed), {**self.values, **changed}
        return engine, last_look(engine, counters, np.stack([columns[name] for name in counters], axis=1))


def last_look(engine: Engine, counters: tuple[str, ...], values: np.ndarray) -> Look:
    """Passes until the budget is met or nothing is left to draw. Reports of single clusters are left out, for speed."""
    with mock.patch.object(Inference, "_parts", lambda self, groups, name: []):
        *_, look = passes(engine, counters, values)
    return look


def policy(budget: ErrorBudget, seed: int = 0, assume: str = "ordinary") -> shipped.KernelPoint:
    """The shipped policy, configured as a user would."""
    wanted = {"relative_error": budget.relative_error, "confidence": budget.confidence, "counter": budget.counter}
    keys = {"version": 1, "policy": "kernelpoint", "error_budget": wanted, "seed": seed, "assume": assume}
    return shipped.KernelPoint(parse_config(keys))


@lru_cache(maxsize=64)
def _strata(people: Population, eps: float, confidence: float, counter: str, assume: str) -> Stratification:
    """The strata that the shipped policy asks for; they do not depend on the seed, so they are made once."""
    made: list[Stratification] = []

    def watch(*levels: Any, **options: Any) -> Stratification:
        made.append(stratify(*levels, **options))
        return made[0]

    with mock.patch.object(shipped, "stratify", watch):
        policy(ErrorBudget(eps, confidence, counter=counter), 0, assume).design(people.known)
    return made[0]


def design(people: Population, budget: ErrorBudget, seed: int, assume: str = "ordinary") -> Design:
    """The design of the shipped policy with that seed."""
    strata = _strata(people, budget.relative_error, budget.confidence, budget.counter, assume)
    return strata.design(permanent_random_numbers(seed, 0, len(people.y)), seed)


def sampled(people: Population, assume: str = "ordinary") -> Case:
    """Runs of the shipped policy without predictions."""
    values = people.counters or {"cycles": people.y}
    return Case(people.name, values, lambda budget, seed: Engine(design(people, budget, seed, assume), budget))


@dataclass(frozen=True)
class FullRun:
    """A full run of the embedded host.

    Attributes:
        counters: float64 [N] by name.
        predictions: the same in a full run with another configuration.
        kernel: int [N], of each launch.
    """

    name: str
    counters: dict[str, np.ndarray]
    predictions: dict[str, np.ndarray]
    kernel: np.ndarray

    def case(self, assume: str = "ordinary", lines: np.ndarray | None = None) -> Case:
        """Runs with these predictions; kernels are the groups. lines: correction line of each, None: its own."""
        base = AssistedDesign(self.predictions, self.kernel, np.zeros(len(self.kernel)), assume, lines=lines)

        def engine(budget: ErrorBudget, seed: int) -> Engine:
            return Engine(replace(base, u=permanent_random_numbers(seed, 0, base.size)), budget)

        return Case(self.name, self.counters, engine)


def arguments(about: str | None, seeds: int, budgets: str) -> ArgumentParser:
    """A parser with `--seeds`, `--budgets` and the options of `full_runs`; about: docstring of the program."""
    parser = ArgumentParser(description=(about or "").partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=seeds)
    parser.add_argument("--budgets", type=lambda text: [float(part) for part in text.split(",")], default=budgets)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--truth", default="v100")
    parser.add_argument("--model", default="rtx")
    return parser


def full_runs(options: Namespace) -> Iterator[FullRun]:
    """The full runs FOLDER/NAME-TRUTH.csv, each with the predictions of FOLDER/NAME-MODEL.csv (`kernelpoint-host -results`, or
    recorded.py)."""
    is_packaged = options.model != "predictions"
    latency = int(configuration_of_host(options.model).values["launch_latency"]) if is_packaged else 0
    for path in sorted(options.folder.glob(f"*-{options.truth}.csv")):
        name = path.name.removesuffix(f"-{options.truth}.csv")
        counters, kernel = _read(path)
        predictions = _read(options.folder / f"{name}-{options.model}.csv")[0]
        yield FullRun(name, counters, in_terms_of("kernelpoint-host", predictions, latency=latency), kernel)


def _read(path: Path) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Counters of every launch, and its kernel by number."""
    with path.open() as file:
        rows = list(csv.DictReader(file))
    names = [name for name in rows[0] if name not in ("launch_index", "trace", "kernel_name")]
    counters = {name: np.array([float(row[name]) for row in rows]) for name in names}
    return counters, np.unique([row["kernel_name"] for row in rows], return_inverse=True)[1]


def too_seldom(held: int, runs: int, confidence: float = 0.95) -> bool:
    """True if intervals hold more seldom than stated: one-sided exact binomial test at 1 %.

    >>> too_seldom(470, 500), too_seldom(400, 500)
    (False, True)
    """
    return float(binom.cdf(held, runs, confidence)) <= 0.01


def percents(budgets: list[float]) -> list[str]:
    """Headings of columns."""
    return [f"{100 * eps:g} %" for eps in budgets]


def print_head(*headings: str) -> None:
    """Print the first two lines of a table."""
    print_row(*headings)
    print("|---" * len(headings) + "|", flush=True)


def print_row(*cells: object) -> None:
    """Print a line of a table, at once."""
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)

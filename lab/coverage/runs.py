"""Tables of seeded runs in Markdown: a row has labels and the numbers of each run, a column one statistic of these."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import binom

Show = Callable[[np.ndarray], str]  # the numbers of all runs -> a cell
Numbers = Iterable[Sequence[float]]  # of each run, one for each column


def share(values: np.ndarray) -> str:
    """Format the share of runs for which a statement is true; runs with nan do not count."""
    return f"{np.nanmean(values):.3f}" if not np.isnan(values).all() else "-"


def mean(values: np.ndarray) -> str:
    return f"{values.mean():.1f}"


def most(values: np.ndarray) -> str:
    return f"{values.max():.0f}"


def speedup(values: np.ndarray) -> str:
    """Format the mean speedup of runs, from the share of the total that each simulates."""
    return f"{1.0 / values.mean():.1f}x"


def bias(values: np.ndarray) -> str:
    """Format the mean of signed relative errors in per cent."""
    return f"{100 * values.mean():+.3f} %"


def percent(values: np.ndarray) -> str:
    return f"{100 * values.mean():.3f} %"


def largest(values: np.ndarray) -> str:
    """Format the largest absolute relative error in per cent."""
    return f"{100 * np.abs(values).max():.3f} %"


def quantiles(values: np.ndarray) -> str:
    """Format the 10th, 50th and 90th percentile."""
    return ", ".join(f"{q:.2f}" for q in np.quantile(values, (0.1, 0.5, 0.9)))


def median_percent(values: np.ndarray) -> str:
    return f"{100 * np.nanmedian(values):.3g} %" if np.isfinite(values).any() else "-"


def times(values: np.ndarray) -> str:
    """Format the median of factors."""
    return f"{np.median(values):.3g}x"


class Experiment(NamedTuple):
    """An experiment of `measure.py --show`.

    Attributes:
        rows: function of a population (populations.py) and a budget; yields further labels and the numbers of the runs.
        columns: heading and format of each column.
        labels: headings of the further labels.
        after: function that prints a summary of all rows, from their labels and numbers.
    """

    rows: Callable[[Any, float, Namespace], Iterator[tuple[Sequence[object], Numbers]]]
    columns: Mapping[str, Show]
    labels: Sequence[str] = ()
    after: Callable[[Mapping[tuple[object, ...], np.ndarray]], None] = lambda table: None


def print_table(
    labels: Sequence[str], columns: Mapping[str, Show], rows: Iterable[tuple[Sequence[object], Numbers]]
) -> dict[tuple[object, ...], np.ndarray]:
    """Print a table, each row as soon as its runs have ended. Returns the numbers of each row, by its labels."""
    print_row(*labels, *columns)
    print("|---" * (len(labels) + len(columns)) + "|", flush=True)
    table = {}
    for label, numbers in rows:
        table[tuple(label)] = row = np.array(list(numbers), dtype=float)
        cells = [show(row[:, k]) for k, show in enumerate(columns.values())] if len(row) else ["-"] * len(columns)
        print_row(*label, *cells)
    return table


def print_row(*cells: object) -> None:
    """Print a line of a table, at once."""
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def text_of(eps: float) -> str:
    """Format an error budget in per cent."""
    return f"{100 * eps:g} %"


def arguments(about: str | None, seeds: int, budgets: str) -> ArgumentParser:
    """Make a command line parser with `--seeds` and `--budgets`; `about`: docstring of the program."""
    parser = ArgumentParser(description=(about or "").partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=seeds)
    parser.add_argument("--budgets", type=lambda text: [float(part) for part in text.split(",")], default=budgets)
    return parser


def too_seldom(held: int, runs: int, confidence: float = 0.95) -> bool:
    """True if intervals hold more seldom than stated: one-sided exact binomial test at 1 %.

    >>> too_seldom(470, 500), too_seldom(400, 500)
    (False, True)
    """
    return float(binom.cdf(held, runs, confidence)) <= 0.01

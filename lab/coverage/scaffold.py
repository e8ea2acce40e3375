"""Shared parts of the programs in this folder: options, full runs with predictions, tables in Markdown."""

from __future__ import annotations

import csv
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np


def arguments(about: str | None, seeds: int, budgets: str = "") -> ArgumentParser:
    """A parser with `--seeds` and, where there is a default, `--budgets`; `about`: docstring of the program."""
    parser = ArgumentParser(description=(about or "").partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=seeds)
    if budgets:
        parser.add_argument("--budgets", type=numbers, default=budgets)
    return parser


def numbers(text: str) -> list[float]:
    """Numbers, separated by commas."""
    return [float(part) for part in text.split(",")]


@dataclass(frozen=True)
class FullRun:
    """A full run of the embedded host. counters: float64 [N] by name; predictions: the same in a full run with another
    configuration; kernel: int [N], of each launch.
    """

    name: str
    counters: dict[str, np.ndarray]
    predictions: dict[str, np.ndarray]
    kernel: np.ndarray


def add_full_runs(parser: ArgumentParser, required: bool = True) -> None:
    """Options of `full_runs`."""
    parser.add_argument("folder", type=Path, nargs=None if required else "?")
    parser.add_argument("--truth", default="v100")
    parser.add_argument("--model", default="rtx")


def full_runs(options: Namespace) -> Iterator[FullRun]:
    """The full runs FOLDER/NAME-TRUTH.csv, each with the predictions of FOLDER/NAME-MODEL.csv (`kernelpoint-host -results`)."""
    for path in sorted(options.folder.glob(f"*-{options.truth}.csv")):
        name = path.name.removesuffix(f"-{options.truth}.csv")
        counters, kernel = _read(path)
        yield FullRun(name, counters, _read(options.folder / f"{name}-{options.model}.csv")[0], kernel)


def _read(path: Path) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Counters of every launch, and its kernel by number."""
    with path.open() as file:
        rows = list(csv.DictReader(file))
    names = [name for name in rows[0] if name not in ("launch_index", "trace", "kernel_name")]
    counters = {name: np.array([float(row[name]) for row in rows]) for name in names}
    return counters, np.unique([row["kernel_name"] for row in rows], return_inverse=True)[1]


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

"""Workloads whose full runs are known: read and embedded once, then planned and sampled under many seeds."""

from __future__ import annotations

import csv
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kernelpoint.config import Config, parse_config
from kernelpoint.encoder import embed_streams
from kernelpoint.estimation import Design, Engine, ErrorBudget, Look, passes
from kernelpoint.evaluation.workload import full_run
from kernelpoint.policies.methods.kernelpoint import KernelPoint
from kernelpoint.profiles import Profile
from kernelpoint.traces import ScanTable, launch_paths, scan_launches
from kernelpoint.workload import Population


def say(line: str) -> None:
    """A line at once: rows come slowly."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


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

    def design(self, budget: float, seed: int, profile: Profile | None = None) -> Design:
        """The shipped policy's design."""
        people = Population(
            (len(self.paths),), seed, self.scan, self.paths, embeddings=self.embeddings, profile=profile
        )
        return KernelPoint(config(budget, seed)).design(people)


def config(budget: float, seed: int) -> Config:
    """The configuration of a run of the shipped policy."""
    return parse_config(
        {"version": 1, "policy": "kernelpoint", "seed": seed, "error_budget": {"relative_error": budget}}
    )


def sampled(design: Design, y: np.ndarray, budget: float) -> tuple[Engine, Look]:
    """The passes of a run whose results are looked up instead of simulated."""
    engine = Engine(design, ErrorBudget(budget))
    *_, look = passes(engine, ("cycles",), y)
    return engine, look

"""Populations with known totals: real profiles, full runs of simulators, and made-up ones.

Each comes with what is known of it before anything is simulated, as the shipped policies take it (workload.Population):
traces scanned and embedded, or launch metadata. `full_runs.py` records the runs.
"""

from __future__ import annotations

import csv
import gzip
import os
import sys
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
from full_runs import RUNS, full_run, known_from_traces, trace_folder
from made_up import MADE_UP
from trouble import Launches, troubled

from kernelpoint.profiles import read_profile
from kernelpoint.profiles.profile import Profile
from kernelpoint.workload import Population as Known

PROFILES = (
    "h100_owlv2",
    "v100_df_index",
    "v100_resnet50",
    "rtx2080ti_resnet",
    "a100_control",
    "a100_nccl",
    "a100_negative_queue",
    "b200_eager",
)


@dataclass(frozen=True, eq=False)
class Population:
    """name; y: float64 [N], truth; kernel, signature: int [N] in launch order; known: what the shipped policy sees; counters:
    other truths by name.
    """

    name: str
    y: np.ndarray
    kernel: np.ndarray
    signature: np.ndarray
    known: Known
    counters: dict[str, np.ndarray] = field(default_factory=dict)


def shared_data() -> Path | None:
    """The folder with the real data, if there is one."""
    default = Path(__file__).resolve().parents[2].parent / "shared" / "data"
    folder = Path(os.environ.get("KERNELPOINT_SHARED_DATA", default))
    return folder if (folder / "profiles").is_dir() else None


def _profile(name: str) -> Population:
    """A real GPU profile without NCCL kernels: y is the duration; its names and shapes are known, its times are not.

    name: of the shared data, or a file.
    """
    file, folder = Path(name), shared_data()
    if not file.is_file():
        if folder is None:
            sys.exit(f"{name}: no such file, and no shared profiles; set KERNELPOINT_SHARED_DATA to their folder")
        file = folder / "profiles" / f"{name}.csv.gz"
    full = read_profile(file).without_communication()
    return with_metadata(name, full.duration, full.without_results())


def with_metadata(name: str, y: np.ndarray, light: Profile) -> Population:
    """A population of which names and shapes are known."""
    known = Known((len(y),), 0, profile=light, measured=True)
    return Population(name, y, light.name_ids, light.signature, known)


def _simpletorch() -> tuple[np.ndarray, Known]:
    """A full Accel-Sim run of real traces (SM7_QV100): y is simulated cycles."""
    with gzip.open(shared_data() / "ground_truth" / "simpletorch_accelsim_qv100.csv.gz", "rt") as file:
        rows = list(csv.DictReader(file))
    folder = trace_folder("simpletorch")
    return np.array([float(row["cycles"]) for row in rows]), known_from_traces([str(folder / r["trace"]) for r in rows])


def with_traces(name: str, y: np.ndarray, known: Known, counters: dict[str, np.ndarray] | None = None) -> Population:
    """A population whose traces are known."""
    assert known.scan is not None
    return Population(name, y, known.scan.kernel_ids, known.scan.stream_ids, known, counters or {})


@lru_cache(maxsize=64)
def population(name: str) -> Population:
    """A population by name: `WORKLOAD GPU` of full_runs.py, one of made_up.py, or a profile; `BASE:TROUBLE` has trouble planted
    in it (trouble.py), which what is known of it does not tell.
    """
    if name in MADE_UP:
        return with_metadata(name, *MADE_UP[name]())
    if ":" in name:
        base, trouble = name.split(":")
        people = population(base)
        y = troubled(Launches(people.y, people.kernel, people.signature), trouble, f"{base} {trouble}")
        return replace(people, name=f"{base}, {trouble}", y=y, counters={})
    if name == "simpletorch accelsim":
        return with_traces(name, *_simpletorch())
    if name in RUNS:
        known, counters = full_run(name)
        return with_traces(name, counters["cycles"], known, counters)
    return _profile(name)

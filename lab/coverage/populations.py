"""Populations with known totals: real profiles, full runs of simulators, and synthetic ones with named difficulties.

Each comes with what is known of it before anything is simulated, as the shipped policies take it (policies.Population):
traces scanned and embedded, or launch metadata. `full_runs.py` records the runs.
"""

from __future__ import annotations

import csv
import gzip
import os
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import numpy as np
from fresh import fresh
from full_runs import RUNS, full_run, known_from_traces, other_gpu, trace_folder
from judged import judged
from loops import loops
from programs import program

from kernelpoint.profiles import read_profile
from kernelpoint.profiles.profile import Profile
from kernelpoint.randomness import generator
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
SYNTHETIC = ("drift", "late_change", "outliers", "bimodal", "tiny_and_huge", "mixed", "uneven", "violates")
# Parameters were chosen on these; all others are judged only.
TUNING = (
    "h100_owlv2",
    "v100_df_index",
    "a100_negative_queue",
    "v100_resnet50",
    "a100_nccl",
    "late_change",
    "mixed",
    "cnn-inference v100",
    "transformer-decode v100",
)
BEYOND_ASSUMPTIONS = ("outliers", "violates")  # rare large values that a small sample does not hold: see README


@dataclass(frozen=True, eq=False)
class Population:
    """name; y: float64 [N], truth; counters: other truths by name; x: float64 [N], work known beforehand; kernel, signature:
    int [N] in launch order; known: what the shipped policy sees; latency: cycles a launch takes at least; elsewhere: float64
    [N] or None, y on another GPU configuration.
    """

    name: str
    y: np.ndarray
    x: np.ndarray
    kernel: np.ndarray
    signature: np.ndarray
    known: Known
    counters: dict[str, np.ndarray] = field(default_factory=dict)
    latency: float = 0.0
    elsewhere: np.ndarray | None = None


def shared_data() -> Path | None:
    """The folder with the real data, if there is one."""
    default = Path(__file__).resolve().parents[2].parent / "shared" / "data"
    folder = Path(os.environ.get("KERNELPOINT_SHARED_DATA", default))
    return folder if (folder / "profiles").is_dir() else None


def profile(name: str) -> Population:
    """A real GPU profile without NCCL kernels: y is the duration; its names and shapes are known, its times are not.

    name: of the shared data, or a file.
    """
    file = Path(name) if Path(name).is_file() else shared_data() / "profiles" / f"{name}.csv.gz"
    full = read_profile(file).without_communication()
    return _with_metadata(name, full.duration, full.without_results())


def _with_metadata(name: str, y: np.ndarray, light: Profile) -> Population:
    threads = light.grid.prod(axis=1).astype(float) * light.block.prod(axis=1)
    known = Known((len(y),), 0, profile=light, measured=True)
    return Population(name, y, threads, light.name_ids, light.signature, known)


def simpletorch() -> Population:
    """A full Accel-Sim run of real traces (SM7_QV100): y is simulated cycles."""
    with gzip.open(shared_data() / "ground_truth" / "simpletorch_accelsim_qv100.csv.gz", "rt") as file:
        rows = list(csv.DictReader(file))
    y = np.array([float(row["cycles"]) for row in rows])
    folder = trace_folder("simpletorch")
    known = known_from_traces([str(folder / row["trace"]) for row in rows])
    return _with_traces("simpletorch accelsim", y, known, {}, latency=5000.0)


def _with_traces(name: str, y: np.ndarray, known: Known, counters: dict, latency: float, elsewhere=None) -> Population:
    scan = known.scan
    assert scan is not None
    work = scan.instructions.astype(float)
    return Population(name, y, work, scan.kernel_ids, scan.stream_ids, known, counters, latency, elsewhere)


def recorded(name: str) -> Population:
    """A full run of the embedded host: `workload gpu`."""
    known, counters, latency = full_run(name)
    elsewhere = full_run(other_gpu(name))[1]["cycles"]
    return _with_traces(name, counters["cycles"], known, counters, latency, elsewhere)


def _program(random: np.random.Generator, launches: int, kernels: int, body: int) -> np.ndarray:
    """A launch sequence as programs make it: one loop body of `body` launches over `kernels` signatures, repeated."""
    loop = random.integers(0, kernels, body)
    loop[:kernels] = np.arange(kernels)
    return np.tile(loop, launches // body + 1)[:launches]


def synthetic(name: str) -> Population:
    """Synthetic populations, each always the same."""
    random = generator(0, "coverage population " + name)
    N = 6000
    signature = _program(random, N, 20, 60)
    base = random.lognormal(3.0, 1.0, 400)
    noise = random.lognormal(0.0, 0.02, N)
    place = np.arange(N) / N
    if name == "drift":
        noise = noise * (1.0 + place)
    elif name == "late_change":
        noise = noise * np.where(place > 0.9, 1.6, 1.0)
    elif name == "outliers":
        noise = noise * np.where(random.random(N) < 0.005, 5.0, 1.0)
    elif name == "bimodal":
        noise = noise * np.where(random.random(N) < 0.5, 1.0, 3.0)
    elif name == "tiny_and_huge":
        signature = np.concatenate((np.repeat(np.arange(3), 1900), np.arange(300) // 2 + 3))
        random.shuffle(signature)
    elif name == "mixed":
        signature = _program(random, N, 80, 300)
        spread = random.lognormal(-3.5, 1.0, 400)
        noise = np.exp(spread[signature] * random.standard_normal(N))
        noise *= 1.0 + 0.1 * np.sin(np.roll(signature, 1) * 1.7)  # the launch before matters
    elif name == "uneven":  # most signatures are quiet, every fifth is not
        signature = _program(random, N, 80, 300)
        noise = random.lognormal(0.0, np.where(np.arange(400) % 5 == 0, 0.6, 0.01)[signature])
    elif name == "violates":
        noise = noise * np.where((signature == 3) & (random.random(N) < 0.01), 200.0, 1.0)
    else:
        raise ValueError(name)
    return _with_metadata(name, base[signature] * noise, _metadata(signature, base))


def _metadata(signature: np.ndarray, base: np.ndarray) -> Profile:
    """Seven kernels; a signature is a grid, of about as many blocks as its launches take time."""
    N, one = len(signature), np.ones(len(signature), dtype=np.int64)
    grid = np.stack([np.ceil(100.0 * base[signature]).astype(np.int64), one, one], axis=1)
    return Profile(
        source="synthetic",
        names=tuple(f"kernel{k}" for k in range(7)),
        name_ids=(signature % 7).astype(np.int32),
        grid=grid,
        block=np.stack([one, one, one], axis=1),
        registers=signature.astype(np.int64),
        shared_memory=0 * one,
        stream=0 * one,
        start=0 * one,
        duration=np.full(N, np.nan),
    )


@lru_cache(maxsize=64)
def population(name: str) -> Population:
    """A population by name; `judged: NAME` is one of judged.py, `loops: NAME` of loops.py, `fresh: NAME` of fresh.py,
    `program: NAME` of programs.py, `BASE:TROUBLE` has trouble planted in it (trouble.py).
    """
    if name.startswith("program: "):
        return _with_metadata(name, *program(name.removeprefix("program: ")))
    kind, _, of = name.partition(": ")
    if kind in (made := {"judged": judged, "loops": loops, "fresh": fresh}):
        y, signature, base = made[kind](of)
        return _with_metadata(name, y, _metadata(signature, base))
    if ":" in name:
        from trouble import planted

        return planted(*name.split(":"))
    if name == "simpletorch accelsim":
        return simpletorch()
    if name in RUNS:
        return recorded(name)
    return synthetic(name) if name in SYNTHETIC else profile(name)

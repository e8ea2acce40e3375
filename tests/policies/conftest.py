"""Small populations with everything that a policy may ask for."""

import numpy as np
import pytest

from kernelpoint.config import parse_config
from kernelpoint.policies.registry import load_policy
from kernelpoint.profiles.profile import ProfileBuilder
from kernelpoint.traces import LaunchShape, ScanTable
from kernelpoint.traces.cache import COUNTS
from kernelpoint.traces.scan import UNITS
from kernelpoint.workload import Available, Need, Population

KERNELS = ("gemm", "softmax", "copy")
STREAMS = 6  # two of each kernel: stream s runs kernel s % 3


def stream_of(count):
    """Streams in a repeating order, the rare ones now and then."""
    launches = np.arange(count)
    return np.where(launches % 11 == 7, 3 + launches % 3, launches % 3).astype(np.int32)


def scan(count):
    """What reading the traces of `count` launches would give."""
    _, stream = np.unique(stream_of(count), return_inverse=True)  # numbered without gaps
    present = np.unique(stream_of(count))
    instructions = 100 * (1 + present[stream].astype(np.int64)) ** 2
    counts = np.zeros((count, len(COUNTS)), dtype=np.int64)
    columns = {"instructions": 1, "thread_instructions": 30, "ctas": 0.01, "warps": 0.04, "global_accesses": 0.2,
               "shared_accesses": 0.1, "sectors": 0.8, "bytes": 25.6}  # fmt: skip
    for name, factor in columns.items():
        counts[:, COUNTS.index(name)] = instructions * factor
    shapes = tuple(LaunchShape(KERNELS[s % 3], (1 + int(s), 1, 1), (128, 1, 1), 0, 32) for s in present)
    return ScanTable(
        stream_ids=stream.astype(np.int32),
        shape_ids=stream.astype(np.int32),
        kernel_ids=(present[stream] % 3).astype(np.int32),
        counts=counts,
        by_unit=np.zeros((count, len(UNITS)), dtype=np.int64),
        streams=np.array([bytes([s]) * 16 for s in range(len(present))], dtype="V16"),
        shapes=shapes,
        kernel_names=KERNELS,
        errors={},
        paths=tuple(f"kernel-{i}.traceg" for i in range(count)),
    )


def profile(count, times=None):
    """A profile with times that differ a little inside a stream and much between streams."""
    builder = ProfileBuilder("synthetic")
    stream = stream_of(count)
    noise = np.random.default_rng(5).normal(1.0, 0.02, count)
    for launch in range(count):
        s = int(stream[launch])
        duration = 1000.0 * (1 + s) * noise[launch] if times is None else float(times[launch])
        builder.add(KERNELS[s % 3], (1 + s, 1, 1), (128, 1, 1), 32, 0, 7, 10_000 * launch, duration)
    return builder.finish()


def embeddings(count):
    """One far-apart point per stream."""
    present = len(np.unique(stream_of(count)))
    return np.random.default_rng(1).normal(size=(present, 256)).astype(np.float32)


def make(name, count=120, seed=0, times=None, **settings):
    """A policy and a population with what it needs, and nothing else."""
    chosen = load_policy(name)
    needs = chosen.inputs(Available())
    population = Population(
        counts=(count,),
        seed=seed,
        scan=scan(count) if Need.TRACES in needs else None,
        embeddings=embeddings(count) if Need.EMBEDDINGS in needs else None,
        profile=profile(count, times) if Need.PROFILE in needs else None,
    )
    config = parse_config({"version": 1, "policy": name, "seed": seed, **settings})
    return chosen(config), population


@pytest.fixture
def small_profile():
    return profile

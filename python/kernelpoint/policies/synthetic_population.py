"""Synthetic programs with the inputs of a policy, for the checks of conformance.py."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from kernelpoint.config import parse_config
from kernelpoint.policies.contract import Policy
from kernelpoint.policies.registry import load_policy
from kernelpoint.program import COUNTS, RECORD, Contents, Labels, Program, ProgramBuilder
from kernelpoint.repeated import Texts
from kernelpoint.workload import Available, Need

KERNELS = ("gemm", "softmax", "copy")
LAUNCHES = 120


def stream_of(count: int) -> np.ndarray:
    """int32 [count]: instruction sequence of each launch, six in a repeating order; sequence s belongs to kernel s % 3, three
    are rare.
    """
    launches = np.arange(count)
    return np.where(launches % 11 == 7, 3 + launches % 3, launches % 3).astype(np.int32)


def synthetic_scan(count: int) -> Program:
    """Program of `count` synthetic launches, as reading traces would give it."""
    _, stream = np.unique(stream_of(count), return_inverse=True)  # numbered without gaps
    present = np.unique(stream_of(count))
    instructions = 100 * (1 + present[stream].astype(np.int64)) ** 2
    records = np.zeros(count, dtype=RECORD)
    columns = {"instructions": 1, "thread_instructions": 30, "ctas": 0.01, "warps": 0.04, "global_accesses": 0.2,
               "shared_accesses": 0.1, "sectors": 0.8, "bytes": 25.6}  # fmt: skip
    for name, factor in columns.items():
        records["counts"][:, COUNTS.index(name)] = instructions * factor
    records["stream"] = np.array([bytes([s]) * 16 for s in range(len(present))], dtype="V16")[stream]
    traces = tuple(f"kernel-{i}.traceg" for i in range(count))
    contents = Contents(records, np.zeros((count, 3), dtype=np.uint64), traces, stream.astype(np.int32))
    shapes = np.array([(1 + int(s), 1, 1, 128, 1, 1, 32, 0) for s in present])
    return Program(
        (count,),
        labels=Labels(Texts(KERNELS, (present % 3).astype(np.int32)), shapes),
        label=stream.astype(np.int32),
        contents=contents,
        content=np.arange(count, dtype=np.int32),
    )


def synthetic_profile(count: int, times: np.ndarray | None = None) -> Program:
    """Profile whose times (ns) differ little within an instruction sequence and much between them, unless `times` are given."""
    builder = ProgramBuilder("made up")
    noise = np.random.default_rng(5).normal(1.0, 0.02, count)
    for launch, s in enumerate(stream_of(count).tolist()):
        duration = 1000.0 * (1 + s) * noise[launch] if times is None else float(times[launch])
        builder.add(KERNELS[s % 3], (1 + s, 1, 1), (128, 1, 1), 32, 0, 7, 10_000 * launch, duration)
    return builder.finish()


def synthetic_embeddings(count: int) -> np.ndarray:
    """Embeddings float32 [sequences, 256], far apart from each other."""
    present = len(np.unique(stream_of(count)))
    return np.random.default_rng(1).normal(size=(present, 256)).astype(np.float32)


def make(
    name: str, count: int = LAUNCHES, seed: int = 0, times: np.ndarray | None = None, **settings: Any
) -> tuple[Policy, Program]:
    """Make a policy and a synthetic program with the inputs that it needs; `settings` are configuration keys.

    >>> policy, program = make("gcl", count=12)
    >>> len(policy.design(program).strata)
    12
    """
    chosen = load_policy(name)
    needs = chosen.inputs(Available())
    program = synthetic_profile(count, times) if Need.PROFILE in needs else Program((count,))
    if Need.TRACES in needs:
        program = program.with_contents_of(synthetic_scan(count))
    embeddings = synthetic_embeddings(count) if Need.EMBEDDINGS in needs else None
    program = replace(program, seed=seed, embeddings=embeddings)
    config = parse_config({"version": 1, "policy": name, "seed": seed, **settings})
    return chosen(config), program

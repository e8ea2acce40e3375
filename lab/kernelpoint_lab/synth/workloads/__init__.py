"""Workloads by name: endless launch sequences, of which a list takes the first N launches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kernelpoint_lab.synth.launch import Launch
from kernelpoint_lab.synth.lists import HostCopy
from kernelpoint_lab.synth.workloads import (
    cnn_inference,
    graph_traversal,
    iterative_solver,
    training_step,
    transformer_decode,
)

DEFAULT_LAUNCHES = 3000
LAUNCHES = (1, 1_000_000)  # allowed


@dataclass(frozen=True)
class Workload:
    """A workload. shapes: its sizes at each scale; `sequence(shape, seed)` never ends."""

    name: str
    what: str
    shapes: Mapping[str, Any]
    sequence: Callable[[Any, int], Iterator[Launch | HostCopy]]


_MODULES = {
    "transformer-decode": (
        "token by token with a growing KV cache; requests of drawn length follow one another", transformer_decode
    ),
    "cnn-inference": (
        "dynamic batches under a load that rises and falls; a drawn number of detections each", cnn_inference
    ),
    "iterative-solver": (
        "conjugate gradients on meshes that refine and coarsen; iterations until convergence", iterative_solver
    ),
    "graph-traversal": ("breadth-first searches from popular sources on power-law graphs that grow", graph_traversal),
    "training-step": (
        "forward, backward and optimiser of a language model; batches of drawn length, shuffled in every epoch", training_step
    ),
}  # fmt: skip
WORKLOADS = {name: Workload(name, what, of.SHAPES, of.sequence) for name, (what, of) in _MODULES.items()}

"""Backends that compute embeddings: C++, or torch as the reference. Both give the same rounded numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

import numpy as np

from kernelpoint.encoder.checkpoint import Checkpoint
from kernelpoint.errors import ConfigError, shown
from kernelpoint.extras import needs_extra
from kernelpoint.graphs import TraceGraph

BACKENDS = ("auto", "native", "torch")


class Backend(Protocol):
    """An encoder that is ready to embed."""

    def embed_graphs(self, graphs: Iterable[TraceGraph]) -> Iterator[np.ndarray]:
        """One embedding per graph, float64 [256], before rounding."""
        ...

    def embed_traces(self, paths: Sequence[str], max_nodes: int) -> Iterator[np.ndarray]:
        """One embedding per trace, float64 [256], before rounding."""
        ...


def load_backend(name: str, checkpoint: Checkpoint, threads: int | None = None) -> Backend:
    """The encoder of a checkpoint on a backend; "auto" is "native".

    Args:
        threads: that "native" uses; by default as many as this process may use.

    Raises:
        ConfigError: no such backend.
        PlanError: the checkpoint's tensors are not those of the encoder.
        SetupError: torch is asked for and not installed.
    """
    if name not in BACKENDS:
        raise ConfigError(f"encoder.backend: {shown(name)} given, allowed are {', '.join(BACKENDS)}")
    if name == "torch":
        with needs_extra("encoder.backend: torch"):
            from kernelpoint.encoder.encode import TorchEncoder

        return TorchEncoder(checkpoint)
    from kernelpoint.encoder.native import NativeEncoder

    return NativeEncoder(checkpoint, threads)

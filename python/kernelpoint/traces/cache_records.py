"""Content of the cache: a record for each trace, and a key of everything that an embedding depends on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelpoint.errors import PlanError
from kernelpoint.traces.scan import UNITS, LaunchShape

# Names of the counts in a record, in order; see scan.Work.
COUNTS = (
    "instructions",
    "thread_instructions",
    "ctas",
    "warps",
    "global_accesses",
    "shared_accesses",
    "sectors",
    "bytes",
    "unread_instructions",
)
# One launch in the cache: stream hash, hash of operand values, counts, instructions by unit.
RECORD = np.dtype(
    [("stream", "V16"), ("values", "V16"), ("counts", "<i8", (len(COUNTS),)), ("by_unit", "<i8", (len(UNITS),))]
)


@dataclass(frozen=True)
class EmbeddingKey:
    """Everything that an embedding depends on besides the stream and the operand values.

    >>> key = EmbeddingKey(checkpoint="c0ffee", graph_schema="1", encoder_version="1", max_nodes=20_000)
    >>> key == EmbeddingKey("c0ffee", "1", "1", max_nodes=5_000)  # another bound gives another graph, so another embedding
    False
    """

    checkpoint: str  # hash
    graph_schema: str
    encoder_version: str
    max_nodes: int


@dataclass(frozen=True, eq=False)
class CachedLaunches:
    """Level 1 for some paths: `found` bool [n]; where true, `records` [n] of RECORD and `shapes` (None elsewhere)."""

    found: np.ndarray
    records: np.ndarray
    shapes: list[LaunchShape | None]


def round_embeddings(embeddings: np.ndarray) -> np.ndarray:
    """Embeddings as the cache returns them: float32 [n, d], rounded to float16.

    ``Numerics:`` thread counts and libraries change an embedding by some 1e-6; rounded before use, fresh and cached ones
    are the same number.

    Raises:
        PlanError: a value is not finite or does not fit float16.

    Example:
        >>> round_embeddings(np.array([[0.1]], dtype=np.float32)).tolist()
        [[0.0999755859375]]
    """
    with np.errstate(over="ignore"):
        rounded = np.asarray(embeddings, dtype=np.float32).astype(np.float16)
    if not np.isfinite(rounded).all():
        worst = np.asarray(embeddings)[~np.isfinite(rounded)].flat[0]
        raise PlanError(f"an embedding holds {worst}; allowed: finite numbers of at most 65504")
    return rounded.astype(np.float32)

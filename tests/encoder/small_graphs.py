"""Small random graphs, made without a trace."""

import numpy as np

from kernelpoint.graphs import SCHEMA, TraceGraph
from kernelpoint.randomness import generator


def random_graph(seed: int, warps: int = 3, nodes: int = 12) -> TraceGraph:
    """A graph with the shape of a trace graph and random content."""
    random = generator(seed, "test graph")
    sizes = random.integers(2, nodes, warps)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    edges = [
        (start + a, start + b)
        for start, size in zip(starts, sizes, strict=False)
        for a in range(size)
        for b in range(a + 1, size)
        if random.random() < 0.4 or b == a + 1
    ]
    count = int(starts[-1])
    kinds = random.integers(0, 3, count)
    kinds[starts[:-1]] = SCHEMA.node_kinds.index("instruction")
    tokens = np.where(kinds == 0, random.integers(0, 1 + len(SCHEMA.opcodes), count), 0)
    tokens = np.where(kinds > 0, random.integers(0, SCHEMA.token_count, count), tokens)
    return TraceGraph(
        kinds=kinds.astype(np.uint8),
        tokens=np.stack([tokens, random.integers(0, SCHEMA.modifier_count, count)], 1).astype(np.int32),
        features=random.random((count, SCHEMA.feature_count), dtype=np.float32),
        edge_index=np.array(edges, np.int64).T.copy(),
        edge_type=random.integers(0, len(SCHEMA.relations), len(edges)),
        warp_starts=starts.astype(np.int64),
        warp_weights=random.integers(1, 50, warps),
        total_warps=1000,
        left_out_warps=0,
        truncated=False,
    )

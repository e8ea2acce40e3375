"""Clusters of launches that nobody has read beforehand: each is read when it comes, and a new behaviour opens a new one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kernelpoint.clustering import ThresholdClusters, run_features
from kernelpoint.config import EncoderConfig
from kernelpoint.errors import TraceError
from kernelpoint.policies.methods.kernelpoint import CLUSTER_DISTANCE, LATENCY, SMS
from kernelpoint.traces import TraceCache, scan_launches

Log = Callable[[str], None]


@dataclass(frozen=True)
class Placed:
    """Place of a launch among the clusters.

    cluster: numbered in the order in which clusters open; stream: its hash; name: its kernel's;
    expected: its cost as policy kernelpoint expects it.
    """

    cluster: int
    stream: str
    name: str
    expected: float


class OnlineClusters:
    """The nearest known cluster by embedding, of about equal work; where there is none, a new one.

    Streams whose embeddings lie within CLUSTER_DISTANCE of a cluster's first one are near (leader clustering, see
    ThresholdClusters.partial_fit), and within those, launches whose work per SM rounds to the same power of two are one
    cluster: the two coarse levels of policy kernelpoint. Centres never move, so a launch's cluster is final the moment it
    comes, and does not depend on any result.

    Args:
        encoder: checkpoint and bound on the graph.
        log: told what is worth knowing about the cache.
    """

    def __init__(self, encoder: EncoderConfig, log: Log) -> None:
        self._encoder = encoder
        self._cache = TraceCache(log=log)
        self._leaders = ThresholdClusters(threshold=CLUSTER_DISTANCE)
        self._leader_of_stream: dict[str, int] = {}
        self._numbers: dict[tuple[int, int], int] = {}

    @property
    def count(self) -> int:
        """Clusters so far."""
        return len(self._numbers)

    def place(self, path: str | None) -> Placed:
        """Read the trace of a launch and find, or open, its cluster.

        Raises:
            TraceError: there is no trace, or it cannot be used.
        """
        if not path:
            raise TraceError("the host names no trace of this launch")
        scan = scan_launches([path], cache=self._cache, threads=1)
        stream = scan.stream_hash(0)
        if stream is None:
            raise TraceError(scan.errors[0])
        if stream not in self._leader_of_stream:
            from kernelpoint.encoder import embed_streams

            settings = self._encoder
            embedding = embed_streams(scan, self._cache, settings.checkpoint, settings.max_nodes)
            self._leader_of_stream[stream] = int(self._leaders.partial_fit(run_features(embedding)).labels_[0])
        per_sm = float(scan.instructions[0] / np.clip(scan.ctas[0], 1, SMS))
        key = self._leader_of_stream[stream], round(float(np.log2(1.0 + per_sm)))
        cluster = self._numbers.setdefault(key, len(self._numbers))
        return Placed(cluster, stream, scan.kernel_names[0], LATENCY + per_sm)

    def close(self) -> None:
        """Release the cache."""
        self._cache.close()

"""GCL-Sampler: clusters of learned embeddings, the first launch represents (Wang et al., arXiv 2603.00551)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from kernelpoint.clustering import silhouette_kmeans
from kernelpoint.config import Range, Section
from kernelpoint.estimation import Design
from kernelpoint.policies.contract import Representatives
from kernelpoint.policies.labels import numbered
from kernelpoint.program import Program
from kernelpoint.repeated import first_of_each
from kernelpoint.workload import Available, Need, require


class Gcl(Representatives):
    """GCL-Sampler (arXiv 2603.00551, 2026): the first launch of each cluster of similar launches represents the cluster.

    An embedding of each launch's trace is computed by the relational GCN of the paper. K-Means clusters the embeddings; K is
    the smallest with nearly the best silhouette. The estimated total is sum_c N_c y_c, for N_c launches in cluster c whose
    first has the value y_c. Layers, readout, views, loss and temperature of the training are those of the paper
    (checkpoints/README.md). We found no code of the authors.

    Model: our choices where the paper states nothing:

    * K from 2 to 20, and the formula of the total;
    * one encoder, trained on synthesised traces, for all workloads;
    * 4 bases, dropout 0.1, no ReLU after the last layer; learning rate, batch size and epochs of the training.

    Differences from the paper:

    * The graph has the distinct warps of a whole launch, up to 20,000 nodes; in the paper it has the CTAs of one SM.
    * Tokens and features of nodes, and five relations of edges, are those of our schema (plugin/native/graph/schema.h).
    * Launches whose trace cannot be read are simulated.

    No bound is stated, because nothing is drawn at random. The first launch of a stream runs with cold caches, so in simulators
    the estimate is too high (docs/evidence/methods.md); policy `kernelpoint` draws at random instead.
    """

    @dataclass(frozen=True)
    class Parameters(Section):
        max_clusters: Annotated[int, Range(2), "largest number of clusters tried"] = 20

    @classmethod
    def inputs(cls, available: Available) -> frozenset[Need]:
        return frozenset({Need.TRACES, Need.EMBEDDINGS})

    def design(self, program: Program) -> Design:
        require(program, "gcl", Need.TRACES, Need.EMBEDDINGS)
        readable = np.flatnonzero(program.stream_ids >= 0)
        used, stream, launches = np.unique(program.stream_ids[readable], return_inverse=True, return_counts=True)
        embeddings = np.asarray(program.embeddings)[used]
        strata = np.full(program.size, -1, dtype=np.int64)
        clusters = np.zeros(len(embeddings), dtype=np.int64)
        if len(embeddings) > 1:
            clusters = silhouette_kmeans(embeddings, launches, self.parameters.max_clusters, program.seed % 2**31)
        strata[readable] = clusters[stream.ravel()]
        strata = numbered(strata)
        return Design.purposive(strata, program.u, first_of_each(strata))

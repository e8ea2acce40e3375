"""GCL-Sampler: clusters of learned embeddings, the first launch represents (Wang et al., arXiv 2603.00551)."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from kernelpoint.clustering import silhouette_kmeans
from kernelpoint.config import Section
from kernelpoint.estimation import Design
from kernelpoint.policies.contract import Representatives
from kernelpoint.policies.labels import numbered
from kernelpoint.program import Program
from kernelpoint.repeated import first_of_each
from kernelpoint.workload import Available, Need, require


class Gcl(Representatives):
    """GCL-Sampler (arXiv 2603.00551, 2026).

    Each launch is embedded by the relational GCN of the paper; K-Means clusters the embeddings, with K by best silhouette and
    the smaller K on near ties; the first launch of each cluster represents it: total = sum_c N_c y_first(c), with N_c launches
    in cluster c and y their cycles. Layers, readout, views, loss and temperature of the training are those of the paper
    (checkpoints/README.md). No code of the authors was found.

    Model: our choices, where our sources of the paper state nothing:

    * the range of K, 2 to 20, and the formula of the total;
    * one encoder, trained on synthesised traces, for all workloads;
    * 4 bases, dropout of 0.1, no ReLU after the last layer, rate, batch and epochs of the training.

    Differences:

    * a graph is made of the distinct warps of a whole launch up to 20,000 nodes; the paper takes the CTAs of one SM;
    * nodes have the tokens and features of our schema (plugin/native/graph/schema.h), edges five relations;
    * launches whose trace cannot be read are simulated.

    No bound is stated: nothing is drawn at random. The first launch of a stream runs cold, so in simulators this rule is
    biased upwards (docs/evidence/methods.md); policy `kernelpoint` draws instead.
    """

    class Parameters(Section):
        """Parameters of the policy that a user may set."""

        max_clusters: Annotated[int, Field(ge=2, description="largest number of clusters tried")] = 20

    @classmethod
    def inputs(cls, available: Available) -> frozenset[Need]:
        """Inputs of the policy: traces and embeddings."""
        return frozenset({Need.TRACES, Need.EMBEDDINGS})

    def design(self, program: Program) -> Design:
        """Make the design: each cluster is a stratum, represented by its first launch."""
        require(program, "gcl", Need.TRACES, Need.EMBEDDINGS)
        readable = np.flatnonzero(program.stream_ids >= 0)
        used, stream, launches = np.unique(program.stream_ids[readable], return_inverse=True, return_counts=True)
        embeddings = np.asarray(program.embeddings)[used]
        strata = np.full(program.size, -1, dtype=np.int64)
        strata[readable] = self._clusters(embeddings, launches, program.seed)[stream.ravel()]
        strata = numbered(strata)
        chosen = first_of_each(strata)
        return Design.purposive(strata, program.u, chosen)

    def _clusters(self, embeddings: np.ndarray, launches: np.ndarray, seed: int) -> np.ndarray:
        """int64 [number of streams]: the cluster of each; one cluster where all rows agree."""
        if len(embeddings) < 2:
            return np.zeros(len(embeddings), dtype=np.int64)
        return silhouette_kmeans(embeddings, launches, self.parameters.max_clusters, seed % 2**31)

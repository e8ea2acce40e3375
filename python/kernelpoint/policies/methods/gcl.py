"""GCL-Sampler: clusters of learned embeddings, the first launch represents (Wang et al., arXiv 2603.00551)."""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from kernelpoint.clustering import silhouette_kmeans
from kernelpoint.clustering.features import WORK_COLUMNS, run_features
from kernelpoint.config import Section
from kernelpoint.estimation import Bound, Design, Method
from kernelpoint.policies.contract import Policy
from kernelpoint.policies.labels import first_of_each, numbered
from kernelpoint.traces import ScanTable
from kernelpoint.workload import Available, Need, Population


class Gcl(Policy):
    """GCL-Sampler (2026), as its paper has it.

    Each launch is embedded by the relational GCN; K-Means clusters the embeddings, with K by best silhouette and the
    smaller K on near ties; the first launch of each cluster represents it: that = sum_c N_c y_first(c).

    No bound is stated: nothing is drawn at random. The first launch of a stream runs cold, so in simulators this rule is
    biased upwards (docs/evidence/methods.md); policy `kernelpoint` draws instead.

    No code of the authors was found. Model: the formula of the total and the range of K (2 to 20) are our reading; the
    encoder is the one that the configuration names, trained beforehand rather than on each workload. Embeddings are not
    z-scored, and work is no feature, as in the paper. Launches whose trace cannot be read are simulated.

    Model: `work_scale`, not in the paper, adds log2 of the launch's work to the features. The silhouette then
    separates launches of one kernel by size; otherwise they stay in one cluster, however unlike their cycles
    (checkpoints/README.md).
    """

    class Parameters(Section):
        """Parameters that a user may set."""

        max_clusters: Annotated[int, Field(ge=2, description="largest number of clusters tried")] = 20
        work_scale: Annotated[
            float,
            Field(ge=0, description="of log2 of the work as a feature of clusters; 0 leaves it out, as the paper does"),
        ] = 0.0

    bounds: ClassVar[tuple[Bound, ...]] = ("none",)
    estimates: ClassVar[tuple[Method, ...]] = ("mean",)

    @classmethod
    def inputs(cls, available: Available) -> frozenset[Need]:
        """Traces and embeddings."""
        return frozenset({Need.TRACES, Need.EMBEDDINGS})

    def design(self, population: Population) -> Design:
        """A stratum per cluster, represented by its first launch."""
        scan = population.scan_for("gcl")
        readable = np.flatnonzero(scan.stream_ids >= 0)
        used, first, stream, launches = np.unique(scan.stream_ids[readable], True, True, True)
        features = self._features(population.embeddings_for("gcl")[used], scan, readable[first])
        strata = np.full(population.size, -1, dtype=np.int64)
        strata[readable] = self._clusters(features, launches, population.seed)[stream.ravel()]
        strata = numbered(strata)
        chosen = first_of_each(strata)
        return Design.purposive(strata, population.u, chosen)

    def _features(self, embeddings: np.ndarray, scan: ScanTable, launch: np.ndarray) -> np.ndarray:
        """Rows that clusters are made on: a stream's embedding, and the work of one of its launches if asked for."""
        if self.parameters.work_scale == 0:
            return embeddings
        work = np.stack([getattr(scan, name)[launch] for name in WORK_COLUMNS], axis=1)
        return run_features(embeddings, work, work_scale=self.parameters.work_scale)

    def _clusters(self, features: np.ndarray, launches: np.ndarray, seed: int) -> np.ndarray:
        """int64 [number of streams]: the cluster of each; one cluster where all rows agree."""
        if len(features) < 2:
            return np.zeros(len(features), dtype=np.int64)
        return silhouette_kmeans(features, launches, self.parameters.max_clusters, seed % 2**31)

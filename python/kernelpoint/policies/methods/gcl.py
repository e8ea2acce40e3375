"""GCL-Sampler: clusters of learned embeddings, the first launch represents (Wang et al., arXiv 2603.00551)."""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from kernelpoint.config import Section
from kernelpoint.estimation import Bound, Design, Method
from kernelpoint.policies.contract import Policy
from kernelpoint.policies.labels import first_of_each, numbered
from kernelpoint.workload import Available, Need, Population


class Gcl(Policy):
    """GCL-Sampler (2026), as its paper has it.

    Each launch is embedded by the relational GCN; K-Means clusters the embeddings, with K by best silhouette and the
    smaller K on near ties; the first launch of each cluster represents it: that = sum_c N_c y_first(c).

    No bound is stated: nothing is drawn at random. The first launch of a stream runs cold, so in simulators this rule is
    biased upwards (design, section 4, number 5); policy `kernelpoint` draws instead.

    No code of the authors was found. Model: the formula of the total and the range of K (2 to 20) are our reading; the
    encoder is the one that the configuration names, trained beforehand rather than on each workload. Embeddings are not
    z-scored, and work is no feature, as in the paper. Launches whose trace cannot be read are simulated.
    """

    class Parameters(Section):
        """Parameters that a user may set."""

        max_clusters: Annotated[int, Field(ge=2, description="largest number of clusters tried")] = 20

    bounds: ClassVar[tuple[Bound, ...]] = ("none",)
    estimates: ClassVar[tuple[Method, ...]] = ("mean",)

    @classmethod
    def inputs(cls, available: Available) -> frozenset[Need]:
        """Traces and embeddings."""
        return frozenset({Need.TRACES, Need.EMBEDDINGS})

    def design(self, population: Population) -> Design:
        """A stratum per cluster, represented by its first launch."""
        embeddings, stream = population.embeddings_for("gcl"), population.scan_for("gcl").stream_ids
        readable = np.flatnonzero(stream >= 0)
        strata = np.full(population.size, -1, dtype=np.int64)
        strata[readable] = _clusters(embeddings, stream[readable], self.parameters.max_clusters, population.seed)
        strata = numbered(strata)
        chosen = first_of_each(strata)
        return Design(
            strata=strata,
            first_sizes=np.ones(len(chosen), dtype=np.int64),
            u=population.u,
            clusters=np.arange(len(chosen)),
            chosen=np.sort(chosen),
        )


def _clusters(embeddings: np.ndarray, stream: np.ndarray, most: int, seed: int) -> np.ndarray:
    """int64 [n]: the cluster of each launch by its stream; one cluster where all embeddings agree."""
    from kernelpoint.clustering import SilhouetteKMeans

    used, inverse, launches = np.unique(stream, return_inverse=True, return_counts=True)
    if len(used) < 2:
        return np.zeros(len(stream), dtype=np.int64)
    found = SilhouetteKMeans(max_clusters=most, random_state=seed % 2**31)
    return found.fit(embeddings[used], sample_weight=launches).labels_[inverse.ravel()]

"""The sampling frame of a run: its launches and the plan that divides them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from kernelpoint.estimation import AssistedDesign, Design
from kernelpoint.journal import StrataRecord
from kernelpoint.planning.plan import Plan
from kernelpoint.program import Program


@dataclass(frozen=True)
class SamplingFrame:
    """Sampling frame of a run: its launches and the plan that divides them.

    plan_path: the file in which the plan lies, if any; hashes: of traces (the list's fingerprint), design, checkpoint, fast
    model.

    >>> import kernelpoint as kp
    >>> plan = kp.Plan.from_traces("traces/kernelslist.g", policy="gcl")
    >>> frame = SamplingFrame.of(Program((6,)), plan, None)
    >>> frame.is_predicted, frame.cluster_and_stream(5)[0], sorted(frame.hashes)
    (False, 0, ['checkpoint', 'design', 'traces'])
    """

    program: Program
    plan: Plan
    plan_path: str | None
    hashes: dict[str, str]

    @classmethod
    def of(cls, program: Program, plan: Plan, plan_path: str | None) -> SamplingFrame:
        """Make the frame from a program and its plan, with its hashes."""
        hashes = {"traces": plan.origin["traces"], "design": hash_design(plan.design)}
        if "checkpoint" in plan.origin:
            hashes["checkpoint"] = plan.origin["checkpoint"]
        if "fast_model" in plan.origin:
            hashes["fast_model"] = plan.origin["fast_model"]["config_hash"]
        return cls(program, plan, plan_path, hashes)

    @property
    def design(self) -> Design | AssistedDesign:
        """Sampling design, fixed before the first launch."""
        return self.plan.design

    @property
    def is_predicted(self) -> bool:
        """True if the estimate uses predictions of the launches, False if it uses strata."""
        return isinstance(self.design, AssistedDesign) or self.plan.first_phase is not None

    def expected_costs(self, units: np.ndarray) -> np.ndarray:
        """float64 [units]: expected cost of launches in any unit: predicted cycles, else the covariate, else 1."""
        expected = self.design.expected
        return np.ones(len(units)) if expected is None else np.asarray(expected, dtype=float)[units]

    def cluster_and_stream(self, unit: int) -> tuple[int | None, str | None]:
        """Cluster of a launch and hash of its instruction sequence, if known."""
        clusters, streams = self.design.clusters, self.plan.stream_ids
        stratum, stream = int(self.design.labels[unit]), -1 if streams is None else int(streams[unit])
        cluster = int(clusters[stratum]) if clusters is not None and stratum >= 0 else None
        return cluster, self.plan.stream_hashes[stream] if stream >= 0 else None


def strata_record(design: Design | AssistedDesign) -> StrataRecord | None:
    """Journal record of the strata of a design; None if the design has predictions and so no strata."""
    if isinstance(design, AssistedDesign):
        return None
    covariate = None if design.covariate_totals is None else design.covariate_totals.tolist()
    clusters = None if design.clusters is None else np.asarray(design.clusters).tolist()
    return StrataRecord(design.sizes.tolist(), covariate, clusters)


def hash_design(design: Design | AssistedDesign) -> str:
    """Hash of everything that a design fixes."""
    digest = hashlib.blake2b(digest_size=16)
    for part in _parts_of_assisted(design) if isinstance(design, AssistedDesign) else _parts_of_strata(design):
        digest.update(b"none" if part is None else np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()


def _parts_of_assisted(design: AssistedDesign) -> list[np.ndarray | None]:
    predictions = [
        part
        for _, prediction in sorted(design.known.items())
        for part in (prediction.values, prediction.of_draws, prediction.deviations)
    ]
    predictions += [np.array([1]) for prediction in design.known.values() if prediction.is_observed]
    return [design.groups, design.u, np.array(design.latency), design.kinds, *predictions]


def _parts_of_strata(design: Design) -> list[np.ndarray | None]:
    return [
        design.strata,
        design.first_sizes,
        design.u,
        design.x,
        design.cost,
        design.clusters,
        design.chosen,
    ]

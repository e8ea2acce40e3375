"""Sieve: stratified sampling by instruction counts, one representative each (Naderan-Tahan et al., ISPASS 2023)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np

from kernelpoint.config import Range, Section
from kernelpoint.errors import PolicyError
from kernelpoint.estimation import Design, Method
from kernelpoint.policies.contract import Representatives
from kernelpoint.policies.labels import numbered
from kernelpoint.program import Program
from kernelpoint.workload import Available, Need

THETA = 0.4  # coefficient of variation from which a kernel's launches are split (tier 3)
SECOND_PASS = 0.5  # a part whose coefficient of variation is above this is split once more
GRID_POINTS = 50
BANDWIDTH = 1.0


def density_cuts(counts: np.ndarray) -> np.ndarray:
    """Points that divide the launches of a kernel by their instruction counts: local minima of a Gaussian kernel density of the
    distinct counts.

    The log density, with bandwidth 1, is evaluated at 50 evenly spaced points from the least to the greatest count. A point
    that is no higher than both neighbours is a cut, as in the authors' scripts.

    Args:
        counts: float64 [n], instruction counts.

    Returns:
        float64 [cuts], ascending.

    >>> density_cuts(np.array([1.0, 2.0, 3.0, 101.0, 102.0])).round().tolist()
    [53.0]
    """
    distinct = np.unique(counts)
    if len(distinct) < 2:
        return np.empty(0)
    points = np.linspace(distinct[0], distinct[-1], GRID_POINTS)
    exponent = -0.5 * ((points[:, None] - distinct[None]) / BANDWIDTH) ** 2
    highest = exponent.max(axis=1)
    density = highest + np.log(np.exp(exponent - highest[:, None]).sum(axis=1))
    inner = (density[1:-1] <= density[:-2]) & (density[1:-1] <= density[2:])
    return points[1:-1][inner]


def variation(counts: np.ndarray) -> float:
    """Coefficient of variation of instruction counts; 0 if the mean is 0."""
    mean = float(counts.mean())
    return float(counts.std()) / mean if mean > 0.0 else 0.0


def most_frequent(values: np.ndarray) -> float:
    """Most frequent value; of several, the smallest.

    >>> most_frequent(np.array([3, 1, 1, 3]))
    1.0
    """
    distinct, number = np.unique(values, return_counts=True)
    return float(distinct[number.argmax()])


class Sieve(Representatives):
    """Sieve (ISPASS 2023): strata by instruction counts, with one representative launch each.

    | Tier | Instruction counts of the kernel | Strata | Representative |
    |---|---|---|---|
    | 1 | all equal | the kernel | first launch |
    | 2 | coefficient of variation below 0.4 | the kernel | first launch with the most frequent CTA size and, among these, count
    |
    | 3 | any other | parts, cut at minima of a density of the counts | first launch with the median distinct count |

    In tier 3, a part whose coefficient of variation is above 0.5 is cut once more. Estimated cycles: sum over strata h of I_h
    C_rep / I_rep, for I_h instructions in the stratum, and cycles C_rep and instructions I_rep of the representative (separate
    ratio estimator).

    No bound is stated, because nothing is drawn at random. The rules are those of the authors' scripts (gpubench/sieve).
    Instruction counts and CTA sizes come from traces, or from a profile with counters. Difference: launches without a count are
    simulated.
    """

    @dataclass(frozen=True)
    class Parameters(Section):
        theta: Annotated[float, Range(above=0), "coefficient of variation from which launches of a kernel are split"] = THETA

    estimate: ClassVar[Method] = "separate_ratio"

    @classmethod
    def inputs(cls, available: Available) -> frozenset[Need]:
        """Inputs of the policy: a profile that has the instructions of each launch; otherwise traces."""
        counts = None if available.profile is None else available.profile.instructions
        is_counted = counts is not None and bool(np.isfinite(counts).all())
        return frozenset({Need.PROFILE if is_counted else Need.TRACES})

    def design(self, program: Program) -> Design:
        counts = program.instructions
        if counts is None:
            raise PolicyError(
                "policy sieve needs the instruction count of every launch; give traces, or a profile with a counter such "
                "as smsp__inst_executed.sum (Nsight Compute)"
            )
        kernel = program.kernels
        usable = np.isfinite(counts) & (kernel >= 0)
        if not usable.any():
            raise PolicyError("policy sieve: no launch has a kernel name and an instruction count; give a profile of both")
        threads = program.block.prod(axis=1)
        strata = np.full(program.size, -1, dtype=np.int64)
        chosen: list[int] = []
        for number in np.unique(kernel[usable]):
            units = np.flatnonzero(usable & (kernel == number))
            for part, representative in _strata_of(units, counts[units], threads[units], self.parameters.theta):
                strata[part] = len(chosen)
                chosen.append(representative)
        design = Design.purposive(numbered(strata), program.u, np.array(chosen, dtype=np.int64))
        return replace(design, x=np.where(np.isfinite(counts), counts, 0.0))


def _strata_of(units: np.ndarray, counts: np.ndarray, threads: np.ndarray, theta: float) -> list[tuple[np.ndarray, int]]:
    """Launches and representative of every stratum of one kernel."""
    if (counts == counts[0]).all():
        return [(units, int(units[0]))]
    if variation(counts) < theta:
        dominant = threads == most_frequent(threads)
        return [(units, int(units[dominant & (counts == most_frequent(counts[dominant]))][0]))]
    strata = []
    for part in _parts(counts):
        again = _parts(counts[part]) if variation(counts[part]) > SECOND_PASS else [np.arange(len(part))]
        for piece in (part[inner] for inner in again):
            distinct = np.unique(counts[piece])
            middle = distinct[len(distinct) // 2]
            strata.append((units[piece], int(units[piece[counts[piece] == middle][0]])))
    return strata


def _parts(counts: np.ndarray) -> list[np.ndarray]:
    part = np.searchsorted(density_cuts(counts), counts, side="left")
    return [np.flatnonzero(part == number) for number in np.unique(part)]

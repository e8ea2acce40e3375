"""Estimates as records of the journal: of the run, of its kernels and ranges, and of every launch."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from kernelpoint.estimation import Estimate, Look, Tree, subtotals
from kernelpoint.journal import EstimateRecord, KernelRecord, LaunchesRecord, LookRecord, RangeRecord
from kernelpoint.journal.launch_estimates import pack
from kernelpoint.journal.records import BLOCK
from kernelpoint.planning.plan import Plan
from kernelpoint.ranges import Ranges
from kernelpoint.ratios import rates_of

if TYPE_CHECKING:
    from kernelpoint.session.sample import Sample


def number(value: float) -> float | None:
    """A float for JSON, which has no NaN.

    >>> number(float("nan")) is None
    True
    """
    return float(value) if math.isfinite(value) else None


def estimate_record(estimate: Estimate) -> EstimateRecord:
    """An estimate as it stands in the journal: None for a number that is not finite."""
    return EstimateRecord(*(number(getattr(estimate, field.name)) for field in fields(EstimateRecord)))


def estimate_records(estimates: Mapping[str, Estimate]) -> dict[str, EstimateRecord]:
    """Record of each estimate, by name."""
    return {name: estimate_record(estimate) for name, estimate in estimates.items()}


def look_record(pass_index: int, look: Look) -> LookRecord:
    """An interim analysis as it stands in the journal."""
    return LookRecord(pass_index, bool(look.met), estimate_records(look.estimates), estimate_records(look.ratios))


# ---- parts of a run -------------------------------------------------------------------------------------------------


def range_records(ranges: Ranges, look: Look, sample: Sample) -> list[RangeRecord]:
    """Record of each range, in the order of `ranges.paths`.

    Args:
        look: the statement of the run.
        sample: the sample that it rests on, whose launches are those of the ranges.
    """
    known = {name: _targets(ranges, sample, name) for name in look.estimates}
    parts = _parts(Tree(ranges.parents, ranges.of_launch), look, sample, known)
    return [RangeRecord(path, *part) for path, part in zip(ranges.paths, parts, strict=True)]


def kernel_records(plan: Plan, look: Look, sample: Sample) -> list[KernelRecord]:
    """Record of each kernel, by name, with the counters that its rates are made of; none where the plan knows no names.

    Args:
        look: the statement of the run.
        sample: the sample that it rests on.
    """
    known, counters = _kernels_of(plan), look.estimates.keys() & set(sample.engine.counters)
    if known is None or "cycles" not in counters:
        return []
    names, of_launch = known
    wanted = {"cycles", *(name for pair in rates_of(counters).values() for name in pair)}
    parts = _parts(
        Tree(np.array([-1, *[0] * len(names)]), of_launch + 1), look, sample, {name: {} for name in sorted(wanted)}
    )
    return [
        KernelRecord(name, launches, simulated, estimates["cycles"].estimate, estimates)
        for name, (launches, simulated, estimates) in zip(names, parts[1:], strict=True)
    ]


def _kernels_of(plan: Plan) -> tuple[list[str], np.ndarray] | None:
    """Names of the kernels, and int64 [N], which one each launch is; None where the plan knows no names."""
    if plan.stream_ids is None or not plan.stream_names:
        return None
    of_launch = np.where(plan.stream_ids >= 0, plan.stream_ids, len(plan.stream_names))
    present, place = np.unique(of_launch, return_inverse=True)
    names, of_stream = np.unique(np.array([*plan.stream_names, ""])[present], return_inverse=True)
    return names.tolist(), of_stream[place]


def _parts(
    tree: Tree, look: Look, sample: Sample, known: Mapping[str, dict[int, Estimate]]
) -> list[tuple[int, int, dict[str, EstimateRecord]]]:
    """Launches, simulated launches, and the estimates of the counters of `known`, of each part of a run."""
    values, results = sample.estimates(), sample.has_result
    columns = {name: column for column, name in enumerate(sample.engine.counters)}
    found = {
        name: _of_counter(tree, look.estimates[name], values[:, columns[name]], sample, own)
        for name, own in known.items()
        if name in columns and name in look.estimates and np.isfinite(values[:, columns[name]]).all()
    }
    launches, simulated = (tree.sums(count)[: tree.count].astype(int) for count in (np.ones(len(results)), results))
    return [
        (int(launches[k]), int(simulated[k]), {name: parts[k] for name, parts in found.items()})
        for k in range(tree.count)
    ]


def _targets(ranges: Ranges, sample: Sample, counter: str) -> dict[int, Estimate]:
    """Estimates of the ranges that have a target in a counter, by the number of the range."""
    own = {one.path: one.estimate for one in sample.ranges if one.counter == counter and one.estimate}
    return {ranges.paths.index(path): estimate for path, estimate in own.items()}


def _of_counter(
    tree: Tree, whole: Estimate, values: np.ndarray, sample: Sample, known: dict[int, Estimate]
) -> list[EstimateRecord]:
    errors = None if whole.half_width == 0.0 else sample.engine.unit_errors(whole.counter)
    parts = subtotals(tree, whole, values, sample.has_result, errors, sample.engine.has_bias, known)
    return [estimate_record(part) for part in parts]


# ---- every launch ---------------------------------------------------------------------------------------------------


def launches_records(
    plan: Plan, offsets: Sequence[int], cycles: np.ndarray, strata: np.ndarray
) -> Iterator[LaunchesRecord]:
    """Estimates of every launch, in blocks of one process each.

    Args:
        offsets: the first unit of each process, and N.
        cycles, strata: [N], see LaunchesRecord.
    """
    known = _kernels_of(plan)
    kernels = np.full(len(cycles), -1) if known is None else known[1]
    for process, (begin, end) in enumerate(pairwise(offsets)):
        for first in range(begin, end, BLOCK):
            part = slice(first, min(first + BLOCK, end))
            yield LaunchesRecord(
                process=process,
                first=first - begin,
                count=part.stop - first,
                cycles=pack(cycles[part], "<f8"),
                strata=pack(strata[part], "<i4"),
                kernels=pack(kernels[part], "<i4"),
            )

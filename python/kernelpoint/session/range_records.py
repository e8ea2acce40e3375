"""Totals of the parts of a run (phases, layers, modules, kernels), as records of the journal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from kernelpoint.estimation import Estimate, Look, Tree, subtotals
from kernelpoint.journal import EstimateRecord, KernelRecord, RangeRecord
from kernelpoint.session.kernel_records import kernels_of
from kernelpoint.session.ratios import rates_of
from kernelpoint.session.summary import estimate_record

if TYPE_CHECKING:
    from kernelpoint.ranges import Ranges
    from kernelpoint.session.sample import Sample
    from kernelpoint.workload.plan import Plan


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
    known, counters = kernels_of(plan), look.estimates.keys() & set(sample.engine.counters)
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
    unknown = whole.half_width == 0.0 or sample.cuts_layers(tree.of_unit)
    errors = None if unknown else sample.engine.unit_errors(whole.counter)
    parts = subtotals(tree, whole, values, sample.has_result, errors, sample.engine.has_bias, known)
    return [estimate_record(part) for part in parts]

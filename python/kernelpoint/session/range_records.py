"""Totals of the ranges of a run (phases, layers, modules), as records of the journal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kernelpoint.estimation import Estimate, Look, Tree, subtotals
from kernelpoint.journal import EstimateRecord, RangeRecord
from kernelpoint.session.summary import estimate_record

if TYPE_CHECKING:
    from kernelpoint.ranges import Ranges
    from kernelpoint.session.sample import Sample


def range_records(ranges: Ranges, look: Look, sample: Sample) -> list[RangeRecord]:
    """Record of each range, in the order of `ranges.paths`.

    Args:
        look: the statement of the run; sample: the sample that it rests on, whose launches are those of the ranges.
    """
    tree = Tree(ranges.parents, ranges.of_launch)
    values, results = sample.estimates(), sample.has_result
    columns = {name: column for column, name in enumerate(sample.engine.counters)}
    found = {
        name: _of_counter(tree, whole, values[:, columns[name]], sample, _targets(ranges, sample, name))
        for name, whole in look.estimates.items()
        if name in columns and np.isfinite(values[:, columns[name]]).all()
    }
    launches, simulated = (tree.sums(count)[: tree.count].astype(int) for count in (np.ones(ranges.size), results))
    return [
        RangeRecord(path, int(launches[k]), int(simulated[k]), {name: parts[k] for name, parts in found.items()})
        for k, path in enumerate(ranges.paths)
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

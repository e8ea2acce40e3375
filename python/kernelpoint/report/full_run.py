"""A sampled run beside a full run of the same list: how far the estimate is off, and by how much the simulated launches are."""

from __future__ import annotations

from dataclasses import dataclass, field

from kernelpoint.errors import JournalError
from kernelpoint.journal import Run
from kernelpoint.pages.numbers import error, is_finite, number


@dataclass(frozen=True)
class FullRun:
    """True totals and cycles of launches, from a full run, to compare a sampled run with.

    Attributes:
        total: total of the budget's counter in the full run.
        error: (estimate - total) / total; None where the sampled run states no estimate.
        inside: True if the total lies inside the stated interval; None where none is stated.
        non_sampling_error: excess of the simulated launches' cycles over those of the same launches in the full run, as a
            fraction; None where nothing was simulated.
        totals: of every counter and ratio in the full run.
    """

    total: float
    error: float | None
    inside: bool | None
    non_sampling_error: float | None
    totals: dict[str, float] = field(default_factory=dict)


def compare(run: Run, full: Run) -> FullRun:
    """Compare a finished run with a full run.

    Args:
        run: the sampled run.
        full: a run of the same list with `policy: all`.

    Raises:
        JournalError: one of them has not ended, or the full run is of other traces or another simulated GPU, or not full.
    """
    s, counter = run.ended(), run.ended().counter
    for key in ("traces", "simulator_config"):
        if run.hashes.get(key) != full.hashes.get(key):
            raise JournalError(f"{full.path}: not a run of the same launches on the same simulated GPU ({key} differs)")
    totals = {name: row.simulated for name, row in full.estimates().items() if is_finite(row.simulated)}
    if full.ended().skipped or counter not in totals:
        raise JournalError(
            f"{full.path}: {full.ended().simulated:,} of {full.ended().launches:,} launches were simulated, so it is no full "
            f"run of {counter}; make one with `policy: all` and another `journal:`"
        )
    total, off, inside = totals[counter], None, None
    if s.estimate is not None and total > 0.0:
        off = s.estimate / total - 1.0
    if s.estimate is not None and s.half_width is not None:
        inside = abs(s.estimate - total) <= s.half_width
    before = sum(full.results[unit].counters["cycles"] for unit in run.results)
    after = sum(result.counters["cycles"] for result in run.results.values())
    return FullRun(total, off, inside, after / before - 1.0 if before else None, totals)


def sentence(full: FullRun) -> str:
    """Sentence that compares a sampled run with the full run.

    >>> sentence(FullRun(total=1000.0, error=0.002, inside=True, non_sampling_error=0.0001))
    'full run: 1,000; error +0.200 %, inside the stated interval; non-sampling error +0.010 %'
    """
    parts = [f"full run: {number(full.total)}"]
    if full.error is not None:
        place = "" if full.inside is None else f", {'inside' if full.inside else 'OUTSIDE'} the stated interval"
        parts.append(f"error {error(full.error)}{place}")
    if full.non_sampling_error is not None:
        parts.append(f"non-sampling error {error(full.non_sampling_error)}")
    return "; ".join(parts)

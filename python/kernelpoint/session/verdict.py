"""The sentence that answers "can I trust this number": the first line of every summary, terminal output and page."""

from __future__ import annotations

from kernelpoint.journal import SummaryRecord

EXACT, TOTAL_ERROR, SAMPLING_ERROR, NOTHING = "exact", "total error", "sampling error", "nothing"
STATE_NOT_RESTORED = (
    "skipped launches leave caches and memory in another state than a full run would, and nothing restores it"
)


def coverage_of_bound(bounded: bool, skipped: int, projected: int) -> str:
    """Name the error that the stated half-width bounds.

    Args:
        bounded: whether a half-width is stated.
        skipped: launches that were not simulated.
        projected: launches that were stopped before their end.

    >>> coverage_of_bound(bounded=True, skipped=10, projected=0)
    'sampling error'
    >>> coverage_of_bound(bounded=True, skipped=0, projected=0)
    'exact'
    """
    if not bounded:
        return NOTHING
    return SAMPLING_ERROR if skipped or projected else EXACT


def verdict(summary: SummaryRecord) -> str:
    """Say what the estimate of a finished run is worth, in one line: "1,500,000 cycles; exact: every launch was simulated"."""
    if summary.estimate is None:
        return "no estimate is stated"
    value = summary.estimate
    total = f"{value:,.0f}" if value >= 1000 else f"{value:.6g}"
    return f"{total} {summary.counter}; {_stated(summary)}"


def _stated(summary: SummaryRecord) -> str:
    covers, width = summary.covers, summary.relative_half_width
    if covers == EXACT:
        return "exact: every launch was simulated"
    if width is None or covers == NOTHING:
        return "no bound stated"
    interval = f"+- {100 * width:.3g} % at {100 * summary.confidence:g} %"
    return f"total within {interval}" if covers == TOTAL_ERROR else f"bound on sampling error only: {interval}"

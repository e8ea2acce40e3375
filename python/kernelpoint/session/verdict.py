"""The sentence that answers "can I trust this number": the first line of every summary, terminal output and page."""

from __future__ import annotations

import math

from kernelpoint.journal import SummaryRecord
from kernelpoint.profiles.names import NAME_WIDTH, readable
from kernelpoint.ranges import matching
from kernelpoint.ratios import ACTIVE_CYCLES

EXACT, TOTAL_ERROR, SAMPLING_ERROR, NOTHING = "exact", "total error", "sampling error", "nothing"
MODEL_ERROR = "the simulator's own distance from hardware (model error)"
NOT_COVERED = ("launches may begin colder or warmer than in a full run", MODEL_ERROR)

# Assumption of a run whose bound is on the mean of all equally likely full runs (`replay.total: mean`).
OF_MEAN = "the mean of the model's replications is that of all equally likely full runs; a single one differs from it by more"


def verdict(summary: SummaryRecord) -> str:
    """Verdict on a finished run in one line: the estimate and its bound, such as "1,500,000 cycles; exact: every launch was
    simulated".
    """
    if summary.estimate is None:
        return "no estimate is stated"
    value = summary.estimate
    total = f"{value:,.0f}" if value >= 1000 else f"{value:.6g}"
    return f"{total} {summary.counter}; {_stated(summary)}"


def simulated_launches(simulated: int, launches: int, validations: int) -> str:
    """Number of launches that a run simulated, as text: of the sample, and once more for validation.

    >>> simulated_launches(13, 901, 2), simulated_launches(901, 901, 0)
    ('13 of 901 launches simulated, 2 more for validation', '901 of 901 launches simulated')
    """
    more = f", {validations:,} more for validation" if validations else ""
    return f"{simulated:,} of {launches:,} launches simulated{more}"


def _stated(summary: SummaryRecord) -> str:
    scope, width = summary.bound_scope, summary.relative_half_width
    accepted = [finding for finding in summary.findings if finding.accepted]
    if scope == EXACT and summary.restarts:
        times = "once" if len(summary.restarts) == 1 else f"{len(summary.restarts)} times"
        return f"every launch was simulated; the run was resumed {times}, which may move the total"
    if scope == EXACT:
        every = "every launch was simulated" if not summary.skipped else "one launch of each content was simulated"
        return f"{every}; accepted: {', '.join(finding.kind for finding in accepted)}" if accepted else f"exact: {every}"
    if width is None or scope == NOTHING:
        return "no bound stated" + (f" ({summary.bound_scope_reason})" if summary.bound_scope_reason else "")
    interval = f"+- {width_text(width, summary.relative_error)} % at {100 * summary.confidence:g} %"
    active = summary.counters.get(ACTIVE_CYCLES)
    if summary.counter == "cycles" and active is not None and active.is_bounded:
        interval += f" (+- {width_text(active.relative_half_width, 0.0)} % beyond launch latency)"
    further = {name: _width(summary, name) for name in summary.further}
    interval += "".join(
        f", {name} " + ("without a bound" if math.isnan(part) else f"+- {width_text(part, summary.further[name])} %")
        for name, part in further.items()
    )
    if scope == TOTAL_ERROR:
        total = "mean of equally likely full runs" if OF_MEAN in summary.assumptions else "total"
        added = max([width - summary.relative_error, *(part - summary.further[name] for name, part in further.items())])
        beyond = ""
        if summary.lost and added > 1e-9 and _is_computed_within(summary):
            count = len(summary.lost)
            launches = "1 launch without a result adds" if count == 1 else f"{count} launches without a result add"
            beyond = f"; {launches} {100 * added:.2g} %"
        return f"{total} within {interval}; error budget {'met' if summary.met else 'not met'}{beyond}"
    reason = f" ({summary.bound_scope_reason})" if summary.bound_scope_reason else ""
    return f"bound on sampling error only{reason}: {interval}"


def _is_computed_within(summary: SummaryRecord) -> bool:
    """True if every target's half-width is within its error budget before it is raised to budget plus lost launches."""
    estimates = {**summary.ratios, **summary.counters}
    targets = {summary.counter: summary.relative_error, **summary.further}
    if not targets.keys() <= estimates.keys():
        return False  # of a range no computed half-width is stored
    each = [(estimates[name], error) for name, error in targets.items()]
    return all(total.moved(total.estimate, total.computed_half_width).meets(error) for total, error in each)


def _width(summary: SummaryRecord, target: str) -> float:
    """Relative half-width of a further target, for several ranges the largest; nan without a bound."""
    counter, _, pattern = target.partition(" of ")
    estimates = {**summary.ratios, **summary.counters, **(summary.range_targets or {})}
    parts = (name.partition(" of ") for name in summary.range_targets or ())
    paths = tuple(path for of, _, path in parts if of == counter)
    names = [f"{counter} of {path}" for path in matching(pattern, paths)] if pattern else [target]
    if not names or not all(name in estimates and estimates[name].is_bounded for name in names):
        return math.nan
    return max(estimates[name].relative_half_width for name in names)


USUALLY_DRAWN = 0.95  # Model: probability from which a launch is as good as seen


def open_launch(summary: SummaryRecord) -> list[str]:
    """Sentence on the skipped launch that would break the error budget with the smallest excess over its prediction, and on the
    size of this excess. The list is empty if there is no such launch.
    """
    launch = summary.open_launch
    if launch is None or launch.probability >= USUALLY_DRAWN:
        return []
    place = f"launch {launch.launch}" + (f" of process {launch.process}" if launch.process else "")
    which = f"one launch of {readable(launch.kernel, NAME_WIDTH)}" if launch.kernel else place
    return [
        f"{which} that takes {launch.times:.3g} times the expected {summary.counter} breaks the error budget unseen; "
        f"its probability of being sampled was {100.0 * launch.probability:.2g} %"
    ]


def scarce_counters(summary: SummaryRecord) -> list[str]:
    """Sentences on counters of which the simulated launches show too little for a half-width: their upper limits, and those
    that have no limit.
    """
    if summary.half_width is None:
        return []
    limits = {name: e.at_most for name, e in summary.counters.items() if math.isfinite(e.at_most)}
    lines = []
    if limits:
        most = ", ".join(f"{name} at most {limit:,.0f}" for name, limit in limits.items())
        lines.append(f"at {100 * summary.confidence:g} % confidence each, the whole run has {most}")
    none = [n for n, e in summary.counters.items() if n not in limits and not e.is_bounded and e.estimate == e.estimate]
    if none:
        why = "few simulated launches have any, or none, and no trace limits what others may have"
        lines.append(f"no bound on {', '.join(none)}: {why}")
    return lines


def width_text(width: float, budget: float) -> str:
    """Format a relative half-width in per cent, with enough digits to differ from the error budget.

    >>> width_text(0.0084, 0.01), width_text(0.01, 0.01), width_text(0.0100012, 0.01), width_text(3.0, 0.01)
    ('0.84', '1', '1.0001', 'over 100')
    """
    if width > 1.0:
        return "over 100"
    is_equal = width <= budget * (1.0 + 1e-9) and width >= budget * (1.0 - 1e-9)
    allowed = f"{100 * budget:.3g}"
    texts = [f"{100 * width:.{digits}g}" for digits in range(3, 10)]
    return texts[0] if is_equal else next((text for text in texts if text != allowed), texts[-1])

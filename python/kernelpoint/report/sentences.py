"""Sentences on a run beside its table of counters."""

from __future__ import annotations

from kernelpoint.journal import EstimateRecord, PartRecord, Run, SummaryRecord, ValidationRecord
from kernelpoint.session.verdict import EXACT, open_launch, verdict

WEAK = 0.25  # relative half-width; what is known less well is marked
WEAK_NOTE = "{}: the half-width is over 25 % of the estimate, or none is stated"


def is_weak(row: EstimateRecord) -> bool:
    """True if an estimate has a half-width above 25 %, or none."""
    return row.estimate is not None and row.half_width != 0.0 and not (row.relative_half_width or 1.0) <= WEAK


def total(row: EstimateRecord) -> str:
    """An estimate as text. "not known": below zero, or zero without a half-width since no simulated launch had such
    an event.

    >>> total(EstimateRecord(estimate=0.0, simulated=0.0)), total(EstimateRecord(estimate=0.0, half_width=0.0, simulated=0.0))
    ('not known', '0')
    """
    unmet = row.estimate == 0.0 and row.half_width is None
    return "not known" if unmet or (row.estimate is not None and row.estimate < 0.0) else number(row.estimate)


def number(value: float | None) -> str:
    """A total as text.

    >>> number(80651.0), number(0.00068), number(16.5), number(None)
    ('80,651', '0.00068', '16.5', '-')
    """
    return "-" if value is None else f"{value:.5g}" if value % 1 and abs(value) < 100 else f"{value:,.0f}"


def percent(relative: float | None) -> str:
    """A relative half-width as text; above the estimate itself, "over 100 %".

    >>> percent(0.0125), percent(11483.3), percent(None)
    ('1.250 %', 'over 100 %', '-')
    """
    if relative is None:
        return "-"
    return f"{100 * relative:.3f} %" if relative <= 1.0 else "over 100 %"


def computed(row: EstimateRecord) -> str:
    """The half-width that results show, as a share of the estimate; the stated one is no smaller than the error budget.

    >>> computed(EstimateRecord(estimate=200.0, half_width=2.0, computed_half_width=0.5))
    '0.250 %'
    """
    if row.computed_half_width is None or not row.estimate:
        return percent(0.0 if row.computed_half_width == 0.0 else None)
    return percent(row.computed_half_width / abs(row.estimate))


def sentences(run: Run) -> list[str]:
    """The lines of a report, the verdict first; of an unfinished run, those known so far."""
    if (s := run.summary) is None:
        so_far = run.content()
        return [f"{so_far['simulated']:,} of {so_far['launches']:,} launches simulated so far", _NOT_ENDED]
    lines = [verdict(s), *open_launch(s), _counts(s.simulated, s.launches, s.passes), *_costs(run, s)]
    if s.bound_scope != EXACT:
        word = "within" if s.met else "beyond"
        budget = "".join(f", {name} {100 * error:g} %" for name, error in s.further.items())
        lines.append(
            f"sampling error {word} the error budget of {100 * s.relative_error:g} %{budget} at {100 * s.confidence:g} %; "
            f"bound: {s.bound}"
        )
    if len(s.processes) > 1:
        lines += [_of_process(process, "cycles") for process in s.processes if "cycles" in process.estimates]
    lines += [f"degraded: {reason}" for reason in s.degraded]
    lines += [f"note: {warning}" for warning in s.warnings]
    lines += [f"the bound assumes: {text}" for text in s.assumptions]
    return lines + [f"not covered by the bound: {text}" for text in s.not_covered]


def _costs(run: Run, s: SummaryRecord) -> list[str]:
    """Lines on launches simulated beside the sample, and on the speedups."""
    lines = []
    if validations := sum(1 for _ in run.of(ValidationRecord)):
        lines.append(
            f"{validations:,} launches were simulated for validation, to measure the replay error; "
            "the cycle speedup includes them"
        )
    if s.cycle_speedup:
        lines.append(f"cycle speedup {s.cycle_speedup:.4g}x")
    if s.one_per_stream_speedup:
        lines.append(f"one launch per instruction sequence would be {s.one_per_stream_speedup:.4g}x, without a bound")
    return lines


_NOT_ENDED = "the run has not ended: start it again to resume it"


def _counts(simulated: int, launches: int, passes: int) -> str:
    times = "one pass" if passes == 1 else f"{passes} passes"
    return f"{simulated:,} of {launches:,} launches simulated, {launches - simulated:,} skipped, in {times}"


def _of_process(process: PartRecord, counter: str) -> str:
    own = process.estimates[counter]
    bound = "no bound stated" if own.relative_half_width is None else f"+- {100 * own.relative_half_width:.3g} %"
    total = "no estimate" if own.estimate is None else f"{own.estimate:.8g} {counter}"
    return (
        f"process {process.number}: {total} {bound}; {process.simulated:,} of {process.launches:,} launches simulated"
    )

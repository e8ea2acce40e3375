"""Sentences on a run beside its table of counters."""

from __future__ import annotations

from kernelpoint.estimate import PartTotals
from kernelpoint.journal import Run, SummaryRecord, ValidationRecord
from kernelpoint.pages.numbers import factor, half_width, is_finite, number, share
from kernelpoint.session.verdict import EXACT, open_launch, unmet_counters, verdict


def sentences(run: Run) -> list[str]:
    """Lines of a text report, verdict first; of an unfinished run, the lines known so far."""
    if (s := run.summary) is None:
        so_far = run.content()
        return [
            f"{so_far['simulated']:,} of {so_far['launches']:,} launches simulated so far",
            "the run has not ended: start it again to resume it",
        ]
    lines = [verdict(s), *open_launch(s), _counts(s), *costs(run)]
    if len(s.processes) > 1:
        lines += [_of_process(process) for process in s.processes if "cycles" in process.estimates]
    return lines + caveats(s)


def caveats(s: SummaryRecord) -> list[str]:
    """Sentences on the assumptions of a finished run's bound, and on errors outside it."""
    lines = []
    if s.bound_scope != EXACT:
        budgets = [share(s.relative_error), *(f"{name} {share(error)}" for name, error in s.further.items())]
        lines.append(
            f"sampling error {'within' if s.met else 'beyond'} the error budget of {', '.join(budgets)} at "
            f"{share(s.confidence)}; bound: {s.bound}"
        )
    lines += [f"degraded: {reason}" for reason in s.degraded]
    lines += [f"note: {text}" for text in (*unmet_counters(s), *s.warnings)]
    lines += [f"the bound assumes: {text}" for text in s.assumptions]
    return lines + [f"not covered by the bound: {text}" for text in s.not_covered]


def costs(run: Run) -> list[str]:
    """Sentences on the cost of a finished run: launches simulated beside the sample, and speedups."""
    s, lines = run.ended(), []
    if validations := sum(1 for _ in run.of(ValidationRecord)):
        lines.append(
            f"{validations:,} launches were simulated for validation, to measure the replay error; "
            "the cycle speedup includes them"
        )
    if s.cycle_speedup:
        lines.append(f"cycle speedup {factor(s.cycle_speedup)}")
    if s.one_per_stream_speedup:
        lines.append(
            f"one launch per instruction sequence would be {factor(s.one_per_stream_speedup)}, without a bound"
        )
    return lines


def _counts(s: SummaryRecord) -> str:
    times = "one pass" if s.passes == 1 else f"{s.passes} passes"
    return f"{s.simulated:,} of {s.launches:,} launches simulated, {s.launches - s.simulated:,} skipped, in {times}"


def _of_process(process: PartTotals) -> str:
    cycles = process.estimates["cycles"]
    bound = "no bound stated" if not cycles.is_bounded else f"+- {half_width(cycles.relative_half_width)}"
    total = "no estimate" if not is_finite(cycles.estimate) else f"{number(cycles.estimate)} cycles"
    return (
        f"process {process.number}: {total} {bound}; {process.simulated:,} of {process.launches:,} launches simulated"
    )

"""The five answers that follow the verdict of a run, on a terminal and on the first screen of its page."""

from __future__ import annotations

from kernelpoint.journal import Run, SummaryRecord, ValidationRecord
from kernelpoint.pages.numbers import factor, half_width, number, percent, share
from kernelpoint.report.view import RunView
from kernelpoint.session.verdict import EXACT, NOTHING, SAMPLING_ERROR, open_launch


def answers(run: Run, view: RunView) -> dict[str, str]:
    """Five answers about a finished run: interval, cost, dominating kernels, possible misses, next step.

    Args:
        run: a finished run.
        view: its kernels, with their shares of the cycles and of the variance.
    """
    s = run.ended()
    return {
        "Interval": _interval(s),
        "Cost": _cost(run, s),
        "What dominates": _dominating(view),
        "What it could miss": _missed(s),
        "What next": _next(run, s),
    }


def _interval(s: SummaryRecord) -> str:
    budget = f"the error budget is ±{share(s.relative_error)} at {share(s.confidence)}"
    if s.estimate is None or s.half_width is None or s.bound_scope == NOTHING:
        return f"None is stated; {budget}."
    if s.bound_scope == EXACT:
        return f"{number(s.estimate)} {s.counter}, without sampling."
    ends = f"{number(s.estimate - s.half_width)} to {number(s.estimate + s.half_width)} {s.counter}"
    return f"{ends}, ±{half_width(s.relative_half_width)}; {budget}."


def _cost(run: Run, s: SummaryRecord) -> str:
    passes = "one pass" if s.passes == 1 else f"{s.passes} passes"
    text = f"{s.simulated:,} of {s.launches:,} launches simulated in {passes}"
    if validations := sum(1 for _ in run.of(ValidationRecord)):
        text += f", {validations:,} once more to measure the replay error"
    return text + (
        f"; {factor(s.cycle_speedup)} fewer cycles than the full run." if s.cycle_speedup and s.skipped else "."
    )


def _dominating(view: RunView) -> str:
    """The kernels with the largest share of the cycles and of the variance."""
    if not view.kernels:
        return "Not known: the launches have no names."
    largest = max(view.kernels, key=lambda kernel: kernel.share)
    text = f"{largest.name} has {percent(largest.share)} of the cycles"
    if all(kernel.variance is None for kernel in view.kernels):
        return text + "."
    doubtful = max(view.kernels, key=lambda kernel: kernel.variance or 0.0)
    also = " and" if doubtful is largest else f", {doubtful.name}"
    return f"{text}{also} {percent(doubtful.variance)} of the uncertainty."


def _missed(s: SummaryRecord) -> str:
    if s.bound_scope == EXACT:
        return "Nothing: every launch or an equal one was simulated."
    (text,) = open_launch(s) or ["no launch is known that alone would break the error budget unseen"]
    return f"{text[0].upper()}{text[1:]}. Not covered: {', '.join(s.not_covered)}."


def _next(run: Run, s: SummaryRecord) -> str:
    if s.degraded:
        return f"Mend the cause, set resume: never, and run again: {s.degraded[0]}"
    if s.bound_scope == EXACT:
        return f"Judge a sampled run by this one: kernelpoint report SAMPLED.kpjournal --full-run {run.path}"
    if s.bound_scope == NOTHING:
        return f"For a bound: {s.bound_scope_reason or 'choose a policy that states one, such as kernelpoint'}."
    if not s.met:
        width = s.relative_half_width or 0.0
        return (
            f"The run reaches ±{half_width(width)}: set error_budget to that, or look at the assumptions (--verbose)."
        )
    if s.bound_scope == SAMPLING_ERROR:
        return f"For a bound on the whole error: {s.bound_scope_reason or 'set replay.validation: auto'}."
    return (
        f"For a narrower bound, set a smaller error_budget, another journal, and results_from: {run.path}, which uses the "
        "results of this run again."
    )

"""The text of a report: the verdict, five answers, the assumptions of the bound, and what the run cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kernelpoint.estimate import PartTotals
from kernelpoint.journal import Run, SummaryRecord
from kernelpoint.pages.numbers import factor, half_width, is_finite, number, percent, share
from kernelpoint.pages.tables import Table
from kernelpoint.report.result import Result
from kernelpoint.report.tables import counter_table, range_table
from kernelpoint.session.verdict import (
    EXACT,
    NOTHING,
    SAMPLING_ERROR,
    open_launch,
    scarce_counters,
    simulated_launches,
    verdict,
)

MOST_RANGES = 40  # outermost ones of the text; the page has all


def text_of(result: Result, verbose: bool) -> Iterator[str | Table]:
    """Parts of the text of a report: the verdict and answers to five questions. With `verbose`, also tables, assumptions and
    the forecast.
    """
    run = result.run
    s = run.ended()
    yield verdict(s)
    if result.truth is not None:
        yield result.truth.sentence()
    yield from (f"{question}: {answer}" for question, answer in answers(result).items())
    if not verbose:
        return
    yield replace(counter_table(run), title=f"{run.path} ({run.policy})")
    if table := range_table(run):
        outer = [replace(row, inner=[replace(inner, inner=()) for inner in row.inner]) for row in table.rows]
        yield replace(table, rows=outer[:MOST_RANGES], caption="")
    if len(s.processes) > 1:
        yield from (_of_process(part) for part in s.processes if "cycles" in part.estimates)
    yield from (*caveats(s), *filter(None, [result.forecast]))


# ---- sentences -------------------------------------------------------------------------------------------------------


def sentences(run: Run) -> list[str]:
    """Verdict on a finished run, and the launch that alone would break its error budget unseen; the progress of a run that
    goes on.
    """
    if run.summary is not None:
        return [verdict(run.summary), *open_launch(run.summary)]
    return [
        f"{simulated_launches(len(run.results), sum(run.launches), len(run.validations))} so far",
        "the run has not ended: start it again to resume it",
    ]


def caveats(s: SummaryRecord) -> list[str]:
    """Sentences on the assumptions behind the bound of a finished run, and on errors that it does not cover."""
    lines = []
    if s.bound_scope != EXACT:
        budgets = [share(s.relative_error), *(f"{name} {share(error)}" for name, error in s.further.items())]
        lines.append(
            f"half-width {'within' if s.met else 'beyond'} the error budget of {', '.join(budgets)} at "
            f"{share(s.confidence)}; bound: {s.bound}"
        )
    lines += [f"degraded: {reason}" for reason in s.degraded]
    lines += [f"note: {text}" for text in (*scarce_counters(s), *s.warnings)]
    lines += [f"the bound assumes: {text}" for text in s.assumptions]
    return lines + [f"not covered by the bound: {text}" for text in s.not_covered]


def _of_process(process: PartTotals) -> str:
    cycles = process.estimates["cycles"]
    bound = "no bound stated" if not cycles.is_bounded else f"+- {half_width(cycles.relative_half_width)}"
    total = "no estimate" if not is_finite(cycles.estimate) else f"{number(cycles.estimate)} cycles"
    return f"process {process.number}: {total} {bound}; {process.simulated:,} of {process.launches:,} launches simulated"


# ---- answers ---------------------------------------------------------------------------------------------------------


def answers(result: Result) -> dict[str, str]:
    """Answers to five questions about a finished run, by question: interval, cost, kernels with the most cycles, launches that
    the sample could have missed, next step.
    """
    run = result.run
    s = run.ended()
    return {
        "Interval": _interval(s),
        "Cost": _cost(s),
        "What dominates": _dominating(result),
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


def _cost(s: SummaryRecord) -> str:
    simulated = simulated_launches(s.simulated, s.launches, s.validations)
    text = f"{simulated}, in {'one pass' if s.passes == 1 else f'{s.passes} passes'}"
    if s.cycle_speedup and s.skipped:
        text += f"; {factor(s.cycle_speedup)} fewer cycles than the full run"
        if s.one_per_stream_speedup:
            text += f" (one launch per instruction sequence: {factor(s.one_per_stream_speedup)}, without a bound)"
    return f"{text}."


def _dominating(result: Result) -> str:
    """Sentence on the kernels with the largest shares of the cycles and of the variance."""
    if not (kernels := result.kernels):
        return "Not known: the launches have no names."
    largest = max(kernels, key=lambda kernel: kernel.share)
    text = f"{largest.name} has {percent(largest.share)} of the cycles"
    if all(kernel.variance is None for kernel in kernels):
        return text + "."
    doubtful = max(kernels, key=lambda kernel: kernel.variance or 0.0)
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
        width = half_width(s.relative_half_width or 0.0)
        return f"The run reaches ±{width}: set error_budget to that, or look at the assumptions (--verbose)."
    if s.bound_scope == SAMPLING_ERROR:
        remedy = "Trace every launch" if run.header.config.get("selection") else "Remove that cause"
        return f"The bound lacks the replay error: {s.bound_scope_reason or 'replay.validation is 0'}. {remedy} to include it."
    return (
        f"For a narrower bound, set a smaller error_budget, another journal, and results_from: {run.path}, which uses the "
        "results of this run again."
    )

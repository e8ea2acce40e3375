"""Formats of the numbers of a comparison, the same in the terminal and on the page."""

from __future__ import annotations

import math
from collections.abc import Iterable

from kernelpoint.evaluation.summary import Line

HEADINGS = (
    "policy",
    "budget",
    "cycle speedup",
    "error mean",
    "error max",
    "bias",
    "spread",
    "beyond latency",
    "stated bound",
    "right",
    "within budget",
    "simulated",
    "planning",
)

BRIEF = (0, 1, 2, 3, 8, 9, 11)  # the headings that a narrow terminal shows

LEGEND = (
    "cycle speedup: total over the simulated cycles, over several workloads as harmonic / geometric / arithmetic mean",
    "error: of the estimated total against the full run; mean and greatest |error|, bias = mean signed error, spread = "
    "standard deviation over seeds",
    "beyond latency: mean |error| as a share of the total without the launch latency, where a workload names one",
    "stated bound: promised = the method's own claim from its profile; measured = from the run itself; right: "
    "share of runs in which the truth lay within it",
    "simulated: with the validation launches that a run over traces begins with, and the launches before them",
    "planning: reading, embedding and design, mean over seeds; traces that were read before come from the cache",
    "* planned from the times that it is judged on",
)


def percent(value: float) -> str:
    """A share in percent with as many digits as it needs.

    >>> percent(0.01234), percent(0.00001), percent(float("nan"))
    ('1.23 %', '0.0010 %', '-')
    """
    if math.isnan(value):
        return "-"
    size = abs(100 * value)
    digits = 1 if size >= 10 else 2 if size >= 1 else 3 if size >= 0.01 or size == 0 else 4
    return f"{100 * value:.{digits}f} %"


def share(value: float) -> str:
    """A share that was asked for, such as a budget: no more digits than it has.

    >>> share(0.05), share(0.005)
    ('5 %', '0.5 %')
    """
    return f"{100 * value:g} %"


def factor(value: float) -> str:
    """A cycle speedup."""
    return "-" if math.isnan(value) else f"{value:,.1f}x" if value < 100 else f"{value:,.0f}x"


def refusals(lines: Iterable[Line]) -> list[str]:
    """A sentence for each policy that did not run, with the reason."""
    return sorted({f"{line.policy}: {'; '.join(line.reasons)}" for line in lines if not line.runs})


def cells(line: Line) -> list[str]:
    """The cells of a line, as in HEADINGS, of a line with runs."""
    name = line.policy + (" *" if line.from_truth else "")
    speedups = (line.harmonic, line.geometric, line.arithmetic)
    one = line.workload != "all" or line.workloads == 1
    word = {"none": "none", "promised": "promised"}.get(line.bound, "measured")
    bound = "none" if line.bound == "none" else f"{percent(line.half_width)} {word}"
    return [
        name,
        share(line.relative_error),
        factor(line.harmonic) if one else " / ".join(map(factor, speedups)),
        percent(line.error_mean),
        percent(line.error_max),
        percent(line.bias),
        percent(line.spread),
        percent(line.beyond_latency),
        bound,
        percent(line.held),
        percent(line.within),
        f"{line.simulated:,.0f} of {line.launches:,}",
        f"{line.planning_seconds:.2f} s",
    ]

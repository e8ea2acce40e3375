"""Forecast of the cost of a run at several error budgets, before anything is simulated."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kernelpoint.profiles.names import NAME_WIDTH, readable

LEAST_SPEEDUP = 2.0  # below that sampling hardly pays
CHEAP_SHARE = 0.9  # of the time of a full run; a sampled run that takes more, planning included, saves nothing


@dataclass(frozen=True)
class Forecast:
    """Expected cost of a run at one error budget. Each quantity is a range that contains 80 % of runs.

    Attributes:
        launches, speedup, minutes: better end of the range of: the number of sampled launches; the cycles of all launches over
            the simulated cycles (`source` names the quantity used for cycles: cycles, times or instructions); the minutes of
            simulation on one core, nan if the instructions are not known.
        most_launches, least_speedup, most_minutes: worse end of these ranges.
        validations: least number of launches that are simulated only to measure the error of restored caches.
        full_minutes: minutes of simulation of all launches; nan if the instructions are not known.
        simulator: name of the simulator whose times are forecast.
        further: further targets that the same sample meets, as text; empty if there are none.
        unseen_times: multiple of its expected cycles at which an undrawn launch would break the budget; 0 if no launch can.
        unseen_kernel: kernel of the launch with the most expected cycles.
        prices: for each further counter, the range of the number of launches if the counter must meet the same relative error
            as the cycles.

    >>> one = Forecast(0.01, 14, 30.0, 2.0, "instructions", most_launches=36, least_speedup=12.0, most_minutes=5.0)
    >>> sentences([one], launches=1000)[1]
    '  +- 1 %: 14 to 36 of 1,000 launches, 12 to 30 times fewer cycles, about 2 to 5 min'
    """

    relative_error: float
    launches: int
    speedup: float
    minutes: float
    source: str
    most_launches: int = 0
    least_speedup: float = math.inf
    most_minutes: float = 0.0
    validations: int = 0
    full_minutes: float = math.nan
    simulator: str = "a simulator"
    further: str = ""
    unseen_times: float = 0.0
    unseen_kernel: str = ""
    prices: Mapping[str, Sequence[int]] = field(default_factory=dict)

    @property
    def budget(self) -> str:
        """Error budget as text."""
        return f"{100 * self.relative_error:g} %" + (f" with {self.further}" if self.further else "")


def sentences(
    forecasts: Sequence[Forecast],
    launches: int,
    planning_seconds: float = 0.0,
    further: Mapping[str, float] | None = None,
) -> list[str]:
    """Format forecasts as lines for the user. Warnings come last.

    Args:
        forecasts: forecast at each error budget.
        launches: number of launches in the list.
        planning_seconds: processor seconds that the plan took.
        further: relative error of each further target, by counter.
    """
    if not forecasts:
        return []
    simulator = f"times in {forecasts[0].simulator} on one core, to a factor of three"
    lines = [f"expected in 8 of 10 runs, by {forecasts[0].source}; {simulator}:"]
    for forecast in forecasts:
        scale, unit = (60.0, "s") if forecast.most_minutes < 1.0 else (1.0, "min")
        ends = _range(scale * forecast.minutes, scale * forecast.most_minutes)
        time = "" if math.isnan(forecast.minutes) else f", about {ends} {unit}"
        lines.append(
            f"  +- {forecast.budget}: {_range(forecast.launches, forecast.most_launches)} of {launches:,} launches, "
            f"{_range(forecast.least_speedup, forecast.speedup)} times fewer cycles{time}{_unseen(forecast)}"
        )
    for forecast in forecasts:
        if forecast.prices:
            parts = (f"{name} {_range(*ends)}" for name, ends in forecast.prices.items())
            lines.append(f"launches for +- {forecast.budget} in cycles and in one more counter: {', '.join(parts)}")
    made = {forecast.further for forecast in forecasts}
    unknown = [name for name, error in (further or {}).items() if targets_text({name: error}) not in made]
    if unknown:
        lines.append(
            f"no forecast with {', '.join(unknown)}: nothing predicts it; a run refuses a counter that its simulator does not "
            "report"
        )
    validations = [forecast.validations for forecast in forecasts]
    if any(validations):
        lines.append(
            f"speedups and times include {_range(min(validations), max(validations))} launches for validation, which "
            "a simulator that can replay adds"
        )
    if any(forecast.most_launches > forecast.launches for forecast in forecasts):
        lines.append(
            "the larger numbers are for a run whose launches are less like their predictions, which only the run shows"
        )
    slow = [forecast.budget for forecast in forecasts if forecast.speedup < LEAST_SPEEDUP]
    if slow:
        lines.append(f"sampling saves little at {', '.join(slow)}: nearly as much is simulated as in a full run")
    planning = planning_seconds / 60.0
    cheap = [forecast for forecast in forecasts if forecast.minutes + planning >= CHEAP_SHARE * forecast.full_minutes]
    if cheap:
        budgets = ", ".join(forecast.budget for forecast in cheap)
        lines.append(
            f"a full run is as cheap as a sampled one at {budgets}: it takes about "
            f"{_range(forecasts[0].full_minutes, 0.0)} min, and this plan took {_range(planning, 0.0)} min"
        )
    return lines


def _unseen(forecast: Forecast) -> str:
    """Assumption of the budget about launches that are not simulated, as the end of a sentence."""
    if not forecast.unseen_times:
        return ""
    which = f"one launch of {readable(forecast.unseen_kernel, NAME_WIDTH)}" if forecast.unseen_kernel else "one launch"
    return f"; {which} that takes {forecast.unseen_times:.2g} times its expected cycles breaks it unseen"


def _range(low: float, high: float) -> str:
    """Format a range of two numbers with two digits each; a single number if they are equal.

    >>> _range(14, 36), _range(14, 14), _range(0.12345, 1234.5)
    ('14 to 36', '14', '0.12 to 1,200')
    """
    first, last = (f"{float(f'{n:.2g}'):,.12g}" for n in (low, max(low, high)))
    return first if first == last else f"{first} to {last}"


def targets_text(further: Mapping[str, float]) -> str:
    """Format the further targets of an error budget as text. `further` has the relative error of each, by counter.

    >>> targets_text({"dram_reads": 0.05, "ipc": 0.02})
    'dram_reads 5 %, ipc 2 %'
    """
    return ", ".join(f"{name} {100 * error:g} %" for name, error in further.items())


def compared(
    forecasts: Sequence[Forecast],
    relative_error: float,
    launches: int,
    speedup: float | None,
    further: Mapping[str, float] | None = None,
) -> str | None:
    """Line that compares a finished run with its forecast; None if there is no forecast at the run's error budget.

    Args:
        forecasts: forecasts made before the run.
        relative_error: error budget of the run.
        launches: number of launches that the run simulated.
        speedup: speedup of the run; None if not stated.
        further: relative error of each further target, by counter.
    """
    for forecast in forecasts:
        if forecast.relative_error == relative_error and forecast.further == targets_text(further or {}) and speedup:
            return (
                f"expected when planned: {_range(forecast.launches, forecast.most_launches)} launches, "
                f"{_range(min(forecast.least_speedup, forecast.speedup), forecast.speedup)} times fewer cycles; it took "
                f"{launches:,} and {speedup:,.3g} times fewer cycles"
            )
    return None

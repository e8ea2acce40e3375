"""Constants of the estimators: each is in the table of the README, and some run notices where it is another number."""

import ast
import importlib
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from kernelpoint.estimation import (
    AssistedDesign,
    Design,
    Engine,
    ErrorBudget,
    Prediction,
    StrataSampling,
    TwoPhaseDesign,
    constants,
    passes,
    stratify,
)
from kernelpoint.randomness import generator, permanent_random_numbers

README = Path(constants.__file__).with_name("README.md")
PACKAGE = README.parents[1]
VALUES = {name: value for name, value in vars(constants).items() if name.isupper()}
UNITS = 600
GROUP = np.arange(UNITS) % 6
PLACE = np.arange(UNITS) / UNITS
FIRST = np.arange(UNITS) < 6
RANDOM = generator(0, "constants")
X = RANDOM.lognormal(6.0, 1.0, 6)[GROUP] * RANDOM.lognormal(0.0, 0.5, UNITS)
NOISE = RANDOM.lognormal(0.0, 0.02, UNITS)
Run = Callable[[], tuple[Engine, tuple[str, ...], np.ndarray]]


def predicted(
    eps: float,
    factor: np.ndarray | float = 1.0,
    x: np.ndarray = X,
    group: np.ndarray = GROUP,
    is_observed: bool = False,
) -> Run:
    """Predictions x of units of six groups, which are off by a factor and some noise."""
    u = permanent_random_numbers(1, 0, UNITS)
    return lambda: (
        Engine(AssistedDesign({"cycles": Prediction(x, is_observed=is_observed)}, group, u), ErrorBudget(eps)),
        ("cycles",),
        X * NOISE * factor,
    )


def counted(rare: float) -> Run:
    """A second counter, which is none in most units, with predictions that hardly tell it."""
    random = generator(1, "misses")
    misses = 0.1 * X * NOISE if rare == 1.0 else np.where(random.random(UNITS) < rare, 25.0, 0.0)
    design = AssistedDesign({"cycles": X, "misses": 0.1 * X}, GROUP, permanent_random_numbers(1, 0, UNITS))
    return lambda: (
        Engine(design, ErrorBudget(0.01)),
        ("cycles", "misses"),
        np.stack([X * NOISE, misses], axis=1),
    )


def named(eps: float, spread: float, slow: float = 0.0, counters: int = 1, strata: int = 40, expected: float = 0.3) -> Run:
    """Strata of names; slow: the share of units that take three times as long; expected: CoV inside a stratum."""
    random = generator(2, "named")
    name = np.arange(2 * UNITS) % strata
    y = random.lognormal(3.0, 1.0, strata)[name] * np.exp(
        spread * random.lognormal(-0.5, 1.0, strata)[name] * random.standard_normal(2 * UNITS)
    )
    y = np.where(random.random(2 * UNITS) < slow, 3.0, 1.0) * y
    reads = np.where(random.random(2 * UNITS) < 0.05, y, 0.0)
    u = permanent_random_numbers(1, 0, 2 * UNITS)

    def run() -> tuple[Engine, tuple[str, ...], np.ndarray]:
        budget = ErrorBudget(eps)
        measured = {"slow_excess": constants.SLOW_EXCESS} if slow else {}
        x = y * random_of_x
        design = stratify([name], budget, spreads=(expected,), x=x, cluster=name % 4, **measured).design(u, 1)
        values = np.stack([y, reads], axis=1)[:, :counters]
        return Engine(design, budget), ("cycles", "reads")[:counters], values

    random_of_x = random.lognormal(0.0, 0.1, 2 * UNITS)
    return run


def in_two_phases(wrong: float, eps: float) -> Run:
    """A first sample of predicted units, and results of a second one within it."""
    random = generator(3, "two phases")
    strata = np.arange(4 * UNITS) % 20
    y = random.lognormal(3.0, 1.0, 20)[strata] * random.lognormal(0.0, 0.1, 4 * UNITS)
    observed = np.zeros(4 * UNITS, dtype=bool)
    first = StrataSampling(Design(strata, np.full(20, 12), permanent_random_numbers(3, 0, 4 * UNITS)), ErrorBudget(eps), "mean")
    observed[first.drawn()] = True
    x = {"cycles": np.where(observed, y * random.lognormal(0.0, wrong, 4 * UNITS), np.nan)}
    phase = TwoPhaseDesign(first, observed, x, strata % 5, random.random(4 * UNITS))
    return lambda: (Engine(phase, ErrorBudget(eps)), ("cycles",), y)


RUNS: dict[str, Run] = {
    "right": predicted(0.02),
    "right, tight": predicted(0.003),
    "slope": predicted(0.03, 0.78),
    "drift": predicted(0.02, 1.0 + PLACE),
    "groups": predicted(0.05, np.array([1.0, 1.6, 0.7, 1.3, 0.5, 2.0])[GROUP]),
    "noise": predicted(0.06, generator(4, "noise").lognormal(0.0, 0.4, UNITS)),
    "beginning": predicted(0.02, np.where(PLACE < 0.06, 2.5, 1.0)),
    "beginning, a little": predicted(0.05, np.where(PLACE < 0.06, 1.2, 1.0)),
    "first units": predicted(0.02, np.where(FIRST, 9.0, 1.0)),
    "first units, a little": predicted(0.005, np.where(FIRST, 1.1, 1.0)),
    "first five units": predicted(0.02, np.where(np.arange(UNITS) % 100 < 5, 3.0, 1.0), group=np.arange(UNITS) // 100),
    "tiny predictions": predicted(0.02, x=np.where(np.arange(UNITS) % 5 == 0, 0.01 * X, X)),
    "many groups": predicted(0.02, group=np.arange(UNITS) // 5),
    "times": predicted(0.02, group=np.arange(UNITS) // 5, is_observed=True),
    "rare counts": counted(0.3),
    "another counter": counted(1.0),
    "strata": named(0.03, 0.1),
    "strata, tight": named(0.004, 0.1),
    "one stratum": named(0.03, 0.3, strata=1),
    "slow units": named(0.05, 0.02, slow=0.02),
    "few slow units": named(0.02, 0.02, slow=0.004),
    "quiet strata": named(0.03, 0.02, expected=0.01),
    "slow units, quiet": named(0.05, 0.02, slow=0.004, expected=0.01),
    "slow units, tight": named(0.004, 0.005, slow=0.002, expected=0.01),
    "counts in strata": named(0.05, 0.1, counters=2),
    "two phases": in_two_phases(0.2, 0.015),
}


def outcome(run: Run) -> list[float]:
    """All that a run states, at every look."""
    engine, counters, values = run()
    numbers: list[float] = []
    for look in passes(engine, counters, values):
        numbers.append(len(engine.drawn()))
        for total in look.estimates.values():
            numbers += [total.estimate, total.half_width, total.computed_half_width, total.degrees_of_freedom]
        if len(numbers) > 5 and numbers[-1] == numbers[-6] and isinstance(engine, Engine):
            return [*numbers, len(engine.drawn())]  # the first sample has to grow
    return numbers


@cache
def usual(name: str) -> list[float]:
    """The outcome with the constants as they are."""
    return outcome(RUNS[name])


def other_values(name: str) -> list[float | dict[str, float]]:
    """Half and twice a number, or of factors what they exceed 1 by; of several, all equal."""
    value = VALUES[name]
    if isinstance(value, dict):
        return [dict.fromkeys(value, sum(value.values()) / len(value))]
    least = 1 if name.endswith(("FACTOR", "MARGIN")) else 0
    return [type(value)(least + (value - least) * factor) for factor in (0.5, 2)]


@pytest.mark.parametrize("name", VALUES)
def test_a_run_notices_where_a_constant_is_half_or_twice_as_large(name, monkeypatch):
    before = {run: usual(run) for run in RUNS}
    for value in other_values(name):
        monkeypatch.setattr(constants, name, value)
        if any(not np.array_equal(outcome(RUNS[run]), expected, equal_nan=True) for run, expected in before.items()):
            return
    raise AssertionError(f"nothing notices {name}")


def test_the_table_of_the_readme_has_every_constant_with_its_value():
    rows = dict(re.findall(r"^\| `([A-Z_0-9]+)` \| ([^|]+) \|", README.read_text(), re.MULTILINE))
    assert {name: text.strip() for name, text in rows.items()} == {
        name: ", ".join(f"{number:g}" for number in (value.values() if isinstance(value, dict) else [value]))
        for name, value in VALUES.items()
    }


def text_of(value) -> str:
    """A number, or several, as the tables of the README have them; empty of any other value."""
    several = value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else [value]
    return ", ".join(f"{number:g}" if isinstance(number, int | float) else "" for number in several)


def constants_of(path: Path) -> dict[str, str]:
    """The numbers that a module names, by module and name."""
    module = path.relative_to(PACKAGE).with_suffix("").as_posix()
    values = vars(importlib.import_module("kernelpoint." + module.replace("/", ".")))
    assigned = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.Assign | ast.AnnAssign)]
    names = {
        name.id
        for node in assigned
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        for name in ast.walk(target)
        if isinstance(name, ast.Name) and name.id.isupper()
    }
    texts = {f"{module}.{name}": text_of(values[name]) for name in names}
    return {name: text for name, text in texts.items() if text and not text.startswith(",")}


def test_numbers_that_other_modules_and_the_own_policy_name_are_in_a_table_of_the_readme():
    rows = dict(re.findall(r"^\| `([a-z_/]+\.[A-Z_]+)` \| ([^|]+) \|", README.read_text(), re.MULTILINE))
    paths = [*README.parent.rglob("*.py"), PACKAGE / "policies/methods/kernelpoint.py"]
    named = {name: text for path in paths if path.stem != "constants" for name, text in constants_of(path).items()}
    assert {name: text.strip() for name, text in rows.items()} == named

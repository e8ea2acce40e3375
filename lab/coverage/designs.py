"""Designs of the shipped policy for many seeds: its strata do not depend on the seed, so they are made once."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any, Literal
from unittest import mock

import numpy as np
from populations import Population

from kernelpoint.config import parse_config
from kernelpoint.estimation import Design, ErrorBudget
from kernelpoint.estimation.stratify import Stratification, strata_from, stratify
from kernelpoint.policies.methods import kernelpoint as shipped
from kernelpoint.profiles.profile import Profile
from kernelpoint.randomness import permanent_random_numbers
from kernelpoint.workload import Population as Known

Knowledge = Literal[
    "a", "b", "c"
]  # traces or metadata only; the very times (an oracle); times of another configuration


def known(population: Population, knowledge: Knowledge) -> Known:
    """Inputs of the policy: for "b" and "c" a profile of cycles stands beside, as a user's profile does."""
    if knowledge == "a":
        return population.known
    times = population.y if knowledge == "b" else population.elsewhere
    if times is None:
        raise ValueError(f"{population.name}: there is no other configuration")
    return replace(population.known, profile=with_times(population, times))


def with_times(population: Population, times: np.ndarray) -> Profile:
    """A profile of these launches with the given times; names and shapes as their traces or metadata say."""
    light = population.known.profile
    if light is None:
        N, scan = len(times), population.known.scan
        zeros = np.zeros(N, dtype=np.int64)
        light = Profile(
            source="a run on another configuration",
            names=tuple(f"kernel {k}" for k in range(int(scan.kernel_ids.max()) + 1)),
            name_ids=scan.kernel_ids.astype(np.int32),
            grid=np.stack([scan.shape_ids.astype(np.int64)] * 3, axis=1),
            block=np.zeros((N, 3), dtype=np.int64),
            registers=zeros,
            shared_memory=zeros,
            stream=zeros,
            start=zeros,
            duration=np.full(N, np.nan),
        )
    return replace(light, counters={**light.counters, "cycles": times})


def policy(budget: ErrorBudget, seed: int = 0, assume: str = "ordinary") -> shipped.KernelPoint:
    """The shipped policy, configured as a user would."""
    wanted = {"relative_error": budget.relative_error, "confidence": budget.confidence, "counter": budget.counter}
    keys = {"version": 1, "policy": "kernelpoint", "error_budget": wanted, "seed": seed, "assume": assume}
    return shipped.KernelPoint(parse_config(keys))


@lru_cache(maxsize=64)
def _strata(
    population: Population, eps: float, confidence: float, counter: str, knowledge: Knowledge, assume: str
) -> Stratification:
    """The strata that the shipped policy asks for."""
    asked: dict[str, Any] = {}

    def watch(levels: Any, u: Any, budget: Any, *, seed: int = 0, **options: Any) -> Design:
        asked.update(levels=levels, budget=budget, options=options)
        return strata_from(levels, u, budget, seed=seed, **options)

    with mock.patch.object(shipped, "strata_from", watch):
        policy(ErrorBudget(eps, confidence, counter=counter), 0, assume).design(known(population, knowledge))
    return stratify(asked["levels"], asked["budget"], **asked["options"])


def design(
    population: Population, budget: ErrorBudget, seed: int, knowledge: Knowledge = "a", assume: str = "ordinary"
) -> Design:
    """The design of the shipped policy with that seed."""
    strata = _strata(population, budget.relative_error, budget.confidence, budget.counter, knowledge, assume)
    return strata.design(permanent_random_numbers(seed, 0, len(population.y)), seed)


def expected_times(population: Population) -> np.ndarray:
    """float64 [N]: what each launch is expected to cost, as the shipped policy guesses from traces or metadata."""
    return _strata(population, 0.01, 0.95, "cycles", "a", "ordinary").x

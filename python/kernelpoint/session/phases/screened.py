"""Launches that were not known beforehand, as far as they came: decisions, results, and what holds for them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kernelpoint.errors import HostError
from kernelpoint.estimation import Design, Engine, ErrorBudget, Look, Method
from kernelpoint.randomness import permanent_random_numbers
from kernelpoint.session.phases.online_clusters import Placed
from kernelpoint.session.phases.seen import DRAWN, FAILURE, FIRST, NOT_DRAWN, Key, Seen
from kernelpoint.session.ratios import RATIOS
from kernelpoint.session.setup import PROBABILITY
from kernelpoint.workload import Population

# Model: as little as the rule needs. Every behaviour is simulated once; what the budget asks for beyond that is drawn by the
# later passes, which know all launches and cost the same whenever they come.
FIRSTS = 1  # launches that each new cluster has simulated for certain
FARTHEST = 1 << 20  # launches that may be asked about ahead of all others; every launch before them takes memory


@dataclass
class Screened:
    """Decides launches in the order in which they come; no result changes a decision.

    The first launches of each cluster are simulated for certain and stand for themselves only. Of the later ones launch i
    is drawn if u_i <= PROBABILITY: Bernoulli sampling (Sarndal, Swensson, Wretman 1992, section 3.2) by the permanent
    random numbers, so within every part of the population that is made without looking at results, the drawn ones are a
    simple random sample given their number, and the prefix that further passes go on from.

    Args:
        seed: the user's seed.
        told: launches of each process, 0 where the host does not know.
    """

    seed: int
    told: tuple[int, ...]
    seen: dict[Key, Seen] = field(default_factory=dict)
    in_flight: set[Key] = field(default_factory=set)
    ended: set[int] = field(default_factory=set)
    _sizes: dict[int, int] = field(default_factory=dict)
    _reach: dict[int, int] = field(default_factory=dict)  # one more than the highest index of each process
    _u: dict[int, np.ndarray] = field(default_factory=dict)

    def u(self, process: int, index: int) -> float:
        """The permanent random number of a launch."""
        known = self._u.get(process, np.empty(0))
        if index >= len(known):
            count = max(1024, 2 * (index + 1))
            known = self._u[process] = permanent_random_numbers(self.seed, process, count)
        return float(known[index])

    def check(self, process: int, index: int) -> Key:
        """The launch as a key.

        Raises:
            HostError: there is no such process, or no such launch where the host told how many there are; or it lies far
                behind all that were asked about.
        """
        if not 0 <= process < len(self.told):
            raise HostError(f"process: got {process}; allowed: 0 to {len(self.told) - 1}")
        count = self.told[process]
        if index < 0 or (count and index >= count):
            raise HostError(
                f"launch index of process {process}: got {index}; the list has {count or 'at least 0'} launches"
            )
        known = self._reach.get(process, 0)
        if index >= known + FARTHEST:
            raise HostError(
                f"launch index of process {process}: got {index:,}; launch indices count launches in program order, and "
                f"{known:,} have come: allowed are those below {known + FARTHEST:,}"
            )
        return process, index

    def decide(self, key: Key, path: str | None, placed: Placed | None) -> Seen:
        """Decide a launch that is asked about for the first time; placed: None where that failed."""
        if placed is None:
            why = FAILURE
        elif self._sizes.get(placed.cluster, 0) < FIRSTS:
            why = FIRST
        else:
            why = DRAWN if self.u(*key) <= PROBABILITY else NOT_DRAWN
        if placed is not None:
            self._sizes[placed.cluster] = self._sizes.get(placed.cluster, 0) + 1
        seen = self.seen[key] = Seen(path or "", placed, why)
        self._reach[key[0]] = max(self._reach.get(key[0], 0), key[1] + 1)
        return seen

    def take(self, process: int, index: int, counters: dict[str, float]) -> None:
        """The result of a launch; HostError where it was not to be simulated, or has one."""
        self.awaited(process, index).result = counters
        self.in_flight.discard((process, index))

    def fail(self, process: int, index: int) -> None:
        """A launch could not be simulated."""
        self.awaited(process, index).attempts += 1
        self.in_flight.discard((process, index))

    def awaited(self, process: int, index: int) -> Seen:
        """A launch that was decided to be simulated and has no result; HostError where it is none."""
        seen = self.seen.get(self.check(process, index))
        if seen is None or not seen.simulated or seen.result is not None:
            raise HostError(
                f"launch {index} of process {process} is not in flight; each decision to simulate has one result"
            )
        return seen

    def forget_in_flight(self) -> None:
        """The process that simulated them is gone: launches in flight are wanted again, failed ones get a fresh chance."""
        self.in_flight.clear()
        for seen in self.seen.values():
            seen.attempts = 0

    def next_unseen(self, process: int, after: int) -> int | None:
        """The next launch index behind `after` that has to be asked about; None where the host told that there is none."""
        index = after + 1
        while (known := self.seen.get((process, index))) is not None and not self.is_open((process, index), known):
            index += 1
        count = self.told[process]
        return None if count and index >= count else index

    def is_open(self, key: Key, seen: Seen) -> bool:
        """True if a launch still has to be simulated: taken over from a killed run, with no result."""
        return seen.simulated and seen.result is None and not seen.attempts and key not in self.in_flight

    def end(self, process: int) -> int | None:
        """The host reached the end of a list: the first launch that was not asked about, if any, else None."""
        count = self.told[process] or self._reach.get(process, 0)
        missing = (
            i for i in range(count) if (s := self.seen.get((process, i))) is None or self.is_open((process, i), s)
        )
        found = next(missing, None)
        if found is None:
            self.ended.add(process)
        return found

    @property
    def complete(self) -> bool:
        """True if every process has ended and nothing is in flight."""
        return len(self.ended) == len(self.told) and not self.in_flight

    def population(self) -> Population:
        """The launches, now that it is known which there are; those never asked about have no trace."""
        counts = tuple(told or self._reach.get(process, 0) for process, told in enumerate(self.told))
        keys = ((process, index) for process, count in enumerate(counts) for index in range(count))
        paths = tuple(seen.path if (seen := self.seen.get(key)) is not None else "" for key in keys)
        return Population(counts=counts, seed=self.seed, paths=paths)

    def frozen(self, design: Design, population: Population) -> Design:
        """`design` with this pass's take-all units, and first samples that hold what this pass drew."""
        strata = np.array(design.strata)
        certain = [self._unit(population, key) for key, seen in self.seen.items() if seen.certain]
        strata[certain] = -1
        inside = (strata >= 0) & (design.u <= PROBABILITY)
        drawn = np.bincount(strata[inside], minlength=len(design.first_sizes))
        sizes = np.maximum(design.first_sizes, drawn)
        looser = None if design.looser_sizes is None else np.maximum(design.looser_sizes, drawn)
        return replace(
            design, strata=strata, first_sizes=sizes, looser_sizes=looser, balanced=False, predictions=None
        )  # drawn by u as they came

    def results(self, population: Population) -> dict[int, dict[str, float]]:
        """Counters of every launch that this pass simulated, by unit."""
        found = {self._unit(population, key): seen.result for key, seen in self.seen.items()}
        return {unit: result for unit, result in sorted(found.items()) if result is not None}

    def attempts(self, population: Population) -> dict[int, int]:
        """Number of failures of launches without a result, by unit."""
        tried = {self._unit(population, k): s.attempts for k, s in self.seen.items() if s.result is None}
        return {unit: attempts for unit, attempts in tried.items() if attempts}

    def look(self, budget: ErrorBudget, estimate: Method) -> Look | None:
        """Estimates of the launches seen so far, and of no other; None while one of them is in flight.

        Strata are the clusters. Where a cluster has no random draw yet its total is not known, and no bound is stated.
        """
        if self.in_flight or not any(seen.result for seen in self.seen.values()):
            return None
        rows = [(key, s) for key, s in sorted(self.seen.items()) if not (s.simulated and s.result is None)]
        strata = np.array([-1 if s.certain or s.placed is None else s.placed.cluster for _, s in rows], dtype=np.int32)
        drawn = np.bincount(strata[[s.why == DRAWN for _, s in rows]], minlength=int(strata.max(initial=-1)) + 1)
        u = np.array([self.u(*key) for key, _ in rows])
        x = np.array([0.0 if s.placed is None else s.placed.expected for _, s in rows])
        engine = Engine(Design(strata, drawn, u, x=x), budget, estimate, RATIOS)
        for unit, (_, s) in enumerate(rows):
            if s.result is not None:
                engine.record(unit, tuple(s.result), tuple(s.result.values()))
        return engine.look()

    def counts(self) -> dict[str, Any]:
        """Counts for the log and the journal."""
        simulated = sum(seen.result is not None for seen in self.seen.values())
        return {"seen": len(self.seen), "simulated": simulated, "clusters": len(self._sizes)}

    @staticmethod
    def _unit(population: Population, key: Key) -> int:
        return int(population.offsets[key[0]]) + key[1]

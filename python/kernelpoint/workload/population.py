"""The launches of a workload with everything that a policy may use: all that is known before any is simulated."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelpoint.errors import HostError, PolicyError
from kernelpoint.pool import Pool
from kernelpoint.randomness import permanent_random_numbers
from kernelpoint.workload.fingerprint import fingerprint

if TYPE_CHECKING:
    from kernelpoint.profiles import Profile
    from kernelpoint.traces import ScanTable
    from kernelpoint.workload.described import Descriptions
    from kernelpoint.workload.model import ModelSource


@dataclass(frozen=True)
class Population:
    """The launches of all processes in one row: unit = offsets[process] + launch index.

    Args:
        counts: number of launches of each process, in order.
        seed: the user's seed; fixes the permanent random numbers.
        scan: header, work and stream of every launch, where the policy asked for traces; rows in unit order.
        paths: trace file of every unit, where a list is on disk; empty text for a launch that was not traced.
        copies: copies from host to device of each process, where its list was read (traces.TraceList).
        listed: int64 [n], the units that the host's list holds, in its order, where only some launches were traced; None: all,
            in program order.
        embeddings: float32 [streams, 256], where the policy asked for them; rows as in scan.stream_ids.
        profile: times and counters known from elsewhere, where the user named a profile; rows in unit order, nan for
            launches that the profile does not have.
        described: what launches say of themselves, where the simulator has no traces; then `profile` is made of it.
        model: the fast model's cycles and counters of every launch, where the run has them; rows in unit order.
        model_source: where the model's predictions come from, where it may be asked for them.
        unread: why traces could not be opened or read while the inputs were made; another try may read them.
        to_trace: True if the launches that a design draws are yet to be traced: a selection, whose results will be simulated.
        measured: True if results are times that a GPU took, not those of a simulator.
        first_process: number of the first process; above 0 only in a part of a larger population.
        pool: workers that read, embed and predict; None: this process. Nothing else depends on it.

    >>> population = Population((3, 2), seed=0)
    >>> population.size, population.offsets.tolist()
    (5, [0, 3, 5])
    """

    counts: tuple[int, ...]
    seed: int
    scan: ScanTable | None = None
    paths: tuple[str, ...] = field(default=(), repr=False)
    copies: tuple[np.ndarray, ...] = field(default=(), repr=False, compare=False)
    listed: np.ndarray | None = None
    embeddings: np.ndarray | None = None
    profile: Profile | None = None
    described: Descriptions | None = None
    model: Profile | None = None
    model_source: ModelSource | None = None
    unread: tuple[str, ...] = ()
    to_trace: bool = False
    measured: bool = False
    first_process: int = 0
    pool: Pool | None = field(default=None, repr=False, compare=False)
    _fingerprints: dict[tuple[Any, ...], str] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def offsets(self) -> np.ndarray:
        """int64 [processes + 1]: first unit of each process, then the population size."""
        return np.concatenate([[0], np.cumsum(self.counts)]).astype(np.int64)

    @property
    def size(self) -> int:
        """The population size N."""
        return int(self.offsets[-1])

    def fingerprint(self, here: bool = False) -> str:
        """Identity of the launches (workload.fingerprint), by the files as they were when this was first asked."""
        key = (here, self.counts, self.paths)
        if key not in self._fingerprints:
            self._fingerprints[key] = fingerprint(*key[1:], here=here)
        return self._fingerprints[key]

    @property
    def has_traces(self) -> bool:
        """True if the trace of every launch is on disk."""
        return 0 < len(self.paths) == self.size and self.listed is None

    @cached_property
    def traced(self) -> np.ndarray:
        """bool [N]: launches that can be simulated."""
        traced = np.full(self.size, self.listed is None)
        if self.listed is not None:
            traced[self.listed] = True
        return traced

    def launch_at(self, process: int, place: int) -> int:
        """The launch at a place of the host's list; negative numbers, which stand for its ends, as they are.

        Raises:
            HostError: the list is not that long.

        >>> part = Population((10,), seed=0, listed=np.array([3, 5, 9]))
        >>> part.launch_at(0, 1), part.place_of(9), part.launch_at(0, -2)
        (5, 2, -2)
        """
        if self.listed is None or place < 0:
            return place
        if not place < len(self.listed):
            raise HostError(f"launch index of process {process}: got {place}; the list has {len(self.listed)} launches")
        return int(self.listed[place])

    def place_of(self, launch: int) -> int:
        """The place of a launch in the host's list; negative numbers as they are."""
        return launch if self.listed is None or launch < 0 else self._places[launch]

    @cached_property
    def _places(self) -> dict[int, int]:
        return {} if self.listed is None else {launch: place for place, launch in enumerate(self.listed.tolist())}

    @cached_property
    def u(self) -> np.ndarray:
        """float64 [N]: the permanent random numbers."""
        numbered = enumerate(self.counts, self.first_process)
        return np.concatenate([permanent_random_numbers(self.seed, p, n) for p, n in numbered])

    def scan_for(self, policy: str) -> ScanTable:
        """The scan; PolicyError, in the name of a policy that needs it, where there is none."""
        if self.scan is None:
            raise PolicyError(f"policy {policy} needs the traces of the launches, and there are none")
        return self.scan

    def embeddings_for(self, policy: str) -> np.ndarray:
        """The embeddings; PolicyError, in the name of a policy that needs them, where there are none."""
        if self.embeddings is None:
            raise PolicyError(f"policy {policy} needs the traces and embeddings of the launches, and there are none")
        return self.embeddings

    def profile_for(self, policy: str) -> Profile:
        """The profile; PolicyError, in the name of a policy that needs it, where there is none."""
        if self.profile is None:
            raise PolicyError(f"policy {policy} needs a time of every launch; name a profile with `profile:`")
        return self.profile

    def process(self, number: int) -> Population:
        """The launches of one process as a population of their own, with the same permanent random numbers."""
        first, last = self.offsets[number : number + 2].tolist()
        scan, embeddings = self.scan, self.embeddings
        if scan is not None:
            scan, kept = scan.part(first, last)
            embeddings = None if embeddings is None else embeddings[kept]
        return replace(
            self,
            counts=(last - first,),
            scan=scan,
            paths=self.paths[first:last],
            copies=self.copies[number : number + 1],
            embeddings=embeddings,
            profile=None if self.profile is None else self.profile.take(np.arange(first, last)),
            model=None if self.model is None else self.model.take(np.arange(first, last)),
            model_source=None,  # the model runs over whole populations
            first_process=self.first_process + number,
        )

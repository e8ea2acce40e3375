"""The launches of a workload with everything that a policy may use: all that is known before any is simulated."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kernelpoint.admission import admitted_rows
from kernelpoint.errors import HostError, PolicyError, TraceError
from kernelpoint.pool import Pool
from kernelpoint.program import Program
from kernelpoint.progress import Log
from kernelpoint.randomness import permanent_random_numbers
from kernelpoint.repeated import NO_TEXTS, Texts
from kernelpoint.workload.described import Descriptions
from kernelpoint.workload.host_info import ModelSource

if TYPE_CHECKING:
    from kernelpoint.program import Program
    from kernelpoint.traces import ScanTable


class Fingerprint(NamedTuple):
    """Identity of the launches of all processes: 32 hexadecimal digits for each.

    Attributes:
        launches: of the number of launches of each process, and for every launch, in program order, of its name within the
            list, and of the size and time of all files that a reading of it depends on. The folder that holds the list may
            move.
        files: of the files' inodes and times of change too, as the trace cache compares them: for what is kept on this machine.
            A copy of the traces has others.
    """

    launches: str
    files: str


def fingerprint(counts: Sequence[int], paths: Sequence[str]) -> Fingerprint:
    """Compute the identity of the launches of all processes.

    Args:
        counts: launches of each process.
        paths: trace of every launch; empty where no list is on disk.

    >>> fingerprint([3], []) == fingerprint([3], []) != fingerprint([2, 1], [])
    True
    """
    digest = hashlib.blake2b(repr(tuple(counts)).encode(), digest_size=16)
    versions = np.zeros(0, dtype=np.int64)
    if paths:
        from kernelpoint import _native  # which a run without lists does not need

        traces = Texts.of(paths)
        distinct = list(traces.distinct)
        states = _native.stat_many(distinct)
        lines = [
            f"{_native.launch_name(path)}\0{size}\0{time}\n".encode()
            for path, size, time in zip(distinct, states[:, 0].tolist(), states[:, 1].tolist(), strict=True)
        ]
        digest.update(b"".join(lines))
        digest.update(np.ascontiguousarray(traces.numbers, dtype="<i4").tobytes())
        versions = states[:, 2]
    launches = digest.hexdigest()
    digest.update(versions.tobytes())
    return Fingerprint(launches, digest.hexdigest())


@dataclass(frozen=True)
class Population:
    """Launches of all processes, numbered through: unit = offsets[process] + launch index.

    Args:
        counts: number of launches of each process, in order.
        seed: the user's seed; fixes the permanent random numbers.
        scan: header, work and stream of every launch, where the policy asked for traces; rows in unit order.
        paths: trace file of every unit, where a list is on disk; empty text for a launch that was not traced.
        copies: copies from host to device of each process, where its list was read (traces.TraceList).
        listed: int64 [n], the units that the host's list holds, ascending, where only some launches were traced; None: all,
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
        is_part: True of one process of several, whose designs are joined.
        pool: workers that read, embed and predict; None: this process. Nothing else depends on it.

    >>> population = Population((3, 2), seed=0)
    >>> population.size, population.offsets.tolist()
    (5, [0, 3, 5])
    """

    counts: tuple[int, ...]
    seed: int
    scan: ScanTable | None = None
    paths: Texts = field(default=NO_TEXTS, repr=False)
    copies: tuple[np.ndarray, ...] = field(default=(), repr=False, compare=False)
    listed: np.ndarray | None = None
    embeddings: np.ndarray | None = None
    profile: Program | None = None
    described: Descriptions | None = None
    model: Program | None = None
    model_source: ModelSource | None = None
    unread: tuple[str, ...] = ()
    to_trace: bool = False
    measured: bool = False
    first_process: int = 0
    is_part: bool = False
    pool: Pool | None = field(default=None, repr=False, compare=False)
    _fingerprints: dict[tuple[Any, ...], Fingerprint] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "paths", Texts.of(self.paths))

    @cached_property
    def offsets(self) -> np.ndarray:
        """int64 [processes + 1]: first unit of each process, then the population size."""
        return np.concatenate([[0], np.cumsum(self.counts)]).astype(np.int64)

    @property
    def size(self) -> int:
        """Population size N."""
        return int(self.offsets[-1])

    @property
    def fingerprint(self) -> Fingerprint:
        """Identity of the launches, from the files as they were at the first call."""
        key = self.counts, id(self.paths)
        if key not in self._fingerprints:
            self._fingerprints[key] = fingerprint(self.counts, self.paths)
        return self._fingerprints[key]

    @property
    def has_traces(self) -> bool:
        """True if the trace of every launch is on disk."""
        return 0 < len(self.paths) == self.size and self.listed is None

    @cached_property
    def names(self) -> Texts:
        """The kernel of each launch, from its trace, its description or the profile; empty text where it is not known.

        >>> from kernelpoint.traces import launch_paths, scan_launches
        >>> Population(counts=(6,), seed=0, scan=scan_launches(launch_paths("traces/kernelslist.g"))).names.distinct
        ('axpy_f32',)
        """
        if self.scan is not None:
            return Texts(self.scan.kernel_names, self.scan.kernel_ids)
        if self.described is not None:
            return Texts.of(self.described.names)
        if self.profile is None or self.profile.size != self.size:
            return Texts((), np.full(self.size, -1, dtype=np.int32))
        return self.profile.names

    @cached_property
    def launches(self) -> Program:
        """Names and shapes of the launches: from traces if all have one, else from descriptions or the profile."""
        if self.has_traces and (self.scan is None or self.scan.errors):
            return launches_of_traces(self.paths)
        if self.scan is not None:
            return _of_scan(self.scan)
        profile, unknown = self.profile, np.zeros((self.size, 3), dtype=np.int64)
        if self.described is not None:
            return Program.of(self.names, unknown, unknown, traces=self.paths, keys=self.described.signature)
        if profile is not None and profile.size == self.size:
            return replace(profile, traces=self.paths)
        return Program.of(self.names, unknown, unknown, traces=self.paths)

    @property
    def kernels(self) -> np.ndarray:
        """int64 [N]: number of the kernel of each launch, by its name; -1 if it is not known, 0 if no name is.

        >>> from kernelpoint.traces import launch_paths, scan_launches
        >>> Population(counts=(6,), seed=0, scan=scan_launches(launch_paths("traces/kernelslist.g"))).kernels
        array([0, 0, 0, 0, 0, 0])
        """
        numbers = self.names.numbers.astype(np.int64)
        return numbers if (numbers >= 0).any() else np.zeros(self.size, dtype=np.int64)

    def instructions(self, policy: str) -> np.ndarray:
        """float64 [N]: instructions of each launch, from traces or the profile's counters; nan if unknown.

        Raises:
            PolicyError: neither knows them; in the name of the policy.

        >>> from kernelpoint.traces import launch_paths, scan_launches
        >>> Population(counts=(6,), seed=0, scan=scan_launches(launch_paths("traces/kernelslist.g"))).instructions("sieve")
        array([1088., 1088., 1088., 1088., 1088., 1088.])
        """
        if self.scan is not None:
            return np.where(self.scan.stream_ids < 0, np.nan, self.scan.instructions.astype(float))
        counts = None if self.profile is None else self.profile.instructions
        if counts is None:
            raise PolicyError(
                f"policy {policy} needs the instructions of every launch; they come from traces, or from a profile with a "
                "counter such as smsp__inst_executed.sum (Nsight Compute), and there is neither"
            )
        return counts

    def known_times(self, policy: str) -> tuple[np.ndarray, np.ndarray]:
        """Times known before the run, float64 [N], and whether each launch has one, bool [N].

        Raises:
            PolicyError: there is no profile, fewer than half of the launches have a time, or a time is negative.

        >>> import pathlib
        >>> from kernelpoint.profiles import read_profile
        >>> rows = "".join(f"{launch},gemm,64x1x1,128x1x1,32,0,7,0,5.{launch}\\n" for launch in range(3))
        >>> _ = pathlib.Path("times.csv").write_text("idx,name,grid,block,regs,smem,stream,ts_us,dur_us\\n" + rows)
        >>> times, known = Population(counts=(3,), seed=0, profile=read_profile("times.csv")).known_times("stem")
        >>> times.tolist(), known.tolist()
        ([5000.0, 5100.0, 5200.0], [True, True, True])
        """
        profile = self.profile_for(policy)
        times = profile.time
        has_time = np.isfinite(times)
        if 2 * has_time.sum() < len(times):
            raise PolicyError(
                f"policy {policy} needs a time of every launch; {profile.source} has one for {has_time.sum():,} of "
                f"{len(times):,}"
            )
        if (times[has_time] < 0).any():
            raise PolicyError(f"{profile.source}: a launch takes {times[has_time].min()}, allowed: times from 0")
        return times, has_time

    @cached_property
    def traced(self) -> np.ndarray:
        """bool [N]: launches that can be simulated."""
        traced = np.full(self.size, self.listed is None)
        if self.listed is not None:
            traced[self.listed] = True
        return traced

    def launch_at(self, process: int, place: int) -> int:
        """Launch index for a position in the simulator's list; negative positions, which mark its ends, are returned
        unchanged.

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
        """Position of a launch in the simulator's list; negative numbers are returned unchanged."""
        return launch if self.listed is None or launch < 0 else int(np.searchsorted(self.listed, launch))

    @cached_property
    def u(self) -> np.ndarray:
        """float64 [N]: permanent random numbers of the launches."""
        numbered = enumerate(self.counts, self.first_process)
        return np.concatenate([permanent_random_numbers(self.seed, p, n) for p, n in numbered])

    def scan_for(self, policy: str) -> ScanTable:
        """Scan of the traces. Raises PolicyError, with the policy's name, if there is none."""
        if self.scan is None:
            raise PolicyError(f"policy {policy} needs the traces of the launches, and there are none")
        return self.scan

    def embeddings_for(self, policy: str) -> np.ndarray:
        """Embeddings of the launches. Raises PolicyError, with the policy's name, if there are none."""
        if self.embeddings is None:
            raise PolicyError(f"policy {policy} needs the traces and embeddings of the launches, and there are none")
        return self.embeddings

    def profile_for(self, policy: str) -> Program:
        """Profile of the launches. Raises PolicyError, with the policy's name, if there is none."""
        if self.profile is None:
            raise PolicyError(f"policy {policy} needs a time of every launch; name a profile with `profile:`")
        return self.profile

    def process(self, number: int) -> Population:
        """Population of the launches of one process, with the same random numbers."""
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
            is_part=self.is_part or len(self.counts) > 1,
        )


def _of_scan(scan: ScanTable) -> Program:
    """Names and shapes of scanned launches; those that cannot be read have neither."""
    grid, block = (
        np.array([*(getattr(shape, part) for shape in scan.shapes), (0, 0, 0)], dtype=np.int64)
        for part in ("grid", "block")
    )
    names = Texts(scan.kernel_names, scan.kernel_ids)
    return Program.of(names, grid[scan.shape_ids], block[scan.shape_ids], traces=scan.paths)


def launches_of_traces(paths: Sequence[str]) -> Program:
    """Names and shapes of launches from the headers of their traces; an unreadable trace matches no launch.

    >>> launches_of_traces(("traces/kernel-1.traceg",)).names
    Texts(['axpy_f32'])
    """
    from kernelpoint.traces import read_header  # needs the native reader, which a run without lists does not

    traces = Texts.of(paths)
    names, sizes = [], [(0, 0, 0, 0, 0, 0)]
    for path in traces.distinct:
        try:
            shape = read_header(path).shape
            names.append(shape.kernel_name)
            sizes.append((*shape.grid, *shape.block))
        except TraceError:
            names.append(f"unreadable {path}")
            sizes.append((0, 0, 0, 0, 0, 0))
    of_launch = np.array(sizes, dtype=np.int64)[traces.numbers + 1]
    named = Texts.of([*names, ""])
    names_of_launch = Texts(named.distinct, named.numbers[traces.numbers])
    return Program.of(names_of_launch, of_launch[:, :3], of_launch[:, 3:], traces=traces)


def aligned(profile: Program, paths: Sequence[str], log: Log, accepted: Collection[str] = ()) -> Program:
    """Profile sorted so that row i belongs to the trace `paths[i]`; `log` gets the rows and launches without a counterpart.

    A profile without names and shapes (a journal, the output of some simulators) is matched by position and gets them
    from the traces.

    Raises:
        ProfileError: fewer than half of the launches, or of the profile's rows where it has fewer, have a counterpart.

    >>> from kernelpoint.traces import launch_paths
    >>> from kernelpoint.profiles import read_profile
    >>> import kernelpoint as kp
    >>> _ = kp.simulate("traces/kernelslist.g", "run.kpjournal", policy="all")
    >>> aligned(read_profile("run.kpjournal"), tuple(launch_paths("traces/kernelslist.g")), print).size
    6
    """
    if not profile.names.distinct and profile.size == len(paths):
        return named(profile, paths)
    launches = launches_of_traces(paths)
    return profile.take(admitted_rows(profile, launches, accepted, lambda line: log(f"kernelpoint: {line}")))


def named(profile: Program, paths: Sequence[str]) -> Program:
    """Profile whose row i belongs to `paths[i]`; missing names and shapes are taken from the headers of the traces.

    >>> from kernelpoint.traces import launch_paths
    >>> from kernelpoint.profiles import read_profile
    >>> import kernelpoint as kp
    >>> _ = kp.simulate("traces/kernelslist.g", "run.kpjournal", policy="all")
    >>> profile = read_profile("run.kpjournal")
    >>> named(profile, tuple(launch_paths("traces/kernelslist.g"))).names[0]
    'axpy_f32'
    """
    if profile.names.distinct or not paths:
        return profile
    return profile.with_labels_of(launches_of_traces(paths))

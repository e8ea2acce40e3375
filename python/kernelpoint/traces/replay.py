"""Replay of the cache state that earlier launches leave in a simulator."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np

from kernelpoint import _native
from kernelpoint.program import Program
from kernelpoint.progress import Log
from kernelpoint.repeated import first_of_each
from kernelpoint.traces.cache import ArtefactCache
from kernelpoint.traces.footprints import Footprints


@dataclass(frozen=True)
class StateInfo:
    """Caches and other state of a simulator that can be restored before a launch. Fields are those of ``kp_kept`` in
    kernelpoint/state.h.
    """

    lines: int
    residency: tuple[int, int, int, int, int] = (0, 0, 0, 0, 0)
    copies_fill: bool = False
    counts_ctas: bool = False
    keeps_rows: bool = False
    keeps_l1: bool = False
    predictor: tuple[int, int] = (0, 0)  # bits of history, bits of a counter
    # sets, ways and latency of an L1, then of the last level; used where the SMs have a model of their own
    caches: tuple[int, int, int, int, int, int] = (128, 6, 30, 1536, 24, 200)


@dataclass(frozen=True, eq=False)
class Replayed:
    """Memory accesses of earlier launches that refill the caches before a launch, in the form of ``kp_replay`` in
    kernelpoint/state.h.
    """

    touches: np.ndarray  # structured, as kp_touch; `opaque` is the SM, and in its high half the path
    launches: int  # earlier launches looked at
    unreadable: int  # distinct contents among them that cannot be read
    earlier_ctas: int  # of all earlier launches; 0 where they are not wanted
    grids: np.ndarray  # structured, as kp_grid: ctas, warps, last_warp of the launches right before, the last first
    covered: bool  # the touches name as many distinct lines as the state holds
    counters: np.ndarray  # uint8 [SM, counter], of the branch predictors; empty where none is wanted
    histories: np.ndarray  # uint32 [SM]
    state_bytes: bytes = b""  # of one simulator for its hook


class Replay:
    """Replay of cache state: collects the memory accesses of earlier launches that fill the caches before a launch is
    simulated.

    This is functional warming (Wunderlich et al., SMARTS, ISCA 2003). Each distinct trace is read once. Its footprint (the last
    access to each memory sector) is stored in memory, within a limit, and on disk for later runs. Accesses before a launch are
    collected from the newest earlier launch to the oldest, each sector once, until the caches are full. Copies from the host
    are included if they change the simulator's caches. The cost grows with the size of the caches and the number of distinct
    traces, not with the number of launches.

    ``Model:``

    * Within a launch, the resident CTAs advance side by side, one instruction at a time (``plugin/native/replay/footprint.h``).
    * If the simulator leaves DRAM rows open (``keeps_rows``) and the collection reaches the first launch, it begins with the
      sectors that a launch was the first to read, because these reads opened the rows.
    * Branch predictors learn during the whole run, so the branches of every earlier launch pass once through their model
      (``plugin/native/replay/sm_states.h``).

    Args:
        launches: launches of one process, with their traces and copies from the host. Launches with equal trace contents, or,
            if these are unknown, with the same trace file, count as equal.
        state: caches and other state of the simulator to restore.
        memory: largest number of bytes of footprints in memory.
        folder: folder of the cache on disk.
        trained: states of the cores before launches that the predictions recorded (fast_model/predict.py). Without them, every
            earlier launch passes through the model of the cores once.
        log: function that receives a message for each trace that cannot be read; the replay continues without it.
        list_path: file of the trace list; its folder may contain the footprints of an unpacked archive.
    """

    def __init__(
        self,
        launches: Program,
        state: StateInfo,
        memory: int = 256 << 20,
        folder: str | os.PathLike[str] | None = None,
        log: Log = lambda text: None,
        trained: bytes = b"",
        list_path: str | None = None,
    ) -> None:
        numbers = launches.traces.numbers if launches.content is None else launches.content
        paths = [launches.traces[first] for first in first_of_each(numbers).tolist()]
        residency = (*state.residency, state.keeps_l1)
        self._footprints = Footprints(residency, ArtefactCache(folder, log), paths, list_path)
        self._native = _native.Replay(
            numbers,
            paths,
            launches.copies[0],
            lines=state.lines,
            residency=state.residency,
            with_copies=state.copies_fill,
            counts_ctas=state.counts_ctas,
            first_reads=state.keeps_rows,
            by_sm=state.keeps_l1,
            predictor=state.predictor,
            caches=state.caches,
            trained=trained,
            memory=memory,
            load=self._footprints.load,
            save=self._footprints.save,
            refuse=lambda path, reason: log(f"kernelpoint: replay goes on without a trace: {reason}"),
        )

    @property
    def memory(self) -> int:
        """Bytes of footprints (lists of accessed memory sectors) in memory."""
        return self._native.memory

    def before(self, launch: int) -> Replayed:
        """Memory accesses of earlier launches and copies that fill the caches before the launch with index `launch`.

        Raises:
            IndexError: the list has no such launch.
        """
        replayed = Replayed(**self._native.before(launch))
        self._footprints.flush()
        return replayed

    def shares_left(self, launch: int, most: int) -> np.ndarray:
        """Shares of a launch's memory lines that the last 1, 2, ..., `most` launches before it leave in the caches.

        Args:
            launch: index of the launch.
            most: largest number of launches before it.

        Returns:
            float64 [d], with d the smaller of `most` and `launch`; zeros if the launch accesses no memory.

        Raises:
            IndexError: the list has no such launch.
        """
        lines, *others = self._native.lines_left(launch, most)
        self._footprints.flush()
        return np.array(others, dtype=float) / max(lines, 1)

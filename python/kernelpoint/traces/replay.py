"""Replay of the cache state that earlier launches leave in a simulator, from cached footprints of traces: the last access of a
launch to each memory line, packed by the native reader.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from kernelpoint import _native
from kernelpoint.errors import TraceError
from kernelpoint.file_names import BESIDE
from kernelpoint.files import open_output_bytes, open_regular
from kernelpoint.program import Program
from kernelpoint.progress import Log
from kernelpoint.repeated import first_of_each
from kernelpoint.traces.cache import ArtefactCache
from kernelpoint.traces.scan import trace_keys

BLOCK = 128  # footprints that are looked up at once: a walk meets those of neighbouring contents
AHEAD = 32 << 20  # bytes of them that wait to be asked for
_MAGIC = b"kernelpoint footprints 1\n"
_MOST_INDEX = 256 << 20  # bytes
KIND = f"footprint {_native.FOOTPRINT_VERSION} "  # of artefact; the residency follows


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
        paths = launches.traces.of_rows(first_of_each(numbers))
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


# ---- footprints -------------------------------------------------------------------------------------------------------


class Footprints:
    """Cached footprints of traces. A footprint lists the memory sectors that a launch accesses, with the last access to each.

    A footprint depends on the content of the trace, and on the number of CTAs that the simulated GPU holds at once, because
    that number decides the order of accesses.

    Args:
        residency: number of SMs of the simulated GPU, then the limits of one SM: CTAs, warps, registers, bytes of shared
            memory.
        cache: cache on disk.
        paths: one trace file for each distinct content. A file is read when its footprint is first requested.
        list_path: list of these traces. An unpacked archive of a run may have footprints in the folder of its list; they are
            used for this list only.

    Example:
        >>> import tempfile, pathlib
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> trace = folder / "kernel-1.traceg"
        >>> _ = trace.write_text("-kernel name = sum\\n")
        >>> footprints = Footprints((80, 32, 64, 65536, 98304), ArtefactCache(folder), [str(trace)])
        >>> footprints.load(str(trace)) is None
        True
        >>> footprints.save(str(trace), b"packed")
        >>> footprints.flush()
        >>> footprints.load(str(trace))
        b'packed'
    """

    def __init__(
        self, residency: Sequence[int], cache: ArtefactCache, paths: Sequence[str], list_path: str | None = None
    ) -> None:
        text = ",".join(map(str, residency))
        self._kind = KIND + text
        self._beside = None if list_path is None else FootprintsBeside(list_path, text)
        self._cache, self._paths = cache, paths
        self._ahead: dict[str, bytes | None] = {}  # by path, what was looked up and not yet asked for
        self._unwritten: dict[str, bytes] = {}  # by key

    @cached_property
    def _keys(self) -> list[tuple[str, ...]]:
        return trace_keys(self._paths, self._cache)

    @cached_property
    def _content_of(self) -> dict[str, int]:
        return {path: content for content, path in enumerate(self._paths)}

    def load(self, path: str) -> bytes | None:
        """Footprint of a trace in `paths` as packed bytes; None if none is stored for its content."""
        if self._beside is not None and (packed := self._beside.get(path)) is not None:
            return packed
        content = self._content_of[path]
        unwritten = self._unwritten.get(self._keys[content][-1])
        if unwritten is not None:
            return unwritten
        if path not in self._ahead:
            if sum(map(len, filter(None, self._ahead.values()))) > AHEAD:
                self._ahead = {}
            first = content // BLOCK * BLOCK
            block, keys = self._paths[first : first + BLOCK], self._keys[first : first + BLOCK]
            self._ahead |= zip(block, self._kept(keys), strict=True)
        return self._ahead.pop(path)  # the reader keeps it

    def _kept(self, keys: Sequence[tuple[str, ...]]) -> list[bytes | None]:
        """Cached footprint of a trace, by the key of its content, else by the key of its file."""
        kept: list[bytes | None] = self._cache.get(self._kind, [of_trace[-1] for of_trace in keys])
        missing = [row for row, packed in enumerate(kept) if packed is None and len(keys[row]) > 1]
        for row, packed in zip(missing, self._cache.get(self._kind, [keys[row][0] for row in missing]), strict=True):
            kept[row] = packed
        return kept

    def save(self, path: str, packed: bytes) -> None:
        """Store the footprint of a trace in memory until :meth:`flush` writes it to the cache."""
        self._unwritten[self._keys[self._content_of[path]][-1]] = packed

    def flush(self) -> None:
        """Write the footprints in memory to the cache."""
        if self._unwritten:
            self._cache.put(self._kind, self._unwritten)
            self._unwritten, self._ahead = {}, {}


def kept_footprints(paths: Sequence[str]) -> Iterator[tuple[str, str, bytes]]:
    """Footprints (lists of accessed memory sectors) of these traces in the user's cache: path of the trace, limits of the
    simulated GPU as text, packed bytes.
    """
    cache = ArtefactCache()
    keys = trace_keys(paths, cache)
    for kind in cache.kinds(KIND):
        for path, keys_of_path in zip(paths, keys, strict=True):
            packed = next((packed for packed in cache.get(kind, keys_of_path) if packed is not None), None)
            if packed is not None:
                yield path, kind.removeprefix(KIND), packed
    cache.close()


# ---- footprints of an unpacked pack -------------------------------------------------------------------------------------


def write_beside(folder: Path, rows: Sequence[tuple[str, str, int]], packed: Iterable[bytes]) -> None:
    """Write footprints (lists of accessed memory sectors), made on another machine, into the folder of their trace list. No
    other list uses them.

    Args:
        folder: folder of the trace list.
        rows: for each footprint the path of its trace in the folder, the limits of the simulated GPU as text, and its size in
            bytes.
        packed: bytes of all footprints in the order of `rows`, in pieces of any size.
    """
    index = json.dumps([list(row) for row in rows], separators=(",", ":")).encode()
    with open_output_bytes(folder / BESIDE) as file:
        file.write(_MAGIC + index + b"\n")
        file.writelines(packed)


class FootprintsBeside:
    """Footprints (lists of accessed memory sectors) stored in the folder of a trace list, for one simulated GPU. Empty if there
    are none.

    Args:
        list_path: the list, or the folder that contains it.
        residency: number of SMs of the GPU, and limits of one SM, as text.

    Raises:
        TraceError: the file is damaged.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> write_beside(folder, [("kernel-1.traceg", "80,32,64,65536,98304", 6)], [b"packed"])
    >>> beside = FootprintsBeside(f"{folder}/kernelslist.g", "80,32,64,65536,98304")
    >>> beside.get(f"{folder}/kernel-1.traceg"), beside.get("kernel-1.traceg")
    (b'packed', None)
    """

    def __init__(self, list_path: str, residency: str) -> None:
        path = Path(list_path)
        folder = path if path.is_dir() else path.parent
        self._places: dict[str, tuple[int, int]] = {}  # begin and bytes, by the absolute path of a trace
        self._path = folder / BESIDE
        if self._path.is_file():
            self._read(os.path.abspath(folder), residency)

    def _read(self, folder: str, residency: str) -> None:
        try:
            with open_regular(self._path) as file:
                if file.read(len(_MAGIC)) != _MAGIC:
                    raise ValueError("the file does not begin as a pack's footprints (addresses of traces) do")
                index = file.readline(_MOST_INDEX)
                begin, end = file.tell(), os.fstat(file.fileno()).st_size
                for trace, of, size in json.loads(index):
                    if type(size) is not int or not 0 <= size <= end - begin:
                        raise ValueError(f"the file states an impossible size {size!r} of the footprint at byte {begin:,}")
                    if of == residency:
                        self._places[os.path.join(folder, trace)] = begin, size
                    begin += size
        except OSError as error:
            raise TraceError(f"{self._path}: cannot be read: {error.strerror}") from None
        except (ValueError, TypeError, RecursionError) as error:
            raise TraceError(
                f"{self._path}: this file of footprints from a pack is damaged: {' '.join(str(error).split())[:200]}; "
                "unpack the pack again"
            ) from None

    def get(self, path: str) -> bytes | None:
        """Footprint of a trace as packed bytes; None if there is none."""
        if (place := self._places.get(os.path.abspath(path))) is None:
            return None
        with open_regular(self._path) as file:
            file.seek(place[0])
            return file.read(place[1])

"""Kept footprints of traces: the last access of a launch to each line of memory, packed by the native reader."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from kernelpoint import _native
from kernelpoint.traces.cache import ArtefactCache
from kernelpoint.traces.scan_launches import trace_keys

MOST_RECENT, LARGEST_RECENT = (
    4096,
    4096,
)  # footprints, and bytes of one, that are kept in memory for traces of equal content
KIND = f"footprint {_native.FOOTPRINT_VERSION} "  # of artefact; the residency follows


class Footprints:
    """Packed footprints in a cache.

    A footprint belongs to the content of a trace and to how many CTAs the simulated GPU holds at once, which decides the order
    of its touches. Saved footprints are written by :meth:`flush`.

    Args:
        residency: of the simulated GPU, see ``kp_host_info``: SMs, and CTAs, warps, registers and shared memory of one.
        paths: traces that will be asked about; what the cache knows of their contents is looked up at once, at the first use.

    Example:
        >>> import tempfile, pathlib
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> trace = folder / "kernel-1.traceg"
        >>> _ = trace.write_text("-kernel name = sum\\n")
        >>> footprints = Footprints((80, 32, 64, 65536, 98304), ArtefactCache(folder))
        >>> footprints.load(str(trace)) is None
        True
        >>> footprints.save(str(trace), b"packed")
        >>> footprints.flush()
        >>> footprints.load(str(trace))
        b'packed'
    """

    def __init__(
        self, residency: Sequence[int], cache: ArtefactCache, paths: Callable[[], Sequence[str]] = tuple
    ) -> None:
        self._kind = KIND + ",".join(map(str, residency))
        self._cache, self._paths = cache, paths
        self._keys: dict[str, tuple[str, ...]] = {}
        self._recent: dict[str, bytes] = {}  # by key
        self._unwritten: dict[str, bytes] = {}

    def load(self, path: str) -> bytes | None:
        """The footprint of a trace; None where none was saved of its content."""
        keys = self._keys_of(path)
        for known in (self._unwritten, self._recent):
            if keys[-1] in known:
                return known[keys[-1]]
        packed = next((packed for packed in self._cache.get(self._kind, keys) if packed is not None), None)
        if packed is not None and len(packed) <= LARGEST_RECENT:
            if len(self._recent) == MOST_RECENT:
                self._recent.clear()
            self._recent[keys[-1]] = packed
        return packed

    def save(self, path: str, packed: bytes) -> None:
        """Remember a footprint until the next :meth:`flush`."""
        self._unwritten[self._keys_of(path)[-1]] = packed

    def _keys_of(self, path: str) -> tuple[str, ...]:
        if not self._keys:
            paths = list(dict.fromkeys((*self._paths(), path)))
            self._keys = dict(zip(paths, trace_keys(paths, self._cache), strict=True))
        if path not in self._keys:
            (self._keys[path],) = trace_keys([path], self._cache)
        return self._keys[path]

    def flush(self) -> None:
        """Write the saved footprints."""
        if self._unwritten:
            self._cache.put(self._kind, self._unwritten)
            self._unwritten = {}


def kept_footprints(paths: Sequence[str]) -> Iterator[tuple[str, str, bytes]]:
    """Trace, residency and footprint of all that the user's cache has of some traces as they are now."""
    cache = ArtefactCache()
    keys = trace_keys(paths, cache)
    for kind in cache.kinds(KIND):
        for path, own in zip(paths, keys, strict=True):
            packed = next((packed for packed in cache.get(kind, own) if packed is not None), None)
            if packed is not None:
                yield path, kind.removeprefix(KIND), packed
    cache.close()


def keep_footprints(rows: Iterable[tuple[str, str, bytes]]) -> None:
    """Put footprints of other machines' runs into the user's cache, for files as they are: trace, residency, footprint."""
    cache = ArtefactCache()
    for path, residency, packed in rows:
        ((key, *_),) = trace_keys([path], cache)
        cache.put(KIND + residency, {key: packed})
    cache.close()

"""Runs the fast model over a list once, and caches its predictions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from kernelpoint import _native
from kernelpoint.archive import archived, from_archived
from kernelpoint.fast_model.configuration import Configuration
from kernelpoint.fast_model.predictions import Predictions
from kernelpoint.pool import Pool
from kernelpoint.progress import Log, WorkProgress
from kernelpoint.repeated import Repeated, Texts, first_of_each
from kernelpoint.simulators import CoreModel, Simulator, simulator
from kernelpoint.traces.cache import ArtefactCache, key_of, opened
from kernelpoint.traces.scan_launches import passing, scan_launches
from kernelpoint.traces.scan_table import ScanTable

Progress = Callable[[int, int, float], None]
MODEL_VERSION: str = _native.fast_model.MODEL_VERSION
PREDICTIONS, STATES = "predictions 3", "states of cores"  # kinds of artefacts


def predict(
    paths: Sequence[str],
    copies: np.ndarray,
    configuration: Configuration,
    fingerprint: str,
    log: Log,
    cache: ArtefactCache | None = None,
    progress: Progress | None = None,
    scan: ScanTable | None = None,
    pool: Pool | None = None,
) -> Predictions:
    """Predict every launch of a list with the fast model, in program order, from the caches that earlier launches leave.
    Cached predictions are reused.

    The result depends on the list, the configuration and the model's version; it is kept in the cache under these, unless
    a trace could not be opened or read, which another try may do. On a GPU that invalidates L1 at each launch, launches of
    equal traces that find the same in L2 are simulated once, and launches of one stream whose numbers have settled take those
    of the last one that was simulated (plugin/fast_model/list/run.h).

    Args:
        paths: trace of each launch of one process; empty text where a launch was not traced.
        copies: uint64 [n, 3], copies from host to device as `read_trace_list` gives them.
        configuration: the simulated GPU.
        fingerprint: identifies the list.
        log: told which launches could not be predicted, and what is wrong with the cache.
        cache: by default the user's.
        progress: called with (launches done, launches, about which share of the work that is) ten times a second; by default
            a line on a terminal, or in the log.
        scan: of the launches that were traced, where it is at hand.
        pool: workers that read the traces where it is not; the result is the same.

    Ctrl-C ends it within a second.

    >>> from kernelpoint.fast_model import configuration_for
    >>> from kernelpoint.traces import read_trace_list
    >>> list_ = read_trace_list("traces/kernelslist.g")
    >>> gpu = configuration_for("v100", "mine", "", "", list_.paths, print)
    >>> predictions = predict(list_.paths, list_.copies, gpu, "this list", lambda line: None)
    >>> predictions.counters["cycles"].shape
    (6,)
    """
    key = key_of(fingerprint, _copies_key(copies), configuration.hash, MODEL_VERSION)
    with opened(cache, log) as cache_in_use:
        (found,) = cache_in_use.get(PREDICTIONS, [key], _decoded)
        if found is None:
            found = _made(paths, copies, configuration, fingerprint, key, log, cache_in_use, progress, scan, pool)
    counters, failures = found
    predictions = Predictions(counters, configuration.name, configuration.hash, MODEL_VERSION, failures)
    _tell_missing(predictions, paths, log)
    return predictions


def _copies_key(copies: np.ndarray) -> str:
    array = np.ascontiguousarray(copies)
    return key_of(array.dtype.str, array.shape, array.tobytes().hex())


KINDS = "of launches"  # array of kept predictions beside those of counters
Results = tuple[Repeated, Mapping[int, str]]  # counters of each launch; reasons of failures by launch


def _made(
    paths: Sequence[str],
    copies: np.ndarray,
    configuration: Configuration,
    fingerprint: str,
    key: str,
    log: Log,
    cache: ArtefactCache,
    progress: Progress | None,
    scan: ScanTable | None,
    pool: Pool | None,
) -> Results:
    """Counters of every launch, and the reason for each launch without counters; kept unless another try may read more."""
    if scan is None:
        traced = Texts.of(paths)
        traced = traced if traced.is_whole else traced.take(traced.numbers >= 0)
        scan = scan_launches(traced, cache, WorkProgress("reading", "traces", log), log, pool=pool)
    counters, failures = _simulate(
        paths, copies, configuration, progress or WorkProgress("fast model", "launches", log), scan
    )
    states: dict[str, bytes] = {}
    if configuration.cores is not None:
        model = simulator(configuration.simulator).cores
        assert model is not None, "the C++ part of this simulator says that there is one"
        of_cores, bytes_ = model.predict(paths, configuration, log)
        counters = counters.with_columns(of_cores)
        states[_states_key(model, fingerprint, *configuration.cores)] = bytes_
    if not passing(failures.values()):
        about = {"failures": {str(launch): why for launch, why in failures.items()}}
        cache.put(PREDICTIONS, {key: archived(about, {**counters.of_kind, KINDS: np.asarray(counters.kinds)})})
        cache.put(STATES, states)
    return counters, failures


def states_of_cores(
    of: Simulator,
    fingerprint: str,
    residency: Sequence[int],
    predictor: Sequence[int],
    caches: Sequence[int],
    log: Log,
) -> bytes:
    """States of the cores before each launch, recorded together with the predictions; empty if there are none.

    Args:
        fingerprint: of the list.
        residency, predictor, caches: of the simulated GPU, as a StateInfo has them.
    """
    if of.cores is None:
        return b""
    with opened(None, log) as cache:
        return cache.get(STATES, [_states_key(of.cores, fingerprint, residency, predictor, caches)])[0] or b""


def _states_key(model: CoreModel, fingerprint: str, *cores: Sequence[int]) -> str:
    return key_of(fingerprint, *map(tuple, cores), model.version)


def _decoded(value: bytes) -> Results:
    about, arrays = from_archived(value)
    counters = Repeated(arrays.pop(KINDS), arrays)
    counters["cycles"]
    return counters, {int(launch): str(reason) for launch, reason in about["failures"].items()}


def _simulate(
    paths: Sequence[str], copies: np.ndarray, configuration: Configuration, shown: Progress, scan: ScanTable
) -> tuple[Repeated, dict[int, str]]:
    def advance(done: int, share: float) -> None:
        shown(done, len(paths), share)

    contents = np.full(len(paths), -1, dtype=np.int32)
    contents[Texts.of(paths).numbers >= 0] = scan.record_ids
    first = first_of_each(scan.record_ids)
    streams = scan.stream_ids[first].astype(np.int64)
    unread = len(scan.streams) + np.arange(len(first))  # each of a stream of its own
    kinds, counters, failures, _ = _native.fast_model.run(
        contents,
        [scan.paths[launch] for launch in first.tolist()],
        copies,
        configuration,
        advance,
        bytes=scan.contents[: len(first), 2],
        streams=np.where(streams < 0, unread, streams),
    )
    shown(len(paths), len(paths), 1.0)
    return Repeated(kinds, counters), dict(failures)


def _tell_missing(predictions: Predictions, paths: Sequence[str], log: Log) -> None:
    untraced = int((Texts.of(paths).numbers < 0).sum())
    if untraced:
        log(
            f"kernelpoint: the fast model predicts nothing for {untraced:,} of {len(paths):,} launches, which were not traced"
        )
    if predictions.failures:
        first = next(iter(predictions.failures.values()))
        log(
            f"kernelpoint: the fast model could not simulate {len(predictions.failures):,} launches; the first: {first}"
        )

"""Predictions of the fast model for a trace list, computed once and cached."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from kernelpoint import _native
from kernelpoint.archive import archived, from_archived
from kernelpoint.fast_model.configuration import Configuration
from kernelpoint.pool import Pool
from kernelpoint.program import Contents, Program
from kernelpoint.progress import Log, WorkProgress
from kernelpoint.repeated import Repeated
from kernelpoint.simulators import CoreModel, Simulator, simulator
from kernelpoint.traces.cache import ArtefactCache, key_of, opened
from kernelpoint.traces.scan import passing, scan_launches

Progress = Callable[[int, int, float], None]
MODEL_VERSION: str = _native.fast_model.MODEL_VERSION
PREDICTIONS, STATES = "predictions 3", "states of cores"  # kinds of artefacts


def predict(
    program: Program,
    configuration: Configuration,
    log: Log,
    cache: ArtefactCache | None = None,
    progress: Progress | None = None,
    pool: Pool | None = None,
    files: str | None = None,
) -> Program:
    """Predict the counters of every launch of a program with the fast model, a small GPU simulator. Launches run in program
    order, each with the caches that earlier launches left. Predictions in the cache are reused.

    To save time, some launches take the result of an earlier one: launches with equal traces and equal contents of L2, if L1 is
    invalidated at each launch; and launches with equal instruction sequences whose results have become constant
    (plugin/fast_model/list/run.h). Predictions are not cached if a trace could not be read. Ctrl-C ends the call within a
    second.

    Args:
        program: launches with traces, which are read if that was not done yet. Each process is simulated separately.
        configuration: the simulated GPU.
        log: function that receives messages about launches without a prediction, and about the cache.
        cache: cache of predictions; by default the user's.
        progress: function called ten times a second with (launches done, launches, approximate share of the work done); by
            default a line on a terminal, or in the log.
        pool: workers that read traces; the result is the same.
        files: hash of the launches for the key in the cache; by default that of the trace files.

    Returns:
        The program with `predictions` (nan for a launch without one) and `errors` (reason for each traced launch without one).

    >>> from kernelpoint.fast_model import configuration_for
    >>> from kernelpoint.traces import read_trace_list
    >>> program = read_trace_list("traces/kernelslist.g")
    >>> gpu = configuration_for("v100", "mine", "", "", program.traces, print)
    >>> predict(program, gpu, lambda line: None).predictions["cycles"].shape
    (6,)
    """
    parts = []
    with opened(cache, log) as cache_in_use:
        for number in range(len(program.counts)):
            part = program.part(number)
            copies = part.copies[0] if part.copies else np.zeros((0, 3), np.uint64)
            of_files = part.fingerprint.files if files is None else files
            of_copies = key_of(copies.dtype.str, copies.shape, np.ascontiguousarray(copies).tobytes().hex())
            key = key_of(of_files, of_copies, configuration.hash, MODEL_VERSION)
            (kept,) = cache_in_use.get(PREDICTIONS, [key], lambda values: [*map(_decoded, values)])
            if kept is None:
                kept = _made(part, copies, configuration, of_files, key, log, cache_in_use, progress, pool)
            parts.append(kept)
    counters, failures = parts[0]
    if len(parts) > 1:
        names = parts[0][0].of_kind
        counters = Repeated(None, {name: np.concatenate([columns[name] for columns, _ in parts]) for name in names})
        numbered = zip(program.offsets.tolist(), parts, strict=False)
        failures = {first + launch: why for first, (_, reasons) in numbered for launch, why in reasons.items()}
    _tell_missing(program, failures, log)
    return replace(program, predictions=counters, errors=failures, unread=tuple(passing(failures.values())))


KINDS = "of launches"  # array of kept predictions beside those of counters
Results = tuple[Repeated, Mapping[int, str]]  # counters of each launch; reasons of failures by launch


def _made(
    program: Program,
    copies: np.ndarray,
    configuration: Configuration,
    files: str,
    key: str,
    log: Log,
    cache: ArtefactCache,
    progress: Progress | None,
    pool: Pool | None,
) -> Results:
    """Run the fast model; returns the counters of every launch, and the reason for each launch without them."""
    there = program.traces.numbers >= 0
    scan = program
    if program.contents is None:
        traced = program.traces if there.all() else program.traces.take(there)
        scan = scan_launches(traced, cache, WorkProgress("reading", "traces", log), log, pool=pool)
    content = np.full(program.size, -1, dtype=np.int32)
    content[there] = np.asarray(scan.content)
    counters, failures = _simulate(
        content, scan.read, copies, configuration, progress or WorkProgress("fast model", "launches", log)
    )
    states: dict[str, bytes] = {}
    if configuration.cores is not None:
        model = simulator(configuration.simulator).cores
        assert model is not None, "the C++ part of this simulator says that there is one"
        of_cores, bytes_ = model.predict(program.traces, configuration, log)
        counters = counters.with_columns(of_cores)
        states[_states_key(model, files, *configuration.cores)] = bytes_
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
    """States of the simulated cores before each launch, in one byte string, which the fast model stored with its predictions;
    empty if there are none.

    Args:
        of: the simulator.
        fingerprint: hash of the launch list.
        residency, predictor, caches: settings of the simulated GPU, as in its StateInfo.
        log: function that receives messages about the cache.
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
    content: np.ndarray, contents: Contents, copies: np.ndarray, configuration: Configuration, shown: Progress
) -> tuple[Repeated, dict[int, str]]:
    def advance(done: int, share: float) -> None:
        shown(done, len(content), share)

    streams = contents.stream_ids.astype(np.int64)
    unread = int(streams.max(initial=-1)) + 1 + np.arange(len(contents))  # each of a stream of its own
    kinds, counters, failures, _ = _native.fast_model.run(
        content,
        list(contents.traces),
        copies,
        configuration,
        advance,
        bytes=contents.keys[:, 2],
        streams=np.where(streams < 0, unread, streams),
    )
    shown(len(content), len(content), 1.0)
    return Repeated(kinds, counters), dict(failures)


def _tell_missing(program: Program, failures: Mapping[int, str], log: Log) -> None:
    untraced = int((program.traces.numbers < 0).sum())
    if untraced:
        log(
            f"kernelpoint: the fast model predicts nothing for {untraced:,} of {program.size:,} launches, which were not traced"
        )
    if failures:
        first = next(iter(failures.values()))
        log(f"kernelpoint: the fast model could not simulate {len(failures):,} launches; the first: {first}")

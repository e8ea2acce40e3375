"""Runs the fast model over a list once, and caches its predictions."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from kernelpoint import _native
from kernelpoint.fast_model.configuration import Configuration
from kernelpoint.fast_model.predictions import BEYOND_L1, OF_CORES, OF_TOTAL, REPLAYED, REQUESTS, SPREAD, Predictions
from kernelpoint.pool import Pool, pieces_of
from kernelpoint.progress import WorkProgress
from kernelpoint.traces.artefacts import PREDICTIONS, STATES, artefacts_folder, keep, recall, states_key
from kernelpoint.traces.passing import passing

Log = Callable[[str], None]
Progress = Callable[[int, int, float], None]
MOST_FILES, MOST_BYTES = 256, 64 << 20  # of a piece that one worker hashes
CODE_BYTES = 256 << 20  # of instructions that the model of the cores keeps
# Model: relative standard deviations of launches from replayed state (1.7, 2.5 and 4.3 %) and of lists' totals (+0.5, +0.5 and
# -0.5 %), measured in MacSim with perfect_bp: one launch takes 7,020 cycles or 7,620 by the phases that it begins with, which
# the model of the cores does not follow into memory's queues.
PHASE_SCATTER, PHASE_ERROR = 0.03, 0.005
MODEL_VERSION: str = _native.fast_model.MODEL_VERSION
REPLICATIONS: int = _native.fast_model.REPLICATIONS  # of a list that means of the model of the cores are of


def predict(
    paths: Sequence[str],
    copies: np.ndarray,
    configuration: Configuration,
    fingerprint: str,
    log: Log,
    folder: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    threads: int | None = None,
    pool: Pool | None = None,
) -> Predictions:
    """Simulate every launch of a list in program order, with the caches that the ones before it leave, or recall it.

    The result depends on the list, the configuration and the model's version; it is kept on disk under these, unless
    a trace could not be opened or read, which another try may do. Launches of equal traces that find the same in L2 are
    simulated once, on a GPU that invalidates L1 at each launch (MacSim's does not).

    Args:
        paths: trace of each launch of one process; empty text where a launch was not traced.
        copies: uint64 [n, 3], copies from host to device as `read_trace_list` gives them.
        configuration: the simulated GPU.
        fingerprint: identifies the list.
        log: told which launches could not be predicted, and what is wrong with the file on disk.
        folder: where results are kept; by default `predictions` in the cache folder.
        progress: called with (launches done, launches, about which share of the work that is) ten times a second; by default
            a line on a terminal, or in the log.
        threads: that read the traces, to find equal ones; by default as many as there are processors.
        pool: workers that read them instead; the result is the same.

    Ctrl-C ends it within a second.

    >>> from kernelpoint.fast_model import configuration_for
    >>> from kernelpoint.traces import read_trace_list
    >>> list_ = read_trace_list("traces/kernelslist.g")
    >>> gpu = configuration_for("v100", "accelsim", "", "", list_.paths, print)
    >>> predictions = predict(list_.paths, list_.copies, gpu, "this list", lambda line: None)
    >>> predictions.counters["cycles"].shape
    (6,)
    """
    folder = artefacts_folder() if folder is None else Path(folder)
    key = f"{fingerprint}:{_digest([np.asarray(copies)])}:{configuration.hash}:{MODEL_VERSION}"
    found = _recall(key, configuration, folder, log)
    if found is None:
        shown = progress or WorkProgress("fast model", "launches", log)
        counters, failures = _simulate(paths, copies, configuration, shown, threads, pool)
        to_keep = not passing(failures.values())
        if configuration.cores is not None:
            of_cores, states = _of_cores(paths, configuration, WorkProgress("model of the cores", "launches", log))
            counters |= of_cores
            if to_keep:
                bytes_of = np.frombuffer(states, dtype=np.uint8)
                keep(STATES, states_key(fingerprint, *configuration.cores), {"states": bytes_of}, folder, log)
        found = Predictions(counters, configuration.name, configuration.hash, MODEL_VERSION, failures)
        if to_keep:
            keep(PREDICTIONS, key, counters, folder, log, failures={str(k): why for k, why in failures.items()})
    _tell_missing(found, paths, log)
    return found


def _simulate(
    paths: Sequence[str],
    copies: np.ndarray,
    configuration: Configuration,
    shown: Progress,
    threads: int | None,
    pool: Pool | None,
) -> tuple[dict[str, np.ndarray], dict[int, str]]:
    """Counters of every launch, and the reason for each launch without counters."""

    def advance(done: int, share: float) -> None:
        shown(done, len(paths), share)

    threads = threads or len(os.sched_getaffinity(0))
    contents = None if pool is None else _contents(pool, paths)
    counters, failures, _ = _native.fast_model.run(
        list(paths), copies, configuration, advance, threads, contents=contents
    )
    shown(len(paths), len(paths), 1.0)
    return counters, dict(failures)


def _contents(pool: Pool, paths: Sequence[str]) -> np.ndarray:
    """Contents of the distinct traces of a list, in the order of their first launches: as `_native.fast_model.contents`."""
    distinct = [os.path.abspath(path) for path in dict.fromkeys(paths) if path]
    sizes = _native.stat_many(distinct)[:, 0].tolist()
    pieces = [[distinct[i] for i in piece] for piece in pieces_of(sizes, MOST_BYTES, MOST_FILES)]
    found = list(pool.map(_native.fast_model.contents, pieces))
    return np.concatenate(found) if found else np.zeros((0, 3), dtype=np.uint64)


def _of_cores(
    paths: Sequence[str], configuration: Configuration, progress: WorkProgress
) -> tuple[dict[str, np.ndarray], bytes]:
    """Cycles and mispredictions by the model of the cores that a configuration of MacSim has, for SPREAD, REPLAYED and OF_TOTAL
    see there; and the states that launches begin with.

    Branch predictors there learn during the whole run, and decide whether one and the same launch takes 6,144 cycles or
    9,383; the fast model knows none. The model of the cores is the one that replay trains predictors with.
    """
    table, states = _native.fast_model.run_cores(list(paths), configuration, CODE_BYTES, progress)
    progress(len(paths), len(paths))
    names = ("cycles", SPREAD, "mispredictions", REPLAYED, OF_TOTAL, *OF_CORES)
    found = dict(zip(names, np.ascontiguousarray(table.T), strict=True))
    _widen_by_phases(found)
    found[REQUESTS] = found["fetch_misses"] + found["l1_lookup_misses"]
    found[BEYOND_L1] = found[REQUESTS] - found["merged_misses"]
    return found, states


def _widen_by_phases(found: dict[str, np.ndarray]) -> None:
    """Raise the spreads of launches in which no branch is mispredicted, and of the total, to those that MacSim has there.

    Such launches take nearly the same in all trajectories of the model, which does not follow phases into memory's queues.

    Formula: s_i = max(s_i, a c_i), and for the total hypot(sd of the trajectories, a sqrt(sum(c_i^2))), sums over these
    launches, a PHASE_SCATTER: they differ independently. Where all launches of the list are such, all may be off alike by
    b sum(c_i), b PHASE_ERROR, which is the least sd of the trajectories then.
    """
    blind = np.where(found["mispredictions"] == 0.0, found["cycles"], 0.0)
    found[SPREAD] = np.maximum(found[SPREAD], PHASE_SCATTER * blind)
    squares, total = found[OF_TOTAL] ** 2, np.nansum(blind)
    if not np.nansum(found["mispredictions"]) and total:
        squares += max((PHASE_ERROR * total) ** 2 - np.nansum(squares), 0.0) * blind / total
    found[OF_TOTAL] = np.sqrt(squares + (PHASE_SCATTER * blind) ** 2)


def _tell_missing(found: Predictions, paths: Sequence[str], log: Log) -> None:
    untraced = sum(not path for path in paths)
    if untraced:
        log(
            f"kernelpoint: the fast model predicts nothing for {untraced:,} of {len(paths):,} launches, which were not traced"
        )
    if found.failures:
        first = next(iter(found.failures.values()))
        log(f"kernelpoint: the fast model could not simulate {len(found.failures):,} launches; the first: {first}")


def _digest(arrays: Sequence[np.ndarray]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for array in arrays:
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _recall(key: str, configuration: Configuration, folder: Path, log: Log) -> Predictions | None:
    """Predictions that were kept, or None."""
    about, counters = recall(PREDICTIONS, key, folder, log) or ({}, {})
    try:
        failures = {int(launch): reason for launch, reason in about["failures"].items()}
        counters["cycles"]
    except (LookupError, ValueError, TypeError, AttributeError):  # none, or of another version
        return None
    return Predictions(counters, configuration.name, configuration.hash, MODEL_VERSION, failures)

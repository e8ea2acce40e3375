"""Journals of earlier runs: one that this run goes on with, or one whose results it takes over; refused where they do not fit.

Each launch begins with replayed state, whatever else is simulated, so its result depends on neither the sample, nor the error
budget, nor the counter that the budget is put on: it is taken over in the place of simulating the launch again.
"""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from kernelpoint.errors import ConfigError, JournalError
from kernelpoint.journal.records import Record, RunRecord, plain
from kernelpoint.journal.run import load_run
from kernelpoint.simulators import options_of

# The only keys in which a resumed run may differ from the one that began the journal; looks are computed again anyway. The
# design's hash identifies the plan.
_MAY_DIFFER = (
    "config.resume",
    "config.journal",
    "config.plan",
    "config.ranges",
    "config.results_from",
    "config.selection",
    "plan",
    "bound",
    "command",
    "host.lists",
    "host.version",
    "host.configuration",
    "type",
)
_ERROR_BUDGET = "config.error_budget."
# The first sample of a run with predictions, and the places of its validation launches, were sized for these.
_SIZED_BY = tuple(_ERROR_BUDGET + key for key in ("confidence", "relative_error", "counter"))
_FURTHER = "config.error_budget.further", "config.error_budget.ranges"
_WHY_SIZED = (
    "where launches are predicted, the sample is sized for the error budget before the first launch, so a run cannot go on to "
    "another budget; a new one takes its results over: name another `journal:`, and this one with `results_from:`"
)
# If these are equal, a launch that begins with replayed state has the same result in either run.
_OF_RESULTS = (
    "hashes.traces",
    "hashes.simulator_config",
    "host.simulator",
    "config.launch_latency",
    "config.replay.state",
)

MOST_LINES = 10
_CUT = reprlib.Repr()
_CUT.maxstring = _CUT.maxother = 80
_CUT.maxlist = 4
_CONFIG_HASH = "hashes.simulator_config"
_CONFIGURATION = "host.configuration"
_FOLLOWS = ("hashes.", "strata.", "online.")  # from the traces, the configuration and the simulated GPU


def check_same_run(path: Path, old: Record, new: RunRecord, predicted: bool = False) -> None:
    """Raise an error if a journal was written by another run than the one to resume.

    Args:
        path: path of the journal.
        old: first record of the journal.
        new: first record that this run would write.
        predicted: True if the estimate uses predictions of launches.

    Raises:
        JournalError: names every configuration key or option that differs, with both values.
    """
    before, after = _flatten(plain(old)), _flatten(plain(new))

    def may_differ(key: str) -> bool:
        if key.startswith(_ERROR_BUDGET):
            sized = key in _SIZED_BY or key.startswith(_FURTHER)
            return not (predicted and sized)
        return key in _MAY_DIFFER

    differing = [
        key for key in sorted(before.keys() | after.keys()) if before.get(key) != after.get(key) and not may_differ(key)
    ]
    if differing:
        sized = predicted and any(key in _SIZED_BY for key in differing)
        raise JournalError(
            f"{path} belongs to another run; use another `journal:`, or `resume: never` to start a new run:\n"
            + format_differences(differing, before, after)
            + (f"\n{_WHY_SIZED}" if sized else "")
        )


def _flatten(record: Any, prefix: str = "") -> dict[str, Any]:
    if not isinstance(record, dict):
        return {prefix[:-1]: record}
    flat: dict[str, Any] = {}
    for key, value in record.items():
        flat.update(_flatten(value, f"{prefix}{key}."))
    return flat


def format_differences(differing: list[str], before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """Format the differences between two configurations, one line each. A difference that follows from another one is left out.

    Args:
        differing: configuration keys whose values differ and must not.
        before, after: values of both configurations, by key.
    """
    causes = [key for key in differing if key.startswith("config.")]
    if not causes:
        causes = [key for key in differing if not key.startswith(_FOLLOWS)]
        causes += [key for key in differing if key.startswith("hashes.")]
    if "hashes.traces" in causes:
        causes = [key for key in causes if not key.startswith("hashes.")] + ["hashes.traces"]
    if _CONFIG_HASH in causes:  # what else is made of the simulated GPU differs with it
        causes = [key for key in causes if not key.startswith("hashes.")] + [_CONFIG_HASH]
    lines: list[str] = []
    for key in causes:
        lines += _options(before, after) if key == _CONFIG_HASH else [_line(key, before.get(key), after.get(key))]
    if len(lines) > MOST_LINES:
        lines = [*lines[:MOST_LINES], f"{len(lines) - MOST_LINES} more differ"]
    return "\n".join(lines)


def _line(key: str, before: Any, after: Any) -> str:
    meaning = " (the traces or their list have changed)" if key == "hashes.traces" else ""
    return f"{key}: the journal has {_CUT.repr(before)}, this run {_CUT.repr(after)}{meaning}"


def _options(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Changed options of the simulated GPU if the simulator states its options, else its hash."""
    old, new = (options_of(values.get(_CONFIGURATION) or "") for values in (before, after))
    names = sorted(old.keys() | new.keys(), key=lambda key: (key != "name", key))  # the name of a GPU first
    changed = [key for key in names if old.get(key) != new.get(key)]
    if not old or not new or not changed:
        return [_line(_CONFIG_HASH, before.get(_CONFIG_HASH), after.get(_CONFIG_HASH))]
    return [_line(f"simulated GPU: {key}", old.get(key, "nothing"), new.get(key, "nothing")) for key in changed]


# ---- results ----------------------------------------------------------------------------------------------------------

Counters = dict[str, float]


@dataclass(frozen=True)
class EarlierResults:
    """Results of an earlier run that a new run uses again.

    Results of the sample have the key (process, launch index). Results of validation launches, which were simulated to measure
    the error of restored caches, have the key of their chain (consecutive launches), then of the launch.
    """

    of_launch: dict[tuple[int, int], Counters] = field(default_factory=dict)
    of_chain: dict[tuple[int, ...], dict[int, Counters]] = field(default_factory=dict)


def read_earlier(path: str, now: RunRecord, counters: tuple[str, ...] | None) -> EarlierResults:
    """Read the results of an earlier run from its journal. Launches that were stopped before their end are left out.

    Args:
        path: path of the earlier run's journal.
        now: first record of the new run.
        counters: names of the counters that the new run's simulator reports, if known.

    Raises:
        ConfigError: traces, simulated GPU or counters of the two runs differ, or the earlier run simulated every launch.
        JournalError: the journal cannot be read.
    """
    run = load_run(path)
    strata = run.frozen.strata
    if strata is not None and not strata.units:
        raise ConfigError(
            f"results_from: {path} is the journal of a full run, whose results do not fit a sampled run: each launch began "
            "with the caches that the launch before it left; name the journal of a sampled run"
        )
    before, after = _flatten(plain(replace(run.header, hashes=run.hashes))), _flatten(plain(now))
    if differing := [key for key in _OF_RESULTS if before.get(key) != after.get(key)]:
        differences = format_differences(differing, before, after)
        raise ConfigError(
            f"results_from: {path} is of other traces, or of another simulator or GPU, so its results cannot be used here; "
            f"name the journal of another run, or remove the key. Differences:\n{differences}"
        )
    if counters is not None and run.counters and tuple(run.counters) != counters:
        lacking = sorted(set(counters) ^ set(run.counters))
        raise ConfigError(
            f"results_from: {path} and this simulator differ in the counters {', '.join(lacking)[:200]}; name a journal of "
            "the same simulator with the same options, or remove the key"
        )
    chains: dict[int, dict[int, Counters]] = {}
    for record in run.validations:
        chains.setdefault(record.validation or 0, {})[record.launch] = record.counters
    results = {(r.process, r.launch): r.counters for r in run.results.values() if r.projection is None}
    return EarlierResults(results, {tuple(sorted(chain)): chain for chain in chains.values()})

"""Differences between the run that a journal holds and the one that wants to take it over, told so that one can act on them."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from typing import Any

MOST_LINES = 10
_CUT = reprlib.Repr()
_CUT.maxstring = _CUT.maxother = 80
_CUT.maxlist = 4
_CONFIG_HASH = "hashes.simulator_config"
_CONFIGURATION = "host.configuration"
_FOLLOWS = ("hashes.", "strata.", "online.")  # from the traces, the configuration and the simulated GPU


def told(differing: list[str], before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """One line for each difference that a user can act on; what follows from it is left out.

    Args:
        differing: keys whose values differ and may not.
        before, after: values by dotted key.
    """
    causes = [key for key in differing if key.startswith("config.")]
    if not causes:
        causes = [key for key in differing if not key.startswith(_FOLLOWS)]
        causes += [key for key in differing if key.startswith("hashes.")]
    if "hashes.traces" in causes:
        causes = [key for key in causes if not key.startswith("hashes.")] + ["hashes.traces"]
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
    """The options of the simulated GPU that changed, as far as the simulator states them; else its hash."""
    old, new = (options_of(values.get(_CONFIGURATION) or "") for values in (before, after))
    changed = [key for key in sorted(old.keys() | new.keys()) if old.get(key) != new.get(key)]
    if not old or not new or not changed:
        return [_line(_CONFIG_HASH, before.get(_CONFIG_HASH), after.get(_CONFIG_HASH))]
    return [_line(f"simulated GPU: {key}", old.get(key, "nothing"), new.get(key, "nothing")) for key in changed]


def options_of(text: str) -> dict[str, str]:
    """Option -> value of a configuration as simulators state it: `-key value`, `key value` or `key: value` on a line.

    >>> options_of("-gpgpu_n_clusters 80\\nl2_size: 6291456")
    {'-gpgpu_n_clusters': '80', 'l2_size': '6291456'}
    """
    found = {}
    for line in text.splitlines():
        key, _, value = line.strip().partition(" ")
        if key:
            found[key.rstrip(":=")] = " ".join(value.split())
    return found

"""Every error a user can cause. Each message says what is wrong, where, the value received and what is allowed."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class KernelPointError(Exception):
    """Base of all errors raised on purpose; anything else that escapes is a defect."""


class ConfigError(KernelPointError):
    """A configuration key, option or combination of them is refused."""


class TraceError(KernelPointError):
    """A trace or trace list cannot be used; the message begins with file and line."""


class ProfileError(KernelPointError):
    """A profile cannot be read or does not fit; the message begins with the file."""


class PlanError(KernelPointError):
    """A plan, cache or checkpoint does not fit this version, list or configuration."""


class PolicyError(KernelPointError):
    """A policy lacks an input it needs or was given parameters it refuses."""


class JournalError(KernelPointError):
    """A journal is damaged, locked by another run, or belongs to another run."""


class HostError(KernelPointError):
    """The simulator called the plugin out of order or with values that cannot be."""


class SetupError(KernelPointError):
    """This Python, its libraries and the plugin do not fit together."""


class PatchError(KernelPointError):
    """A simulator's source tree cannot take the patch, or give it back."""


class SessionError(KernelPointError):
    """The run cannot go on: the host must stop. Everything recorded so far is in the journal."""


def did_you_mean(name: str, allowed: Iterable[str]) -> str:
    """The allowed name that was probably meant, as the end of a message; empty where none is near.

    >>> did_you_mean("repot", ["plan", "report"])
    ' (did you mean report?)'
    """
    near = difflib.get_close_matches(name, list(allowed), n=1)
    return f" (did you mean {near[0]}?)" if near else ""

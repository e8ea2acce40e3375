"""Every error a user can cause. Each message names the mistake, its place, the value received and the allowed values."""

from __future__ import annotations

import difflib
import numbers
import reprlib
from collections.abc import Iterable
from typing import Any

MOST_CHARACTERS = 8000  # of a message


class KernelPointError(Exception):
    """Base class of all errors that KernelPoint raises on purpose. Any other exception is a defect.

    >>> len(str(ConfigError("x" * 500_000))) < 8100
    True
    """

    exit_code = 1  # of a command that it ends

    def __str__(self) -> str:
        text, half = super().__str__(), MOST_CHARACTERS // 2
        if len(text) <= MOST_CHARACTERS:
            return text
        return f"{text[:half]} ... ({len(text) - 2 * half:,} characters left out) ... {text[-half:]}"


class ConfigError(KernelPointError):
    """Error: a configuration key, an option, or a combination of them is refused."""


class TraceError(KernelPointError):
    """Error: a trace or trace list cannot be used. The message begins with file and line."""


class ProfileError(KernelPointError):
    """Error: a profile (times or counters of launches) cannot be read, or does not fit the launches. The message begins with
    the file.
    """


class PlanError(KernelPointError):
    """Error: a plan, a cache or an encoder's checkpoint does not fit this version, list or configuration."""


class PolicyError(KernelPointError):
    """Error: a sampling policy lacks an input that it needs, or refuses a parameter."""


class JournalError(KernelPointError):
    """Error: a journal (record of a run) is damaged, locked by another process, or belongs to another run."""


def damaged_journal(place: object, what: str) -> JournalError:
    """Error on a journal that nobody can have written so.

    Args:
        place: path of the journal, and line where it is known.
        what: what is wrong there.

    >>> str(damaged_journal("run.kpjournal:7", "it has a second result of launch 3"))
    'run.kpjournal:7: the journal is damaged: it has a second result of launch 3; start a new run with another `journal:`'
    """
    return JournalError(f"{place}: the journal is damaged: {what}; start a new run with another `journal:`")


class HostError(KernelPointError):
    """Error: the simulator called the plugin in a wrong order, or with impossible values."""


class SetupError(KernelPointError):
    """Error: this Python, its libraries and the plugin cannot work together."""


class PatchError(KernelPointError):
    """Error: a patch cannot be applied to a simulator's source tree, or reverted."""


class AdmissionError(KernelPointError):
    """Error: an input is damaged or incomplete. The message has one line for each reason."""

    exit_code = 3


class BudgetError(AdmissionError):
    """Error: no error budget can be met, because too large a part of the input cannot be read."""

    exit_code = 4


class SessionError(KernelPointError):
    """Error: the run cannot continue, and the simulator must stop. Results so far are in the journal (record of the run)."""


class _Cut(reprlib.Repr):
    """Text of values for messages: long text, deep nesting and long lists are cut; for other objects, the name of their
    type."""

    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = self.maxlong = 60
        self.maxlevel = 2

    def repr_int(self, value: int, level: int) -> str:
        """A number, or the number of its digits if there are too many."""
        return f"a number of {value.bit_length()} bits" if value.bit_length() > 1000 else super().repr_int(value, level)

    def repr_instance(self, value: object, level: int) -> str:
        """Text of floating-point numbers, true, false and None; for any other object, its type."""
        if isinstance(value, (float, complex, bool, bytes, type(None))):
            return super().repr_instance(value, level)
        if isinstance(value, numbers.Number) and hasattr(value, "item"):
            return self.repr1(value.item(), level)  # a number of NumPy
        return f"an object of type {type(value).__name__}"


def shown(value: Any) -> str:
    """Format a value for a message: its text, shortened, or its type.

    >>> shown("x" * 500), shown([10**5000, object()])
    ("'xxxxxxxxxxxxxxxxxxxxxxxxxxx...xxxxxxxxxxxxxxxxxxxxxxxxxxxx'", '[a number of 16610 bits, an object of type object]')
    """
    return _Cut().repr(value)


def did_you_mean(name: str, allowed: Iterable[str]) -> str:
    """End of a message that suggests the most similar allowed name; empty text if no name is similar.

    >>> did_you_mean("repot", ["plan", "report"])
    ' (did you mean report?)'
    """
    near = difflib.get_close_matches(name, list(allowed), n=1)
    return f" (did you mean {near[0]}?)" if near else ""

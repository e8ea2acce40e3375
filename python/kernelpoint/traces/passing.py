"""Telling a file that could not be had from one that is damaged."""

from __future__ import annotations

from collections.abc import Iterable

# Of the native readers: the system refused a file, or had no memory. Everything else is the content's fault.
_REFUSED = (": cannot be opened: ", ": cannot be read: ", "std::bad_alloc", "std::bad_array_new_length")


def passing(reasons: Iterable[str]) -> list[str]:
    """The reasons that may be gone at another try: too many open files, no permission, a disk or a server that fails.

    >>> passing(["a.traceg:7: expected a mask, found 'x'", "b.traceg: cannot be opened: Permission denied"])
    ['b.traceg: cannot be opened: Permission denied']
    """
    return [reason for reason in reasons if any(words in reason for words in _REFUSED)]

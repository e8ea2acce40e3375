"""Check of file names in untrusted files: names of traces in a list, names of files in a pack.

A simulator may hand such a name to a shell (Accel-Sim opens ``xz -dc NAME``), so few characters are allowed. ``name_problem``
in plugin/include/kernelpoint/file_names.hpp has the same rule. Paths that the user types are not checked.
"""

from __future__ import annotations

import re

from kernelpoint.terminal import plain

BESIDE = "footprints.kpfootprints"  # file of footprints in the folder of an unpacked pack
_OTHER = re.compile(r"[^A-Za-z0-9._/+-]")


def name_problem(name: str) -> str | None:
    """Reason why a file name in a list is refused, or None. Allowed are ASCII letters, digits and ``. _ / + -``, but no part
    ``..`` and no leading ``-``.

    >>> name_problem("part-1/kernel-7.traceg.xz") is None
    True
    >>> name_problem("a/../../b")
    "the name 'a/../../b' is refused: its part '..' leads outside the folder of its list"
    """
    if not name:
        problem = "it is empty"
    elif other := _OTHER.search(name):
        problem = (
            f"it contains {_quoted(other[0])}; letters, digits and . _ / + - are allowed, since a simulator may hand it to a "
            "shell"
        )
    elif name.startswith("-"):
        problem = "it begins with '-', as an option of a command does"
    elif ".." in name.split("/"):
        problem = "its part '..' leads outside the folder of its list"
    else:
        return None
    return f"the name '{plain(name[:200])}' is refused: {problem}"


def _quoted(character: str) -> str:
    """Format a character for a message; a character that is not printable ASCII is shown as its first byte."""
    if character == " ":
        return "a space"
    first = character.encode("utf-8", "surrogateescape")[0]
    return f"'{character}'" if "!" <= character <= "~" else f"the byte 0x{first:02x}"

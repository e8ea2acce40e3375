"""Text for a terminal, with control characters made visible: untrusted names cannot move the cursor or change colours.

Everything that a command prints passes :func:`plain`: Python's streams by :class:`PlainStream`, tables in
`kernelpoint.cli.console`. The plugin and the hooks have the same filter in C++ (kernelpoint/printable.hpp).
"""

from __future__ import annotations

import sys
from typing import Any, TextIO

_REPLACEMENT = 0xFFFD
_SHOWN = {
    **{code: 0x2400 + code for code in range(0x20) if code not in (0x09, 0x0A)},  # pictures of C0 controls
    0x7F: 0x2421,
    **dict.fromkeys(range(0x80, 0xA0), _REPLACEMENT),  # C1 controls
    **dict.fromkeys((0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A)), _REPLACEMENT),  # order of writing
}


def plain(text: str) -> str:
    r"""Text with control characters, except tabs and newlines, replaced by visible characters.

    >>> plain("sum\x1b[31m red\nnext")
    'sum␛[31m red\nnext'
    """
    return text.translate(_SHOWN)


class PlainStream:
    """Text stream that makes control characters visible and writes to the stream `unfiltered`.

    >>> import io
    >>> stream = PlainStream(io.StringIO())
    >>> print("a\\x07b", file=stream)
    >>> stream.unfiltered.getvalue()
    'a␇b\\n'
    """

    def __init__(self, stream: TextIO) -> None:
        self.unfiltered = stream

    def write(self, text: str) -> int:
        """Write a text with its control characters made visible."""
        self.unfiltered.write(plain(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.unfiltered, name)


def unfiltered(stream: Any) -> Any:
    """Stream to which a PlainStream writes, for code that makes control characters visible itself. Another stream is returned
    unchanged.

    >>> unfiltered(PlainStream(sys.stdout)) is unfiltered(sys.stdout)
    True
    """
    return stream.unfiltered if isinstance(stream, PlainStream) else stream


def show_line(text: str) -> None:
    """Replace the last line of the terminal (standard error) by a text; an empty text clears it."""
    stream = unfiltered(sys.stderr)
    stream.write(f"\r\033[K{plain(text)}")
    stream.flush()

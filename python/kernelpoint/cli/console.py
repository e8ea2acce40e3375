"""Console of every command: rich's console with control characters made visible."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import rich.console
from rich.console import ConsoleOptions, ConsoleRenderable, RenderHook, RenderResult
from rich.segment import Segment

from kernelpoint.terminal import plain, unfiltered


class Console(rich.console.Console):
    """Prints lines on standard output or standard error, without markup and without control characters."""

    def __init__(self, stderr: bool = False, **settings: Any) -> None:
        stream = unfiltered(sys.stderr if stderr else sys.stdout)
        super().__init__(**{"file": stream, "stderr": stderr, "markup": False, "emoji": False, **settings})
        self.push_render_hook(_PlainText())


class _PlainText(RenderHook):
    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        """Printed objects with all control characters in their text made visible."""
        return [_Plain(renderable) for renderable in renderables]


class _Plain:
    def __init__(self, content: ConsoleRenderable) -> None:
        self._content = content

    def __rich_console__(self, console: rich.console.Console, options: ConsoleOptions) -> RenderResult:
        """The pieces of the content; rich's own control sequences are pieces by themselves."""
        return self._pieces(console, options)

    def _pieces(self, console: rich.console.Console, options: ConsoleOptions) -> Iterator[Segment]:
        for piece in console.render(self._content, options):
            yield piece if piece.control else Segment(plain(piece.text), piece.style)

"""Output of every command: lines on standard output, remarks on standard error, tables."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from kernelpoint.terminal import plain, unfiltered

if TYPE_CHECKING:
    from kernelpoint.pages.tables import Table

WIDE_TERMINAL = 150  # columns of text from which on a terminal shows every column of a table
USUAL = 120  # columns of text where the output is no terminal


def say(line: str | Path = "") -> None:
    """Print a line on standard output."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def log(line: str) -> None:
    """Print a line of progress, or a remark, on standard error."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def show(table: Table) -> None:
    """Print a table with its notes. A narrow terminal shows only the brief columns."""
    from rich.box import SIMPLE_HEAD  # takes 0.1 s
    from rich.console import Console
    from rich.table import Table as RichTable

    stream = unfiltered(sys.stdout)
    width = None if stream.isatty() or os.environ.get("COLUMNS") else USUAL
    console = Console(file=stream, width=width, highlight=False, markup=False, emoji=False)
    places = [place for place, column in enumerate(table.columns) if console.width >= WIDE_TERMINAL or column.brief]
    made = RichTable(title=plain(table.title) or None, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    made.show_header = any(column.name for column in table.columns)
    for place in places:
        heading = table.columns[place].name
        word = max(map(len, heading.split()), default=0)  # headings break between words only
        made.add_column(heading, justify="right" if place else "left", overflow="fold", no_wrap=not place, min_width=word)
    for depth, row in table.flat():
        first, *rest = (plain(table.texts(row)[place]) for place in places)
        made.add_row("  " * depth + first, *rest, style="dim" if row.weak else None)
    made.caption, made.caption_justify = plain(table.caption) or None, "left"
    console.print(made)
    for note in table.notes:
        say(note)
    if len(places) < len(table.columns):
        say("some columns are left out of this narrow terminal; the page has all")

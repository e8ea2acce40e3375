"""The documents as text and tables."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
NUMBER = re.compile(r"[+-]?\d[\d,]*\.?\d*")


def section(page: str, title: str = "") -> str:
    """The text of a page of the repository below a heading; the whole page without one."""
    text = (ROOT / page).read_text(encoding="utf-8")
    if not title:
        return text
    (body,) = re.findall(rf"^#+ {re.escape(title)}\n(.*?)(?=^#|\Z)", text, re.MULTILINE | re.DOTALL)
    return body


def tables(text: str) -> list[list[dict[str, str]]]:
    """Its tables: a dictionary for each row, by the names of the columns. An empty first cell is that of the row above."""
    of_page = []
    for block in re.findall(r"(?:^\|.*\|\n)+", text + "\n", re.MULTILINE):
        head, _, *rows = [[cell.strip() for cell in line.strip("|\n").split(" | ")] for line in block.splitlines()]
        table: list[dict[str, str]] = []
        for row in rows:
            cells = dict(zip(head, row, strict=False))
            if table and not cells[head[0]]:
                cells[head[0]] = table[-1][head[0]]
            table.append(cells)
        of_page.append(table)
    return of_page


def numbers(text: str) -> list[float]:
    """Every number of a text.

    >>> numbers("-0.051 %, 5,103,506 cycles")
    [-0.051, 5103506.0]
    """
    return [float(each.replace(",", "")) for each in NUMBER.findall(text)]

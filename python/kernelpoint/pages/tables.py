"""A table: named columns with a format each, rows that may open, and its renderings."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any

from kernelpoint.extras import needs_extra
from kernelpoint.files import open_output, open_output_bytes
from kernelpoint.pages.numbers import number
from kernelpoint.pages.page import macro

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_TEX = {sign: f"\\{sign}" for sign in "_%&#${}"}
_TEX |= {"\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}"}


@dataclass(frozen=True)
class Column:
    """Column of a table.

    Attributes:
        name: heading of the column.
        show: function that formats a value as text.
        of: function, or path of attributes, that takes the value from a record.
        brief: True if the column is also shown on a narrow terminal.
    """

    name: str
    show: Callable[[Any], str] = number
    of: str | Callable[[Any], Any] = ""
    brief: bool = True

    def value(self, record: Any) -> Any:
        """Value of this column for a record."""
        return self.of(record) if callable(self.of) else attrgetter(self.of)(record)


@dataclass(frozen=True)
class Row:
    """Row of a table.

    Attributes:
        cells: value for each column; an empty text is an empty cell.
        weak: True if the row is shown in grey.
        mark: word shown beside the first cell.
        key: name of the row in charts; a click on the row selects it there.
        inner: rows shown when this row is expanded.
    """

    cells: Sequence[Any]
    weak: bool = False
    mark: str = ""
    key: str = ""
    inner: Sequence[Row] = ()


def rows_of(columns: Sequence[Column], records: Iterable[Any], **more: Callable[[Any], Any]) -> list[Row]:
    """Make a row of a table from each record.

    Args:
        columns: columns of the table, which take their values from the record.
        more: other fields of `Row`, each as a function of the record.

    >>> rows = rows_of([Column("size", of=len), Column("first", str, of=lambda name: name[0])], ["gemm"], key=str)
    >>> rows[0].cells, rows[0].key
    ([4, 'g'], 'gemm')
    """
    return [
        Row([column.value(record) for column in columns], **{name: of(record) for name, of in more.items()})
        for record in records
    ]


@dataclass(frozen=True)
class Table:
    """Table that can be printed in a terminal or rendered in a page.

    >>> table = Table((Column("kernel", str), Column("launches")), (Row(("gemm", 1200)),), "Kernels")
    >>> print(table.markdown())
    | kernel | launches |
    | --- | --- |
    | gemm | 1,200 |

    Attributes:
        title: heading of the table, or empty.
        caption: sentence on the rows.
        notes: sentences below the table.
        name: identifier of the table on a page, where its rows can be filtered.
    """

    columns: Sequence[Column]
    rows: Sequence[Row]
    title: str = ""
    caption: str = ""
    notes: Sequence[str] = ()
    name: str = ""

    def flat(self) -> Iterator[tuple[int, Row]]:
        """Iterator over all rows, each with its depth and followed by its inner rows."""

        def below(rows: Iterable[Row], depth: int) -> Iterator[tuple[int, Row]]:
            for row in rows:
                yield depth, row
                yield from below(row.inner, depth + 1)

        return below(self.rows, 0)

    def texts(self, row: Row) -> list[str]:
        """Texts of the cells of a row."""
        return ["" if value == "" else column.show(value) for column, value in zip(self.columns, row.cells, strict=True)]

    def html(self) -> str:
        """Render the table as HTML."""
        return macro("table", self)

    def markdown(self) -> str:
        """Render the table as Markdown, with top-level rows only."""
        lines = [[column.name for column in self.columns], ["---"] * len(self.columns), *map(self.texts, self.rows)]
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)

    def latex(self) -> str:
        """Render the table for LaTeX (package booktabs), with top-level rows only."""
        head, *body = (
            " & ".join(map(latex, line)) + " \\\\"
            for line in ([column.name for column in self.columns], *map(self.texts, self.rows))
        )
        begin = f"\\begin{{tabular}}{{l{'r' * (len(self.columns) - 1)}}}"
        return "\n".join([begin, "\\toprule", head, "\\midrule", *body, "\\bottomrule", "\\end{tabular}", ""])


def facts(title: str, values: Iterable[tuple[str, str]]) -> Table:
    """Make a table without headings, with a name and a text in each row."""
    return Table((Column("", str), Column("", str)), [Row(pair) for pair in values], title)


def write_table(path: Path, names: Sequence[str], rows: Iterable[Sequence[Any]]) -> int:
    """Write values as CSV, or as Parquet if the file name ends in `.parquet`; returns the number of rows.

    Raises:
        OSError: the file cannot be written.
        SetupError: the file is Parquet and the extra `formats` is not installed.
    """
    if path.suffix == ".parquet":
        with needs_extra(f"{path.name}: Parquet"):
            import pyarrow
            import pyarrow.parquet
        values = list(rows)
        columns = zip(*values, strict=True) if values else [()] * len(names)
        table = pyarrow.table(dict(zip(names, map(list, columns), strict=True)))
        with open_output_bytes(path) as binary:
            pyarrow.parquet.write_table(table, binary)
        return len(values)
    count = 0
    with open_output(path) as file:
        lines = csv.writer(file)
        lines.writerow(map(safe_cell, names))
        for row in rows:
            lines.writerow(map(safe_cell, row))
            count += 1
    return count


def safe_cell(value: object) -> object:
    """Value for a cell of a CSV file. Text that a spreadsheet would run as a formula gets an apostrophe before it.

    Source: OWASP, "CSV Injection".

    >>> safe_cell("=HYPERLINK(1)"), safe_cell("sum<float>"), safe_cell(-3.5)
    ("'=HYPERLINK(1)", 'sum<float>', -3.5)
    """
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def latex(text: str) -> str:
    """Escape a text so that LaTeX prints its special characters.

    >>> latex("gemm_f16<50 %>")
    'gemm\\\\_f16<50 \\\\%>'
    """
    return "".join(_TEX.get(sign, sign) for sign in text)

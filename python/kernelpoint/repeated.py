"""Tables and columns with many equal rows: each distinct row is stored once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray


class Repeated(Mapping[str, NDArray[np.float64]]):
    """Table of N rows with named columns, float64 [N] each, in which many rows are equal. Distinct rows are stored once, and
    columns are made on demand.

    Args:
        kinds: int [N], index of the distinct row for each row; None: every row is distinct.
        of_kind: columns of the K distinct rows, float64 [K], by name.

    >>> columns = Repeated(np.array([0, 1, 0]), {"cycles": np.array([900.0, 70.0])})
    >>> columns["cycles"].tolist(), columns.size
    ([900.0, 70.0, 900.0], 3)
    """

    def __init__(self, kinds: NDArray[np.integer] | None, of_kind: Mapping[str, NDArray[np.float64]]) -> None:
        self.kinds, self.of_kind = kinds, of_kind

    def __getitem__(self, name: str) -> NDArray[np.float64]:
        values = self.of_kind[name]
        return values if self.kinds is None else values[self.kinds]

    def __iter__(self) -> Iterator[str]:
        return iter(self.of_kind)

    def __len__(self) -> int:
        return len(self.of_kind)

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(next(iter(self.of_kind.values()))) if self.kinds is None else len(self.kinds)

    def take(self, rows: NDArray[np.integer]) -> Repeated:
        """Table of the rows with these indices.

        >>> Repeated(np.array([0, 1]), {"cycles": np.array([900.0, 70.0])}).take(np.array([1, 1]))["cycles"].tolist()
        [70.0, 70.0]
        """
        return Repeated(rows if self.kinds is None else self.kinds[rows], self.of_kind)

    def where(self, mask: NDArray[np.bool_], otherwise: float) -> Repeated:
        """Table with the value `otherwise` in all columns of the rows where `mask` is False.

        >>> Repeated(np.array([0, 0]), {"cycles": np.array([900.0])}).where(np.array([True, False]), 0.0)["cycles"].tolist()
        [900.0, 0.0]
        """
        if mask.all() or not self.of_kind:
            return self
        kinds = np.arange(self.size) if self.kinds is None else self.kinds
        count = len(next(iter(self.of_kind.values())))
        values = {name: np.append(column, otherwise) for name, column in self.of_kind.items()}
        return Repeated(np.where(mask, kinds, count).astype(np.int32), values)

    def with_columns(self, columns: Mapping[str, NDArray[np.float64]]) -> Repeated:
        """Table with additional columns, float64 [N] each, by name.

        >>> columns = Repeated(np.array([0, 0, 0]), {"cycles": np.array([900.0])})
        >>> both = columns.with_columns({"reads": np.array([1.0, 2.0, 1.0])})
        >>> both["cycles"].tolist(), both["reads"].tolist(), len(both.of_kind["reads"])
        ([900.0, 900.0, 900.0], [1.0, 2.0, 1.0], 2)
        """
        kinds = np.arange(self.size) if self.kinds is None else self.kinds
        bits = (np.ascontiguousarray(column, np.float64).view(np.int64) for column in columns.values())
        first, which = distinct_rows(np.stack([kinds, *bits], axis=1))
        values = {name: column[kinds[first]] for name, column in self.of_kind.items()}
        return Repeated(which.astype(np.int32), values | {name: column[first] for name, column in columns.items()})


class Column:
    """Column of N numbers with few distinct values, each stored once.

    Args:
        kinds: int [N], index of the distinct value for each row; None: every row has a value of its own.
        of_kind: float64 [K], the distinct values.

    >>> column = Column(np.array([0, 1, 0]), np.array([900.0, 70.0]))
    >>> column[np.array([1, 2])].tolist(), float(column.sum()), len(column)
    ([70.0, 900.0], 1870.0, 3)
    """

    def __init__(self, kinds: NDArray[np.integer] | None, of_kind: NDArray[np.float64]) -> None:
        self.kinds, self.of_kind = kinds, of_kind

    def __len__(self) -> int:
        return len(self.of_kind if self.kinds is None else self.kinds)

    def __getitem__(self, rows: Any) -> NDArray[np.float64]:
        values: NDArray[np.float64] = self.of_kind[rows if self.kinds is None else self.kinds[rows]]
        return values

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[np.float64]:
        return np.asarray(self[:], dtype=dtype)

    def __mul__(self, factor: float) -> Column:
        return Column(self.kinds, self.of_kind * factor)

    def sum(self) -> np.float64:
        """Sum of all rows."""
        return np.add.reduce(self[:])


class Texts(Sequence[str]):
    """Column of N texts, such as the trace of each launch. Each distinct text is stored once.

    Args:
        distinct: the distinct texts, in the order of their first row.
        numbers: int32 [N], index in `distinct` of the text of each row; -1 for an empty text.

    >>> traces = Texts.of(["a.traceg", "", "b.traceg", "a.traceg"])
    >>> traces.distinct, traces.numbers.tolist(), list(traces[1:3])
    (('a.traceg', 'b.traceg'), [0, -1, 1, 0], ['', 'b.traceg'])
    """

    def __init__(self, distinct: tuple[str, ...], numbers: NDArray[np.int32]) -> None:
        self.distinct, self.numbers = distinct, numbers

    @classmethod
    def of(cls, texts: Sequence[str]) -> Texts:
        """Make the column from the text of each row."""
        if isinstance(texts, Texts):
            return texts
        numbers: dict[str, int] = {}
        rows = (numbers.setdefault(text, len(numbers)) if text else -1 for text in texts)
        of_row = np.fromiter(rows, dtype=np.int32, count=len(texts))
        return cls(tuple(numbers), of_row)

    @classmethod
    def joined(cls, parts: Sequence[Texts]) -> Texts:
        """Concatenate columns of texts.

        >>> list(Texts.joined([Texts.of(["a", "b"]), Texts.of(["b", "c"])]))
        ['a', 'b', 'b', 'c']
        """
        if len(parts) == 1:
            return parts[0]
        numbers: dict[str, int] = {}
        columns = [np.zeros(0, np.int32)]
        for part in parts:
            here = np.array([numbers.setdefault(text, len(numbers)) for text in part.distinct] + [-1], dtype=np.int32)
            columns.append(here[part.numbers])
        return cls(tuple(numbers), np.concatenate(columns))

    def take(self, rows: NDArray[Any] | slice) -> Texts:
        """Column with the texts of the rows with these indices."""
        numbers = self.numbers[rows]
        texts, first = np.unique(numbers, return_index=True)
        kept = texts[np.argsort(first)]
        kept = kept[kept >= 0]
        number = np.full(len(self.distinct) + 1, -1, dtype=np.int32)
        number[kept] = np.arange(len(kept), dtype=np.int32)
        return Texts(tuple(self.distinct[text] for text in kept.tolist()), number[numbers])

    def of_rows(self, rows: NDArray[np.integer]) -> tuple[str, ...]:
        """Texts of the rows with these indices.

        >>> Texts.of(["a.traceg", "", "b.traceg"]).of_rows(np.array([2, 1]))
        ('b.traceg', '')
        """
        texts = (*self.distinct, "")
        return tuple([texts[number] for number in self.numbers[rows].tolist()])

    @property
    def is_whole(self) -> bool:
        """True if no text is empty."""
        return bool((self.numbers >= 0).all())

    @property
    def counts(self) -> NDArray[np.int64]:
        """Number of rows with each distinct text, int64."""
        return np.bincount(self.numbers[self.numbers >= 0], minlength=len(self.distinct))

    @overload
    def __getitem__(self, row: int) -> str: ...
    @overload
    def __getitem__(self, row: slice) -> Texts: ...
    def __getitem__(self, row: Any) -> str | Texts:
        if isinstance(row, slice):
            return self if row == slice(0, len(self)) else self.take(row)
        number = int(self.numbers[row])
        return self.distinct[number] if number >= 0 else ""

    def __iter__(self) -> Iterator[str]:
        texts = (*self.distinct, "")
        return (texts[number] for number in self.numbers.tolist())

    def __len__(self) -> int:
        return len(self.numbers)

    def __repr__(self) -> str:
        return f"Texts({[self[row] for row in range(min(len(self), 3))]}{'' if len(self) < 4 else '...'})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        theirs = Texts.of(other)
        return self.distinct == theirs.distinct and np.array_equal(self.numbers, theirs.numbers)

    def __hash__(self) -> int:
        return hash((self.distinct, len(self)))


NO_TEXTS = Texts.of(())


def first_of_each(numbers: np.ndarray) -> np.ndarray:
    """Index of the first row with each number from 0 to the largest, int64. Negative numbers are left out.

    >>> first_of_each(np.array([1, -1, 0, 1])).tolist()
    [2, 0]
    """
    rows = np.flatnonzero(numbers >= 0)[::-1]
    first = np.full(int(numbers.max(initial=-1)) + 1, -1, dtype=np.int64)
    first[numbers[rows]] = rows  # of equal places the last assignment stays
    return first


def distinct_rows(columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct rows of an int64 array [N, k].

    Returns:
        Index of the first row equal to each distinct row, in no order; and int64 [N], index of the distinct row for each row.

    >>> first, which = distinct_rows(np.array([[2, 1], [7, 7], [2, 1]]))
    >>> sorted(first.tolist()), (which == which[0]).tolist()
    ([0, 1], [True, False, True])
    """
    with np.errstate(over="ignore"):
        key = np.zeros(len(columns), dtype=np.uint64)
        for column in columns.T:
            key = (key ^ column.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
            key ^= key >> np.uint64(29)
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    inverse = inverse.ravel()
    if not np.array_equal(columns[first[inverse]], columns):  # two rows of one key
        _, first, inverse = np.unique(columns, axis=0, return_index=True, return_inverse=True)
    return first, inverse.ravel()

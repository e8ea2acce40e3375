"""Reader of JSON into typed classes: every value is checked, none is converted."""

from __future__ import annotations

import enum
import json
import math
import typing
from collections.abc import Callable
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from functools import cache
from typing import Annotated, Any, Literal

Read = Callable[[Any], Any]


@dataclass(frozen=True)
class Range:
    """Allowed whole numbers of a field: from `least` on and below `end`, as in `Annotated[int, Range(0, 10)]`."""

    least: int
    end: int


class Mismatch(ValueError):
    """Error: a value in parsed JSON does not have the required type.

    Attributes:
        place: keys that lead to the value.
        value: the value.
        is_missing: True if a required key is missing.
    """

    def __init__(self, message: str, value: Any, place: tuple[str, ...] = (), is_missing: bool = False) -> None:
        super().__init__(message)
        self.place, self.value, self.is_missing = place, value, is_missing

    def within(self, key: Any) -> Mismatch:
        """The same error with `key` added in front of the keys that lead to the value."""
        self.place = (str(key), *self.place)
        return self


def loads(line: str | bytes) -> Any:
    """Parse JSON text in UTF-8.

    Raises:
        ValueError: the text is no JSON, or contains a string that is not valid Unicode.
    """
    text = line if isinstance(line, str) else line.decode("utf-8")
    try:
        value = json.loads(text)
    except RecursionError:
        raise ValueError("nested too deep") from None
    if "\\u" in text:
        json.dumps(value, ensure_ascii=False).encode()  # a half of a surrogate pair raises UnicodeEncodeError
    return value


@cache
def reader(kind: Any) -> Read:
    """Make a function that converts parsed JSON to a value of the type `kind`.

    Types: bool, int, float (finite), str, Any, Literal, enumerations, Optional, list, dict with text as keys, tuples and named
    tuples, and dataclasses of these. Dataclasses refuse missing and unknown fields. null is read as nan in a field whose
    default is nan.

    Raises (the function that is made):
        Mismatch: the value does not have the type.

    >>> reader(list[int])([1, 2])
    [1, 2]
    >>> try:
    ...     reader(dict[str, float])({"cycles": "many"})
    ... except Mismatch as error:
    ...     print(error.place, error)
    ('cycles',) expected a finite number
    """
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if kind is Any:
        return lambda value: value
    if origin is Annotated:
        return _within_range(parts[1])
    if origin is Literal:
        return _one_of(parts)
    if origin in (typing.Union, type(int | None)):
        (inner,) = [part for part in parts if part is not type(None)]
        read = reader(inner)
        return lambda value: None if value is None else read(value)
    if origin is list:
        return _list_of(reader(parts[0]))
    if origin is dict:
        return _numbers_by_name if parts[1] is float else _dict_of(reader(parts[1]))
    if origin is tuple and parts[-1] is ...:
        items = _list_of(reader(parts[0]))
        return lambda value: tuple(items(value))
    if origin is tuple:
        return _tuple_of(parts, lambda *items: items)
    if is_dataclass(kind):
        return _dataclass(kind)
    if issubclass(kind, enum.Enum):
        one_of = _one_of(tuple(member.value for member in kind))
        return lambda value: kind(one_of(value))
    if issubclass(kind, tuple):  # a named tuple
        return _tuple_of(tuple(typing.get_type_hints(kind, include_extras=True).values()), kind)
    return _number if kind is float else _exactly(kind)


_WORDS = {int: "a whole number", str: "text", bool: "true or false"}


def _exactly(kind: type) -> Read:
    def read(value: Any) -> Any:
        if type(value) is not kind:
            raise Mismatch(f"expected {_WORDS[kind]}", value)
        return value

    return read


def _within_range(allowed: Range) -> Read:
    least, end = allowed.least, allowed.end

    def read(value: Any) -> int:
        if type(value) is not int or not least <= value < end:
            raise Mismatch(f"expected a whole number from {least} to {end - 1}", value)
        return value

    return read


def _number(value: Any) -> float:
    if type(value) is int and abs(value) < 2**1023:
        return float(value)
    if type(value) is not float or not math.isfinite(value):
        raise Mismatch("expected a finite number", value)
    return value


def _one_of(allowed: tuple[Any, ...]) -> Read:
    def read(value: Any) -> Any:
        if not any(type(value) is type(each) and value == each for each in allowed):
            raise Mismatch(f"expected {' or '.join(map(repr, allowed))}", value)
        return value

    return read


def _list_of(read: Read) -> Read:
    def read_all(value: Any) -> list[Any]:
        if type(value) is not list:
            raise Mismatch("expected a list", value)
        items: list[Any] = []
        try:
            items.extend(map(read, value))
        except Mismatch as error:
            raise error.within(len(items)) from None
        return items

    return read_all


def _tuple_of(kinds: tuple[Any, ...], make: Callable[..., Any]) -> Read:
    reads = [reader(kind) for kind in kinds]

    def read(value: Any) -> Any:
        if type(value) is not list or len(value) != len(reads):
            raise Mismatch(f"expected a list of {len(reads)} values", value)
        return make(*(of_item(item) for of_item, item in zip(reads, value, strict=True)))

    return read


def _dict_of(read: Read) -> Read:
    def read_all(value: Any) -> dict[str, Any]:
        if type(value) is not dict:
            raise Mismatch("expected a mapping", value)
        key = ""
        try:
            return {(key := name): read(item) for name, item in value.items()}
        except Mismatch as error:
            raise error.within(key) from None

    return read_all


_mixed = _dict_of(_number)


def _numbers_by_name(value: Any) -> dict[str, float]:
    """Read a mapping of names to floats, the most frequent type in a journal."""
    if type(value) is dict and all(type(item) is float and math.isfinite(item) for item in value.values()):
        return value
    return _mixed(value)


def stands_for_nan(field: Field[Any]) -> bool:
    """True if the default of a field is nan. A file has null in its place."""
    return isinstance(field.default, float) and math.isnan(field.default)


def _or_nan(field: Field[Any], read: Read) -> Read:
    return (lambda value: math.nan if value is None else read(value)) if stands_for_nan(field) else read


def _dataclass(kind: Any) -> Read:
    hints = typing.get_type_hints(kind, include_extras=True)
    stated = [field for field in fields(kind) if field.init]
    reads = {field.name: _or_nan(field, reader(hints[field.name])) for field in stated}
    required = {field.name for field in stated if field.default is MISSING and field.default_factory is MISSING}

    def read(content: Any) -> Any:
        if type(content) is not dict:
            raise Mismatch("expected a mapping", content)
        try:
            given = {name: reads[name](value) for name, value in content.items()}
        except (Mismatch, KeyError):
            raise wrong(content) from None
        if not required <= given.keys():
            raise Mismatch("missing", None, (min(required - given.keys()),), is_missing=True)
        return kind(**given)

    def wrong(content: dict[str, Any]) -> Mismatch:
        """Find the first field of the wrong type, for the error message."""
        for name, value in content.items():
            if name not in reads:
                return Mismatch("no such field", value, (name,))
            try:
                reads[name](value)
            except Mismatch as error:
                return error.within(name)
        raise AssertionError(content)

    return read

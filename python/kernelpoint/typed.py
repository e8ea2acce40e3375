"""Reader of JSON and YAML into typed classes: every value is checked."""

from __future__ import annotations

import enum
import json
import math
import types
import typing
from collections.abc import Callable
from contextlib import suppress
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from typing import Annotated, Any, Literal

Read = Callable[[Any], Any]
MOST_MISMATCHES = 10_000  # of a mapping; the error has no more of them


@dataclass(frozen=True)
class Range:
    """Allowed numbers of a field: at least `least` and below `end`, above `above` and at most `most`.

    >>> reader(Annotated[int, Range(0, 10)])(3), str(Range(above=0, end=1))
    (3, 'above 0 and below 1')
    """

    least: float = -math.inf
    end: float = math.inf
    above: float = -math.inf
    most: float = math.inf

    def __str__(self) -> str:
        limits = {"at least": self.least, "above": self.above, "below": self.end, "at most": self.most}
        return " and ".join(f"{word} {limit}" for word, limit in limits.items() if math.isfinite(limit))


@dataclass(frozen=True)
class Length:
    """Allowed lengths of a text, list or mapping: from `least` to `most` characters, items or keys."""

    least: int = 0
    most: int = 1 << 62


class Stated(frozenset[str]):
    """Names of the keys that a mapping states. A field of a dataclass with this type is no key; the reader sets it."""


class Mismatch(ValueError):
    """Error: a value in parsed JSON or YAML does not have the required type.

    Attributes:
        place: keys that lead to the value.
        value: the value.
        is_missing: True if a required key is missing.
        allowed: allowed keys where the key is unknown; otherwise None.
        others: mismatches of other keys of the same mapping, and of mappings inside it.
    """

    def __init__(
        self,
        message: str,
        value: Any,
        place: tuple[str, ...] = (),
        is_missing: bool = False,
        allowed: tuple[str, ...] | None = None,
    ) -> None:
        super().__init__(message)
        self.place, self.value, self.is_missing, self.allowed = place, value, is_missing, allowed
        self.others: list[Mismatch] = []

    def within(self, key: Any) -> Mismatch:
        """The same error with `key` added in front of the keys that lead to the values."""
        for each in (self, *self.others):
            each.place = (str(key), *each.place)
        return self


@dataclass(slots=True)
class Key:
    """Key of a mapping that is read into a dataclass, from a field of the class.

    Attributes:
        name: name of the field.
        kind: its type.
        default: its default value; MISSING if the key is required.
        description: the text in its type, as in `Annotated[int, Range(0, 10), "number of attempts"]`; else empty.
    """

    name: str
    kind: Any
    default: Any
    description: str


def keys_of(kind: Any) -> list[Key]:
    """Keys of the mappings that are read into a dataclass, in the order of its fields.

    >>> [(key.name, key.default) for key in keys_of(Length)]
    [('least', 0), ('most', 4611686018427387904)]
    """
    hints = typing.get_type_hints(kind, include_extras=True)
    keys = []
    for field in fields(kind):
        if field.init and (hint := hints[field.name]) is not Stated:
            default = field.default if field.default_factory is MISSING else field.default_factory()
            texts = [note for note in getattr(hint, "__metadata__", ()) if isinstance(note, str)]
            keys.append(Key(field.name, hint, default, "".join(texts)))
    return keys


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
    """Make a function that converts parsed JSON or YAML to a value of the type `kind`.

    Types: bool, int, float (finite), str, Any, Literal, enumerations, unions, list, dict with text as keys, tuples and named
    tuples, and dataclasses of these. Dataclasses refuse missing and unknown fields. null is read as nan in a field whose
    default is nan. `Annotated` adds a :class:`Range`, a :class:`Length`, a description, or functions that convert the value
    before it is read, in their order.

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
        return _annotated(parts[0], parts[1:])
    if origin is Literal:
        return _one_of(parts)
    if origin in (typing.Union, types.UnionType):
        read = _union([reader(part) for part in parts if part is not types.NoneType])
        return (lambda value: None if value is None else read(value)) if types.NoneType in parts else read
    if origin is list:
        return _list_of(reader(parts[0]))
    if origin is dict:
        return _numbers_by_name if parts == (str, float) else _dict_of(reader(parts[0]), reader(parts[1]))
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


_WORDS = {int: "a whole number", float: "a number", str: "text", bool: "true or false"}


def _exactly(kind: type) -> Read:
    def read(value: Any) -> Any:
        if type(value) is not kind:
            raise Mismatch(f"expected {_WORDS[kind]}", value)
        return value

    return read


def _annotated(kind: Any, notes: tuple[Any, ...]) -> Read:
    read = reader(kind)
    for note in reversed(notes):
        if isinstance(note, Range):
            read = _within_range(kind, note)
        elif isinstance(note, Length):
            read = _of_length(read, note)
        elif callable(note):
            read = _converted(note, read)
    return read


def _within_range(kind: type, allowed: Range) -> Read:
    least, end, above, most = allowed.least, allowed.end, allowed.above, allowed.most

    def whole(value: Any) -> int:
        if type(value) is not int or not least <= value < end:
            limits = f" from {least} to {end - 1}" if math.isfinite(least) and math.isfinite(end) else f", {allowed}"
            raise Mismatch(f"expected a whole number{limits}", value)
        return value

    def number(value: Any) -> float:
        with suppress(Mismatch):
            read = _number(value)
            if least <= read < end and above < read <= most:
                return read
        raise Mismatch(f"expected a number, {allowed}", value)

    return whole if kind is int else number


def _of_length(read: Read, allowed: Length) -> Read:
    def read_all(value: Any) -> Any:
        if isinstance(value, str | list | dict) and not allowed.least <= len(value) <= allowed.most:
            what = {str: "characters", list: "items", dict: "keys"}[type(value)]
            limit = f"{allowed.least} or more {what}" if len(value) < allowed.least else f"at most {allowed.most:,} {what}"
            raise Mismatch(f"expected {limit}", value)
        return read(value)

    return read_all


def _converted(convert: Read, read: Read) -> Read:
    return lambda value: read(convert(value))


def _union(reads: list[Read]) -> Read:
    if len(reads) == 1:
        return reads[0]

    def read(value: Any) -> Any:
        expected = []
        for of_kind in reads:
            try:
                return of_kind(value)
            except Mismatch as error:
                expected.append(str(error).removeprefix("expected "))
        raise Mismatch(f"expected {' or '.join(expected)}", value)

    return read


def _number(value: Any) -> float:
    if type(value) is int and abs(value) < 2**1023:
        return float(value)
    if type(value) is not float or not math.isfinite(value):
        raise Mismatch("expected a finite number", value)
    return value


def _one_of(allowed: tuple[Any, ...]) -> Read:
    *others, last = map(repr, allowed)
    words = f"{', '.join(others)} or {last}" if others else last

    def read(value: Any) -> Any:
        if not any(type(value) is type(each) and value == each for each in allowed):
            raise Mismatch(f"expected {words}", value)
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


def _dict_of(read_key: Read, read: Read) -> Read:
    def read_all(value: Any) -> dict[str, Any]:
        if type(value) is not dict:
            raise Mismatch("expected a mapping", value)
        key = ""
        try:
            return {read_key(key := name): read(item) for name, item in value.items()}
        except Mismatch as error:
            raise error.within(key) from None

    return read_all


_mixed = _dict_of(_exactly(str), _number)


def _numbers_by_name(value: Any) -> dict[str, float]:
    """Read a mapping of names to floats, the most frequent type in a journal."""
    if type(value) is dict and all(type(item) is float and math.isfinite(item) for item in value.values()):
        return value
    return _mixed(value)


def _dataclass(kind: Any) -> Read:
    keys = keys_of(kind)
    reads = {key.name: _or_nan(key) for key in keys}
    required = {key.name for key in keys if key.default is MISSING}
    stated = {field.name for field in fields(kind) if field.init} - reads.keys()
    allowed = tuple(reads)

    def read(content: Any) -> Any:
        if type(content) is not dict:
            raise Mismatch(f"expected a mapping of {', '.join(allowed)}", content)
        try:
            given = {name: reads[name](value) for name, value in content.items()}
        except (Mismatch, KeyError):
            raise mismatches(content) from None
        if not required <= given.keys():
            raise mismatches(content)
        return kind(**given, **{name: Stated(given) for name in stated}) if stated else kind(**given)

    def mismatches(content: dict[Any, Any]) -> Mismatch:
        """The error for the first key that is wrong, with those of all others."""
        every: list[Mismatch] = []
        for name, value in content.items():
            if len(every) >= MOST_MISMATCHES:
                break
            if name not in reads:
                every.append(Mismatch("no such field", value, (str(name),), allowed=allowed))
                continue
            try:
                reads[name](value)
            except Mismatch as error:
                every += [error.within(name), *error.others]
        every += [Mismatch("missing", None, (name,), is_missing=True) for name in sorted(required - content.keys())]
        first, *first.others = every
        return first

    return read


def _or_nan(key: Key) -> Read:
    """Reader of a key's value; null is read as nan where the default is nan."""
    read = reader(key.kind)
    is_nan = isinstance(key.default, float) and math.isnan(key.default)
    return (lambda value: math.nan if value is None else read(value)) if is_nan else read

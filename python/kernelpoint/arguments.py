"""Arguments of the library's functions, checked against the types that their signatures state."""

from __future__ import annotations

import functools
import inspect
import os
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Literal, TypeVar, Union

import numpy as np

from kernelpoint.errors import ConfigError, shown

Function = TypeVar("Function", bound=Callable[..., Any])
WORDS: dict[Any, str] = {
    **{
        Any: "any values",
        str: "text",
        int: "a whole number",
        float: "a number",
        bool: "true or false",
        type(None): "None",
    },
    **{os.PathLike: "a path", Path: "a path", np.ndarray: "an array", Callable: "a function"},
}


def checked(function: Function) -> Function:
    """Decorator that checks the arguments of a function when it is called: types must be as annotated, paths must have no byte
    0, and numbers must not be nan.

    Raises:
        ConfigError: names the argument, its value and the allowed values.

    >>> @checked
    ... def embed(trace: str | os.PathLike[str], max_nodes: int = 5) -> None: ...
    >>> embed("kernel-1.traceg", 7)
    >>> embed(None)
    Traceback (most recent call last):
    ...
    kernelpoint.errors.ConfigError: trace: got None; expected text or a path
    """
    signature = inspect.signature(function)

    @functools.wraps(function)
    def call(*given: Any, **named: Any) -> Any:
        arguments = signature.bind(*given, **named).arguments
        for name, hint in _hints(function).items():
            if name in arguments and signature.parameters[name].kind is not inspect.Parameter.VAR_KEYWORD:
                check(name, arguments[name], hint)
        return function(*given, **named)

    return typing.cast(Function, call)


def check(name: str, value: Any, hint: Any) -> None:
    """Raise an error if the value of an argument does not have the type of the argument's annotation.

    Args:
        name: name of the argument, for the message.
        hint: the annotation.

    >>> check("seeds", 2.5, int)
    Traceback (most recent call last):
    ...
    kernelpoint.errors.ConfigError: seeds: got 2.5; expected a whole number
    """
    if not _fits(value, hint):
        raise ConfigError(f"{name}: got {shown(value)}; expected {_described(hint)}")


@functools.cache
def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """Types of the parameters; names imported for type checkers only are not resolved."""
    stated = {name: hint for name, hint in function.__annotations__.items() if name != "return"}
    holder = types.SimpleNamespace(__annotations__=stated)
    return typing.get_type_hints(holder, globalns=inspect.unwrap(function).__globals__)


def _fits(value: Any, hint: Any) -> bool:
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return True
    if origin in (Union, types.UnionType):
        return any(_fits(value, part) for part in parts)
    if origin is Literal:
        return isinstance(value, str) and value in parts
    if origin is Sequence:
        is_list = isinstance(value, Sequence) and not isinstance(value, (str, bytes))
        is_list = is_list or (isinstance(value, np.ndarray) and value.ndim == 1)
        return is_list and all(_fits(item, parts[0]) for item in value)
    if origin in (Mapping, dict):
        return isinstance(value, Mapping) and all(_fits(k, parts[0]) and _fits(v, parts[1]) for k, v in value.items())
    if origin is Callable:
        return callable(value)
    return _is_one(value, origin or hint)


def _is_one(value: Any, kind: Any) -> bool:
    """True if a value is of a plain type such as int or str. NumPy's numbers count as numbers, true and false do not."""
    if kind in (int, float):
        return isinstance(value, Integral if kind is int else Real) and not isinstance(value, (bool, np.bool_))
    if kind is bool:
        return isinstance(value, (bool, np.bool_))
    if isinstance(value, str):
        return kind is str and "\0" not in value
    if issubclass(kind, os.PathLike):
        return isinstance(value, kind) and isinstance(value.__fspath__(), str)
    return isinstance(value, kind)


def _described(hint: Any) -> str:
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin in (Union, types.UnionType):
        return " or ".join(dict.fromkeys(_described(part) for part in parts))
    if origin is Literal:
        return f"one of {', '.join(parts)}"
    if origin is Sequence:
        return f"a list of which each is {_described(parts[0])}"
    if origin in (Mapping, dict):
        return f"a mapping of names to {_described(parts[1])}"
    return WORDS.get(origin or hint) or f"a {hint.__name__}"

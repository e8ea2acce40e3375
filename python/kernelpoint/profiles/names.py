"""Kernel names that different tools write differently, made comparable."""

from __future__ import annotations

import ctypes
import re
from functools import lru_cache
from typing import Any

_CAST = re.compile(r"\((?:unsigned)?(?:int|long|longlong|bool|char|short)\)(?=-?\d)")
_SUFFIX = re.compile(r"(?<=\d)(?:ull|ul|ll|u|l)\b")
_LAMBDA = re.compile(r"\[lambda\([^()]*\)\(instance(\d+)\)\]|\{lambda\([^{}]*?\)#(\d+)\}")
NAME_WIDTH = 60  # characters of a kernel name in a sentence
_UNNAMED = re.compile(r"\(anonymousnamespace\)|<unnamed>|_GLOBAL__N_\w+")


@lru_cache(maxsize=1)
def _demangler() -> Any:
    try:
        function = ctypes.CDLL("libstdc++.so.6").__cxa_demangle
    except (OSError, AttributeError):
        return None
    function.restype = ctypes.c_void_p
    function.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int)]
    return function


@lru_cache(maxsize=65536)
def demangle(name: str) -> str:
    """Demangle a C++ name with the demangler of the C++ library. Other names are returned unchanged.

    >>> demangle("_Z9vectorAddPKfS0_Pfi")
    'vectorAdd(float const*, float const*, float*, int)'
    """
    function = _demangler()
    if not name.startswith("_Z") or function is None:
        return name
    status = ctypes.c_int()
    pointer = function(name.encode(), None, None, ctypes.byref(status))
    if not pointer:
        return name
    try:
        return (ctypes.cast(pointer, ctypes.c_char_p).value or b"").decode(errors="replace") or name
    finally:
        ctypes.CDLL(None).free(ctypes.c_void_p(pointer))


def readable(name: str, width: int | None = None) -> str:
    """Kernel name to display: demangled, without return type and parameters, and cut at `width` characters.

    >>> readable("_ZN2at6native6reduceILi512EEEvPf"), readable("_ZN2at6native6reduceILi512EEEvPf", 15)
    ('at::native::reduce<512>', 'at::native::...')
    """
    text = _without_parameters(demangle(name)).removeprefix("void ")
    return text if width is None or len(text) <= width else f"{text[: width - 3]}..."


@lru_cache(maxsize=65536)
def full_key(name: str) -> str:
    """Kernel name in a spelling that does not depend on the tool that wrote it, template arguments included.

    Return type, parameters, spaces, casts and suffixes of numbers are left out. All unnamed namespaces, and all lambdas, have
    one spelling.

    >>> full_key("void reduce<(int)512, (bool)1>(float *)") == full_key("_Z6reduceILi512ELb1EEvPf")
    True
    """
    text = _without_parameters(demangle(name)).removeprefix("void ")
    text = text.replace(" ", "").replace("true", "1").replace("false", "0")
    text = _UNNAMED.sub("@", text)
    text = _LAMBDA.sub(lambda match: f"@lambda{match.group(1) or match.group(2)}", text)
    return _SUFFIX.sub("", _CAST.sub("", text))


@lru_cache(maxsize=65536)
def base_key(name: str) -> str:
    """Innermost function name of a kernel name, without namespaces and template arguments.

    >>> base_key("void at::native::reduce<512>(float*)"), base_key("_ZN2at6native6reduceILi512EEEvPf")
    ('reduce', 'reduce')
    """
    depth, start, text = 0, 0, full_key(name)
    for position, character in enumerate(text):
        if character == "<":
            if depth == 0:
                part = text[start:position]
            depth += 1
        elif character == ">":
            depth -= 1
        elif character == ":" and depth == 0:
            start = position + 1
    return part if text.endswith(">") and start < len(text) and text.find("<", start) >= 0 else text[start:]


def _without_parameters(text: str) -> str:
    """Kernel name up to its parameter list."""
    depth = 0
    for position, character in enumerate(text):
        if character in "<{[":
            depth += 1
        elif character in ">}]":
            depth -= 1
        elif (
            character == "("
            and depth == 0
            and position > 0
            and not text.startswith("(anonymous namespace)", position)
            and not text.endswith("operator", 0, position)
        ):
            return text[:position]
    return text

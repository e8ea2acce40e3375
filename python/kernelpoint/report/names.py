"""Kernel names as people read them."""

from __future__ import annotations

import re


def readable(name: str) -> str:
    """The innermost function name of a mangled C++ kernel name; other names stay as they are.

    >>> readable("_ZN2at6native13reduce_kernelILi512EEvT1_")
    'reduce_kernel'
    >>> readable("gemm_128x64")
    'gemm_128x64'
    """
    if not name.startswith("_Z"):
        return name.split("(")[0]
    rest, parts = name[2:].removeprefix("N"), []
    while match := re.match(r"\d+", rest):
        length = int(match.group())
        start = match.end()
        parts.append(rest[start : start + length])
        rest = rest[start + length :]
    return parts[-1] if parts else name

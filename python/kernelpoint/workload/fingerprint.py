"""The one fingerprint of a trace list: equal if and only if everything that a cache of ours looks at is equal."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Fingerprint(NamedTuple):
    """Identity of the launches of all processes, each as 32 hexadecimal digits.

    Attributes:
        launches: of the number of launches of each process, and for every launch, in program order, of its name within the
            list, and of the size and time of all files that a reading of it depends on. The folder that holds the list may
            move.
        files: of the files' inodes and times of change too, as the trace cache compares them: for what is kept on this machine.
            A copy of the traces has others.
    """

    launches: str
    files: str


def fingerprint(counts: Sequence[int], paths: Sequence[str]) -> Fingerprint:
    """Identify the launches of all processes.

    Args:
        counts: launches of each process.
        paths: trace of every launch; empty where no list is on disk.

    >>> fingerprint([3], []) == fingerprint([3], []) != fingerprint([2, 1], [])
    True
    """
    digest = hashlib.blake2b(repr(tuple(counts)).encode(), digest_size=16)
    versions = np.zeros(0, dtype=np.int64)
    if paths:
        from kernelpoint import _native  # which a run without lists does not need

        numbers: dict[str, int] = {}
        rows = (numbers.setdefault(path, len(numbers)) for path in paths)
        file_of_launch = np.fromiter(rows, dtype="<i4", count=len(paths))
        distinct = list(numbers)
        states = _native.stat_many(distinct)
        lines = [
            f"{_native.launch_name(path)}\0{size}\0{time}\n".encode()
            for path, size, time in zip(distinct, states[:, 0].tolist(), states[:, 1].tolist(), strict=True)
        ]
        digest.update(b"".join(lines))
        digest.update(file_of_launch.tobytes())
        versions = states[:, 2]
    launches = digest.hexdigest()
    digest.update(versions.tobytes())
    return Fingerprint(launches, digest.hexdigest())

"""The one fingerprint of a trace list: equal if and only if everything that a cache of ours looks at is equal."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence


def fingerprint(counts: Sequence[int], paths: Sequence[str], here: bool = False) -> str:
    """Identifies the launches of all processes, as 32 hexadecimal digits; the folder that holds the list may move.

    It covers the number of launches of each process, and for every launch, in program order, its name within the list, and
    the size and time of all files that a reading of it depends on.

    Args:
        counts: launches of each process.
        paths: trace of every launch; empty where no list is on disk.
        here: also the files' inodes and times of change, as the trace cache compares them: for what is kept on this machine. A
            copy of the traces has others.

    >>> fingerprint([3], []) == fingerprint([3], []) != fingerprint([2, 1], [])
    True
    """
    digest = hashlib.blake2b(repr(tuple(counts)).encode(), digest_size=16)
    if not paths:
        return digest.hexdigest()
    from kernelpoint import _native  # which a run without lists does not need

    distinct = list(dict.fromkeys(paths))
    states = _native.stat_many(distinct, versions=here).tolist()
    lines = {
        path: f"{_native.launch_name(path)}\0{size}\0{time}\n".encode()
        for path, (size, time) in zip(distinct, states, strict=True)
    }
    digest.update(b"".join(map(lines.__getitem__, paths)))
    return digest.hexdigest()

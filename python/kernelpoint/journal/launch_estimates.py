"""Estimates of every launch, as a finished run states them; in a record: arrays of little-endian bytes, compressed with zlib,
in base64.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kernelpoint.errors import damaged_journal
from kernelpoint.journal.records import LaunchesRecord


@dataclass(frozen=True)
class LaunchEstimates:
    """Estimates of all N launches of a list.

    Attributes:
        cycles: float64 [N], simulated cycles of a simulated launch, else estimated cycles; nan: no estimate. They add up to the
            estimated total.
        strata: int32 [N], index of the launch's stratum (group of launches sampled separately); -1: the launch is always
            simulated.
        kernels: int32 [N], index of the launch's kernel in the summary's `kernels`; -1: the name is not known.

    >>> import kernelpoint as kp
    >>> run = kp.simulate("traces/kernelslist.g", "run.kpjournal", policy="gcl")
    >>> each = run.launch_estimates
    >>> run.ended().simulated, len(each.cycles), bool(np.isclose(each.cycles.sum(), run.ended().estimate))
    (1, 6, True)
    """

    cycles: np.ndarray
    strata: np.ndarray
    kernels: np.ndarray


def estimates_of_launches(
    records: Iterable[LaunchesRecord], offsets: np.ndarray, kernels: int, path: Path
) -> LaunchEstimates | None:
    """Read the estimates of all launches from a journal's records; None if there are none, as before a run has ended.

    Args:
        records: records with blocks of estimates.
        offsets: int64 [processes + 1], index of the first launch of each process among all launches.
        kernels: number of kernels in the summary.
        path: path of the journal, for messages.

    Raises:
        JournalError: the records do not contain every launch once.
    """
    blocks = {(record.process, record.first): record for record in records}  # a kill may double them
    if not blocks:
        return None
    total = int(offsets[-1])
    cycles, strata = np.full(total, np.nan), np.full(total, -1, dtype=np.int32)
    kernel, seen = np.full(total, -1, dtype=np.int32), np.zeros(total, dtype=np.int64)
    for record in blocks.values():
        first = int(offsets[record.process]) + record.first
        place = f"{path}: launches from {record.first} of process {record.process}"
        part = slice(first, first + record.count)
        if part.stop > offsets[record.process + 1]:
            raise damaged_journal(
                place, f"this record states {record.count} launches, more than the process (one of the program's) has left"
            )
        cycles[part] = unpack(record.cycles, "<f8", record.count, place)
        strata[part] = unpack(record.strata, "<i4", record.count, place)
        kernel[part] = unpack(record.kernels, "<i4", record.count, place)
        seen[part] += 1
    if not (seen == 1).all() or kernel.max(initial=-1) >= kernels:
        raise damaged_journal(path, "its records of estimates do not have each launch exactly once")
    return LaunchEstimates(cycles, strata, kernel)


def pack(array: np.ndarray, dtype: str) -> str:
    """Encode an array as text for a journal record. `dtype` is NumPy's name of the stored type, such as "<f8".

    >>> unpack(pack(np.array([1.5, 2.5]), "<f8"), "<f8", 2, "here")
    array([1.5, 2.5])
    """
    return base64.b64encode(zlib.compress(np.ascontiguousarray(array, dtype=dtype).tobytes(), 1)).decode()


def unpack(text: str, dtype: str, count: int, place: str) -> np.ndarray:
    """Decode an array from the text of a journal record. Memory is limited to the size of `count` numbers.

    Args:
        text: text made by `pack`.
        dtype: NumPy's name of the stored type, such as "<f8".
        count: number of elements.
        place: beginning of the message if the text is refused.

    Raises:
        JournalError: the text does not encode `count` numbers.
    """
    size = count * np.dtype(dtype).itemsize
    decoder = zlib.decompressobj()
    try:
        data = decoder.decompress(base64.b64decode(text, validate=True), size + 1)
    except (binascii.Error, ValueError, zlib.error):
        data = b""
    if len(data) != size or not (decoder.eof or not size):
        raise damaged_journal(place, f"expected {count} encoded numbers of type {dtype}, got other text")
    return np.frombuffer(data, dtype=dtype)

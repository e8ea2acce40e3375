"""Arrays of numbers inside a record: little-endian bytes, compressed with zlib, in base64."""

from __future__ import annotations

import base64
import binascii
import zlib

import numpy as np

from kernelpoint.errors import JournalError

BLOCK = 65_536  # launches in one record


def pack(array: np.ndarray, dtype: str) -> str:
    """An array as text.

    >>> unpack(pack(np.array([1.5, 2.5]), "<f8"), "<f8", 2, "here")
    array([1.5, 2.5])
    """
    return base64.b64encode(zlib.compress(np.ascontiguousarray(array, dtype=dtype).tobytes(), 1)).decode()


def unpack(text: str, dtype: str, count: int, place: str) -> np.ndarray:
    """The array [count] that `pack` made a text of; never takes more memory than `count` numbers need.

    Raises:
        JournalError: the text is not such an array; the message begins with `place`.
    """
    size = count * np.dtype(dtype).itemsize
    decoder = zlib.decompressobj()
    try:
        data = decoder.decompress(base64.b64decode(text, validate=True), size + 1)
    except (binascii.Error, ValueError, zlib.error):
        data = b""
    if len(data) != size or not (decoder.eof or not size):
        raise JournalError(f"{place}: expected {count} numbers ({dtype}), got text without them")
    return np.frombuffer(data, dtype=dtype)

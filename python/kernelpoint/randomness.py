"""Only source of random numbers: NumPy's counter-based generator Philox, with a key for each purpose.

A key is the user's seed and a purpose ("sample", "training", ...) with any further integers (process, epoch). Equal keys
give equal numbers on every machine and for any number of threads, and no two purposes share numbers.
"""

from __future__ import annotations

import hashlib

import numpy as np


def generator(seed: int, purpose: str, *indices: int) -> np.random.Generator:
    """Random number generator for one purpose (Philox4x64-10, Salmon et al., SC 2011). Equal arguments give equal numbers.

    Args:
        seed: the user's seed, any integer from 0 to 2**64 - 1.
        purpose: name of the purpose, part of the generator's key.
        indices: further integers of the key, such as the process or the epoch.

    >>> float(generator(0, "example").random()) == float(generator(0, "example").random())
    True
    >>> float(generator(0, "example").random()) == float(generator(0, "example", 1).random())
    False
    """
    label = ":".join([str(seed), purpose, *map(str, indices)])
    key = np.frombuffer(hashlib.blake2b(label.encode(), digest_size=16).digest(), dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=key))


def permanent_random_numbers(seed: int, process: int, count: int) -> np.ndarray:
    """Random numbers in [0, 1) of the launches 0 ... count - 1 of a process. A launch has the same number in every run with
    this seed, whatever the length of the list.

    So a larger sample contains a smaller one, and two runs with the same seed draw the same launches (Ohlsson 1995; Sarndal,
    Swensson, Wretman, section 3.3).

    Args:
        seed: the user's seed.
        process: index of the process.
        count: number of launches.

    Returns:
        float64 array of shape [count].

    >>> bool((permanent_random_numbers(7, 0, 10)[:4] == permanent_random_numbers(7, 0, 4)).all())
    True
    """
    return generator(seed, "sample", process).random(count)

"""Operand values for the slow graph builder: read from a line of text, and their statistics by NumPy."""

import numpy as np

NAMES = ("mean", "std", "median", "min", "max", "p25", "p75", "skewness")


def parse_values(line: str) -> list[list[int]] | None:
    """The values of each operand of a line, destinations first; None where it ends without any."""
    words = line.split()
    if "Val" not in words:
        return None
    rest, operands = words[words.index("Val") + 1 :], []
    while rest:
        count = int(rest[0])
        operands.append([int(word, 16) for word in rest[1 : 1 + count]])
        rest = rest[1 + count :]
    return operands


def value_statistics(values: list[int], mask: int, kind: str) -> dict[str, float]:
    """The value columns of a variable node; empty where no lane executed."""
    lanes = [lane for lane in range(32) if mask >> lane & 1]
    bits = np.array([values[lane if len(values) == 32 else 0] for lane in lanes], np.uint64)
    if not len(bits):
        return {}
    signed = np.int64 if (bits >= 2**32).any() else np.int32
    if kind == "floating":
        numbers = np.nan_to_num(bits.astype(np.uint32).view(np.float32).astype(float), posinf=np.inf, neginf=-np.inf)
        numbers *= 65536
    elif kind == "address":
        numbers = (bits - bits[0]).astype(np.uint64).astype(signed).astype(float)
        numbers -= numbers.min()
    else:
        numbers = bits.astype(signed).astype(float)
    logs = np.sign(numbers) * np.minimum(np.log2(1 + np.abs(numbers)) / 32, 2)
    varies = logs.min() != logs.max()
    skewness = ((logs - logs.mean()) ** 3).mean() / logs.std() ** 3 / 4 if varies else 0.0
    middle, low, high = np.percentile(logs, [50, 25, 75])
    found = (logs.mean(), logs.std() if varies else 0.0, middle, logs.min(), logs.max(), low, high, skewness)
    return {f"value_{name}": float(v) for name, v in zip(NAMES, found, strict=True)} | {"has_values": 1.0}

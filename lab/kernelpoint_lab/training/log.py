"""Log of a training run: a record an epoch, and the file that holds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from kernelpoint.files import read_regular, write_output

MOST_BYTES_OF_LOG = 1 << 26


@dataclass(frozen=True)
class EpochRecord:
    """One line of the training log. Time in seconds since the start, memory in MiB (peak, resident or on the GPU)."""

    epoch: int
    loss: float
    alignment: float
    uniformity: float
    learning_rate: float
    seconds: float
    memory_mib: float


def write_log(path: Path, records: Sequence[EpochRecord]) -> None:
    """The log as CSV: one row an epoch."""
    names = [field.name for field in fields(EpochRecord)]
    rows = [",".join(f"{getattr(record, name):.6g}" for name in names) for record in records]
    write_output(path, "\n".join([",".join(names), *rows]) + "\n")


def read_log(path: Path) -> list[EpochRecord]:
    """Read the log of a training run, one record for each epoch.

    >>> records = [EpochRecord(1, loss=2.5, alignment=0.4, uniformity=-2.0, learning_rate=1e-3, seconds=9.0, memory_mib=300.0)]
    >>> write_log(Path("log.csv"), records)
    >>> read_log(Path("log.csv")) == records
    True
    """
    rows = [line.split(",") for line in read_regular(path, MOST_BYTES_OF_LOG).decode().splitlines()[1:]]
    return [EpochRecord(int(epoch), *(float(value) for value in values)) for epoch, *values in rows]

"""Results on disk until they are in the journal: they survive crashes of workers and coordinator.

Launches end in any order and the journal has them in its own, so until then they lie in a folder beside it: one file for each
batch, one sealed line (journal/lines.py) for each chain. Lines that are torn or damaged count as not simulated.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from kernelpoint.errors import JournalError
from kernelpoint.files import open_regular, open_to_append
from kernelpoint.journal.lines import seal, unseal
from kernelpoint.session.worker_protocol import Chain, Outcome, decode_outcomes, encode_outcomes

Known = dict[Chain, tuple[Outcome, ...]]


def folder_of(journal: str | Path) -> Path:
    """The folder for the outcomes of a run.

    >>> folder_of("runs/run.kpjournal").as_posix()
    'runs/run.kpjournal.outcomes'
    """
    return Path(f"{journal}.outcomes")


def prepare_folder(journal: str | Path) -> Path:
    """The folder of the run that the journal has begun, made where it is missing; files of another run are removed.

    Raises:
        JournalError: it cannot be made.
    """
    path, folder = Path(journal), folder_of(journal).absolute()
    try:
        with open_regular(path) as file:
            run = hashlib.blake2b(file.readline(), digest_size=16).hexdigest()
        own = folder / run
        if folder.is_dir() and not own.is_dir():
            shutil.rmtree(folder)
        own.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise JournalError(f"cannot keep outcomes in {folder}: {error.strerror}") from None
    return own


def remove_folder(journal: str | Path) -> None:
    """Remove the outcomes of a run whose journal has all of them."""
    shutil.rmtree(folder_of(journal), ignore_errors=True)


def name_of(chains: Sequence[Chain]) -> str:
    """The name of a batch: the same chains have the same name, in every process.

    >>> name_of([]) == name_of([])
    True
    """
    return hashlib.blake2b(repr(tuple(chains)).encode(), digest_size=12).hexdigest()


def read_all(folder: Path) -> Known:
    """Outcomes of every batch in the folder."""
    return {chain: outcomes for path in sorted(folder.glob("*.jsonl")) for chain, outcomes in read(path)}


def read(path: Path) -> Iterator[tuple[Chain, tuple[Outcome, ...]]]:
    """Outcomes of a batch, as far as they are whole; none where there is no file."""
    data = b""
    with contextlib.suppress(OSError), open_regular(path) as file:
        data = file.read()
    for line in data.split(b"\n"):
        content = unseal(line)
        if content is not None:
            with contextlib.suppress(ValueError, KeyError, TypeError):
                yield decode_outcomes(content)


class OutcomeFile:
    """Outcomes of one batch, written as they come. Failed chains are not written: they get a fresh chance.

    Args:
        folder: of the run.
        name: of the batch.

    Attributes:
        known: earlier outcomes in the file, of a worker that died.

    Raises:
        OSError: it cannot be written.
    """

    def __init__(self, folder: Path, name: str) -> None:
        path = folder / f"{name}.jsonl"
        self.known: Known = dict(read(path))
        self._file = open_to_append(path)
        if size := self._file.seek(0, os.SEEK_END):
            self._file.seek(size - 1)
            if self._file.read(1) != b"\n":  # torn
                self._file.write(b"\n")

    def add(self, chain: Chain, outcomes: Sequence[Outcome]) -> None:
        """Append the outcome of a chain; OSError if that fails."""
        if any(outcome.reason is not None for outcome in outcomes):
            return
        line = seal(encode_outcomes(chain, outcomes))
        if self._file.write(line) != len(line):
            raise OSError(28, os.strerror(28))

    def close(self) -> None:
        """Bring everything to the disk."""
        try:
            os.fdatasync(self._file.fileno())
        finally:
            self._file.close()

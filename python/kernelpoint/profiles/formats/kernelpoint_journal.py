"""The journal of a full run of ours: every launch with its counters."""

from __future__ import annotations

import json
from typing import TextIO

import numpy as np

from kernelpoint.errors import ProfileError
from kernelpoint.profiles.format import NOT_THIS, SIGNATURE, Beginning, TextFormat
from kernelpoint.profiles.profile import Profile, ProfileBuilder


class KernelPointJournal(TextFormat):
    """Counters of the result records of a run in which every launch was simulated (policy `all`).

    Launches are in the order of processes, then of launch indices. Names stand in the traces only.

    Raises:
        ProfileError: damaged, or a sampled run: some launches have no result.
    """

    description = "journal"

    @classmethod
    def certainty(cls, beginning: Beginning) -> int:
        """See :class:`~kernelpoint.profiles.format.ProfileFormat`."""
        return SIGNATURE if beginning.text.startswith('{"type":"run"') else NOT_THIS

    def read_text(self, file: TextIO, source: str, device: int | None = None) -> Profile:
        """See :class:`~kernelpoint.profiles.format.ProfileFormat`."""
        counts: list[int] = []
        builder = ProfileBuilder(source)
        seen = 0
        for number, line in enumerate(file, start=1):
            if not line.endswith("\n"):
                break  # torn by a kill
            try:
                record = json.loads(line)
                if record["type"] == "run":
                    counts = record["launches"]
                elif record["type"] == "result":
                    unit = int(np.sum(counts[: record["process"]])) + record["launch"]
                    builder.add("", order=unit, counters={k: float(v) for k, v in record["counters"].items()})
                    seen += 1
            except (ValueError, KeyError, TypeError):
                raise ProfileError(f"{source}:{number}: not a journal record: {line[:60]!r}") from None
        if seen != sum(counts):
            raise ProfileError(f"{source}: {seen} of {sum(counts)} launches have results; a profile needs a full run")
        return builder.finish(device)

"""A host that does not know which launches will come, and a list of synthesised traces for it to walk."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from simulated_host import SimulatedHost
from workloads import synthesised

from kernelpoint.journal.records import plain
from kernelpoint.traces import read_trace_list

LAUNCHES = 240
OK, PENDING = 0, 2


@pytest.fixture(scope="session")
def traces(tmp_path_factory) -> list[str]:
    """A transformer that decodes: a few kernels again and again, attention growing with the cache (drift)."""
    return read_trace_list(synthesised(tmp_path_factory.mktemp("traces"), "transformer-decode", LAUNCHES)).traces


@dataclass
class OnlineHost(SimulatedHost):
    """Walks its launches as a simulator does that reads them from somewhere else.

    paths: their traces; stated: launches that it says it has, 0 if it does not know.
    """

    paths: Sequence[str | None] = ()
    stated: int = 0

    @property
    def journal(self) -> Path:
        return self.folder / "run.kpjournal"

    def open(self, yaml: str = "", policy: str = "kernelpoint", **info: object):
        return super().open(f"policy: {policy}\n{yaml}", **{"launch_counts": [self.stated], **info})

    def walk(self, session, act: Callable | None = None, limit: int | None = None):
        """Until the session is done, or `limit` results came; the summary, or None."""
        after, status = -1, OK
        while True:
            status, index = session.next(0, after)
            if status == OK and index >= len(self.paths):
                status, index = session.next(0, -2)
            if status != OK:
                break
            after = index
            if session.on_launch(0, index, self.paths[index])[0] == 0:
                if limit is not None and len(self.simulated) >= limit:
                    session.journal.close()
                    return None
                (act or self.complete)(session, index)
        assert status == 1
        session.finish()
        session.journal.close()
        return plain(session.summary)


@pytest.fixture
def host(tmp_path, traces) -> OnlineHost:
    random = np.random.default_rng(2)
    size = np.array([Path(path).stat().st_size for path in traces])
    cycles = 3000 + np.sqrt(size).astype(int) + random.integers(0, 60, len(traces))
    return OnlineHost(cycles, tmp_path, paths=traces)

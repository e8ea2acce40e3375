"""A host that nobody told which launches will come, and a list of synthesised traces for it to walk."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from workloads import synthesised

from kernelpoint.journal.text import plain
from kernelpoint.session import boundary
from kernelpoint.traces import launch_paths

LAUNCHES = 240
OK, PENDING = 0, 2


@pytest.fixture(scope="session")
def traces(tmp_path_factory) -> list[str]:
    """A transformer that decodes: a few kernels again and again, attention growing with the cache (drift)."""
    return launch_paths(synthesised(tmp_path_factory.mktemp("traces"), "transformer-decode", LAUNCHES))


@dataclass
class OnlineHost:
    """Walks its launches as a simulator does that reads them from somewhere else.

    told: launches that it says it has, 0 if it does not know; simulated: launch indices in order; limit: results after
    which the process is killed.
    """

    paths: Sequence[str | None]
    cycles: np.ndarray
    folder: Path
    told: int = 0
    simulated: list[int] = field(default_factory=list)
    log: list[str] = field(default_factory=list)

    @property
    def journal(self) -> Path:
        return self.folder / "run.kpjournal"

    def open(self, yaml: str = "", policy: str = "kernelpoint", **info: object):
        config = self.folder / "kernelpoint.yaml"
        config.write_text(f"version: 1\npolicy: {policy}\njournal: {self.journal}\n{yaml}\n")
        host = {"simulator": "test", "config_hash": "gpu", "launch_counts": [self.told], **info}
        return boundary.open(str(config), host, self.log.append)

    def complete(self, session, index: int) -> None:
        self.simulated.append(index)
        session.on_complete(0, index, False, int(self.cycles[index]), 10 * index, ("reads",), (float(index),))

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
    return OnlineHost(traces, cycles, tmp_path)

"""A host in Python for tests: launches with known costs, driven through the session's own calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from workloads import one_trace

from kernelpoint.journal.records import plain
from kernelpoint.session import boundary
from kernelpoint.session.orders import REPLAYED
from kernelpoint.session.session import Session


def completed(session: Session, act: Callable[[Session, int], None]) -> dict[str, object]:
    """The content of the summary of a run in which `act` ends every launch that is wanted, one after another."""
    after = -1
    while True:
        status, index = session.next(0, after)
        if status != 0:
            break
        assert session.on_launch(0, index)[0] == 0
        act(session, index)
        after = index
    assert status == 1
    session.finish()
    session.journal.close()
    assert session.summary is not None
    return plain(session.summary)


def failing_once(host: SimulatedHost, failed: list[int]) -> Callable[[Session, int], None]:
    """Ends each launch but the first one, which is aborted once and named in `failed`."""

    def act(session: Session, index: int) -> None:
        if not failed:
            failed.append(index)
            session.on_abort(0, index, "no memory")
        else:
            host.complete(session, index)

    return act


@dataclass
class SimulatedHost:
    """Walks a session like a simulator does.

    Attributes:
        cycles: cost of each launch.
        simulated: launch indices in the order in which they were simulated.
    """

    cycles: np.ndarray
    folder: Path
    simulated: list[int] = field(default_factory=list)
    log: list[str] = field(default_factory=list)

    def open(self, yaml: str = "policy: random", **info: object) -> Session:
        config = self.folder / "kernelpoint.yaml"
        journal = "" if "journal:" in yaml else f"journal: {self.folder / 'run.kpjournal'}\n"
        config.write_text(f"version: 1\n{yaml}\n{journal}")
        host = {"simulator": "test", "config_hash": "gpu", "launch_counts": [len(self.cycles)], **info}
        return boundary.open(str(config), host, self.log.append)

    def complete(self, session: Session, index: int) -> None:
        self.simulated.append(index)
        session.on_complete(0, index, False, int(self.cycles[index]), 10 * index, ("reads",), (float(index),))

    def run(self, session: Session, each: Callable[[Session, int], None] | None = None) -> dict[str, object]:
        """Jump from wanted launch to wanted launch until the session is done; the summary's content."""
        return completed(session, each or self.complete)


class ReplayingHost:
    """A host whose launches take `bias` more from replayed state."""

    def __init__(self, host: SimulatedHost, bias: float = 0.0) -> None:
        self.host, self.bias = host, bias
        self.seen: list[tuple[int, int]] = []  # launch, state

    def open(self, yaml: str, **info: object) -> Session:
        listed = str(one_trace(self.host.folder, len(self.host.cycles)))
        return self.host.open(yaml, **{"state_lines": 64, "list_paths": [listed], **info})

    def step(self, session: Session, index: int, fails: Iterable[int] = ()) -> None:
        state = session.on_launch(0, index).state
        self.seen.append((index, state))
        if index in fails:
            session.on_abort(0, index, "no memory")
            return
        cycles = int(self.host.cycles[index] * (1.0 + self.error(index) * (state == REPLAYED)))
        session.on_complete(0, index, False, cycles, 10, ("reads",), (0.0,))

    def error(self, index: int) -> float:
        """Relative error of a launch from replayed state."""
        return self.bias

    def run(self, session: Session, **how: Iterable[int]) -> dict[str, object]:
        return self.host.run(session, lambda session, index: self.step(session, index, **how))

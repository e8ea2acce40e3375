"""State of a run on many processes, for others to look at: a small file in the folder of its outcomes."""

from __future__ import annotations

import contextlib
import json
import math
import os
import socket
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from kernelpoint.coordinator.outcomes import folder_of
from kernelpoint.files import read_regular, replacing
from kernelpoint.progress import duration

SECONDS_BETWEEN, SECONDS_BETWEEN_LINES = 2.0, 10.0
MOST_BYTES = 1 << 16


@dataclass(frozen=True)
class State:
    """Progress of the present pass.

    Attributes:
        node, pid: the coordinator.
        workers: batches that can be simulated at once.
        expected, done: launches of the pass.
        seconds_left: of the pass, None where nothing is known.
        written: when, in seconds since 1970.
    """

    node: str
    pid: int
    workers: int
    dashboard: str
    expected: int
    done: int
    seconds_left: float | None
    written: float


def state_path(journal: str | Path) -> Path:
    """The file with the state of the run of a journal, while it goes on."""
    return folder_of(journal) / "state.json"


class Progress:
    """Tells how far a run is: the user every SECONDS_BETWEEN_LINES, others by a file, every SECONDS_BETWEEN.

    Args:
        path: of the file.
        workers, dashboard: of the run.
        say: takes one line of text for the user.
    """

    def __init__(self, path: Path, workers: int, dashboard: str, say: Callable[[str], None]) -> None:
        self._path, self._workers, self._dashboard, self._say = path, workers, dashboard, say
        self._written = self._said = self._pass_begun = 0.0
        self._last_done = -1

    def take(self, expected: int, done: int, left: float) -> None:
        """Take how many launches of the pass are simulated, and the share of its cost that is left."""
        now = time.time()
        if done < self._last_done or not self._pass_begun:
            self._pass_begun = self._said = now
        self._last_done = done
        seconds = (now - self._pass_begun) * left / (1.0 - left) if left < 1.0 else None
        if now - self._written >= SECONDS_BETWEEN or left == 0.0:
            self._written = now
            self._write(
                State(socket.gethostname(), os.getpid(), self._workers, self._dashboard, expected, done, seconds, now)
            )
        if now - self._said >= SECONDS_BETWEEN_LINES and left > 0.0:
            self._said = now
            rest = f", about {duration(seconds)} left in this pass" if seconds is not None else ""
            self._say(f"kernelpoint: {done:,} of {expected:,} simulated{rest}")

    def _write(self, state: State) -> None:
        """A disk that refuses it is no failure: nothing rests on this file."""
        with contextlib.suppress(OSError), replacing(self._path) as file:
            file.write(json.dumps(asdict(state)).encode())


def read_state(path: Path) -> State | None:
    """The state of a run; None where there is none to read."""
    try:
        state = State(**json.loads(read_regular(path, MOST_BYTES)))
    except (OSError, ValueError, TypeError, RecursionError):
        return None
    numbers = (state.pid, state.workers, state.expected, state.done, state.written, state.seconds_left or 0.0)
    sound = all(isinstance(number, int | float) and math.isfinite(number) for number in numbers)
    return state if sound and isinstance(state.node, str) else None

"""A simulator that works for a coordinator: its process, and the two pipes to it (session/worker.py)."""

from __future__ import annotations

import contextlib
import json
import math
import os
import select
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Sequence

from kernelpoint.files import above_streams
from kernelpoint.journal import Outcome
from kernelpoint.progress import Log, silent
from kernelpoint.session.boundary import WORKER_PIPES_ENV
from kernelpoint.session.orders import Chain
from kernelpoint.session.worker import (
    SECONDS_BETWEEN_BEATS,
    Hello,
    decode_outcomes,
    encode_chain,
)

SECONDS_TO_BEGIN = 300.0
SECONDS_SILENT = 12 * SECONDS_BETWEEN_BEATS  # without a heartbeat until a line says so
LINES_KEPT = 20
LONGEST_LINE = 500
KILLED = {n for kill in (signal.SIGKILL, signal.SIGTERM) for n in (-kill, 128 + kill)}  # a shell around it adds 128


class SimulatorEnded(Exception):
    """Error: the simulator's process ended before it sent a result.

    Attributes:
        status: exit status; the negative number of a signal that ended the process.
        tail: last lines of the simulator's output.
    """

    def __init__(self, status: int, tail: Sequence[str]) -> None:
        self.status, self.tail = status, tuple(tail)
        super().__init__(f"the simulator {self.how}")

    @property
    def how(self) -> str:
        """Clause that says how the simulator ended; it follows the words "the simulator" in a message.

        >>> SimulatorEnded(-11, ()).how, SimulatorEnded(3, ()).how
        ('was ended by SIGSEGV', 'ended with exit status 3')
        """
        if self.status < 0:
            with contextlib.suppress(ValueError):
                return f"was ended by {signal.Signals(-self.status).name}"
        return f"ended with exit status {self.status}"

    @property
    def output(self) -> str:
        """Last lines of the simulator's output, formatted as part of a message."""
        return "its output ended:\n  " + "\n  ".join(self.tail) if self.tail else "it printed nothing"

    @property
    def was_killed(self) -> bool:
        """True if the simulator was ended by a signal from outside: by a user, by a batch system, or by the kernel for lack of
        memory.
        """
        return self.status in KILLED


class SimulatorProcess:
    """Simulator process that is started and waits for launches to simulate.

    Args:
        command: command line, KernelPoint's option included.
        folder: working directory.
        say: function that receives a line when the simulator is paused or continues.

    Attributes:
        hello: message with which the simulator describes itself.
        seconds: time from the start until the simulator was ready.

    Raises:
        SimulatorEnded: the process ended before it called KernelPoint.
        OSError: the process cannot be started.
    """

    def __init__(self, command: Sequence[str], folder: str, say: Log = silent) -> None:
        begun, self._say = time.monotonic(), say
        chains, self._to = map(above_streams, os.pipe())
        self._from, answers = map(above_streams, os.pipe())
        try:
            self._process = subprocess.Popen(
                list(command),
                cwd=folder,
                env={**os.environ, WORKER_PIPES_ENV: f"{chains},{answers}"},
                pass_fds=(chains, answers),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # an interrupt at the terminal is the coordinator's alone
            )
        except BaseException:
            os.close(self._to)
            os.close(self._from)
            raise
        finally:
            os.close(chains)
            os.close(answers)
        self._poll = select.poll()
        self._poll.register(self._from, select.POLLIN)
        self._unread = b""
        self._tail: deque[str] = deque(maxlen=LINES_KEPT)
        self._reader = threading.Thread(target=self._keep_tail, daemon=True)
        self._reader.start()
        self.hello = Hello(**json.loads(self._answer(SECONDS_TO_BEGIN)))
        self.seconds = time.monotonic() - begun

    def simulate(self, chain: Chain) -> tuple[Outcome, ...]:
        """Simulate a chain: consecutive launches, one after another in this process.

        Raises:
            SimulatorEnded: the process ended before it sent the results.
        """
        with contextlib.suppress(BrokenPipeError):
            os.write(self._to, f"{encode_chain(chain)}\n".encode())
        answered, outcomes = decode_outcomes(self._answer(None))
        if answered != chain:
            raise self._ended()
        return outcomes

    def end(self) -> None:
        """End the simulator process."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._reader.join()
        for descriptor in (self._to, self._from):
            with contextlib.suppress(OSError):
                os.close(descriptor)

    def _answer(self, seconds: float | None) -> bytes:
        """Read the next answer of the simulator; empty lines are its heartbeat."""
        deadline = math.inf if seconds is None else time.monotonic() + seconds
        heard, is_silent = time.monotonic(), False
        while True:
            line, newline, rest = self._unread.partition(b"\n")
            if newline:
                self._unread = rest
                if line:
                    return line
                continue
            now = time.monotonic()
            if self._poll.poll(1000.0 * max(min(deadline - now, SECONDS_SILENT / 4), 0.0)):
                part = os.read(self._from, 1 << 16)
                if not part:
                    raise self._ended()
                self._unread += part
                heard = time.monotonic()
                if is_silent:
                    self._say(f"the simulator (process {self._process.pid}) goes on")
                is_silent = False
            elif time.monotonic() >= deadline:
                raise self._ended()
            elif not is_silent and hasattr(self, "hello") and time.monotonic() - heard >= SECONDS_SILENT:
                is_silent = True
                self._say(
                    f"the simulator (process {self._process.pid}) gives no sign of life since {SECONDS_SILENT:.0f} s: it is "
                    "stopped, or hangs"
                )

    def _ended(self) -> SimulatorEnded:
        """Make the error for a simulator that ended, with the last lines of its output."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(5.0)
        status = self._process.poll()
        self.end()
        return SimulatorEnded(self._process.returncode if status is None else status, self._tail)

    def _keep_tail(self) -> None:
        output = self._process.stdout
        if output is None:
            return
        while line := output.readline(LONGEST_LINE):
            if text := line.decode(errors="replace").rstrip():
                self._tail.append(text)
        output.close()

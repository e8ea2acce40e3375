"""`kernelpoint file status`: how far runs are, while they go on and afterwards."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from kernelpoint.cli.console import say
from kernelpoint.coordinator.task import written
from kernelpoint.errors import ConfigError, JournalError
from kernelpoint.estimate import Estimate
from kernelpoint.journal import PassRecord, Run, load_run
from kernelpoint.pages.numbers import half_width, is_finite, number
from kernelpoint.progress import duration
from kernelpoint.session.verdict import simulated_launches
from kernelpoint.terminal import unfiltered

CLEAR = "\033[H\033[2J"  # of a terminal
SECONDS = 3.0  # between two screens of --watch
FRESH = 120.0  # seconds since a run on another machine wrote last, within which it counts as running
# File systems that only this machine writes: there its table of locks tells who holds a journal, or that nobody does.
LOCAL = {"ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "bcachefs", "jfs", "tmpfs", "ramfs", "overlay"}

_FIRST_SEEN: dict[tuple[Path, int], tuple[float, int]] = {}  # by journal and pass: when it was first seen, results then


@dataclass(frozen=True)
class Status:
    """State of a run. `seconds_left` is the expected time until the end of its pass (round of sampling); None if unknown."""

    state: str
    pass_text: str
    simulated: int
    launches: int
    validations: int
    estimate: str
    seconds_left: float | None = None

    @property
    def place(self) -> str:
        """State of the run, its pass (round of sampling), and the time left in that pass, as text."""
        remaining = "" if self.seconds_left is None else f"; about {duration(self.seconds_left)} left in the pass"
        return f"{self.state}; {self.pass_text}{remaining}"

    @property
    def progress(self) -> str:
        """Number of simulated launches, as text."""
        return simulated_launches(self.simulated, self.launches, self.validations)


def status(
    place: Annotated[
        Path,
        typer.Argument(help="A journal, or a folder: every .kpjournal in it and below.", metavar="[JOURNAL | FOLDER]"),
    ] = Path(),
    watch: Annotated[bool, typer.Option("--watch", help="Show it every three seconds, while a run goes on.")] = False,
) -> None:
    """Show for each run whether it is in progress, how many launches are simulated, and its estimate and bound so far; with
    --watch also the time left.

    Example: kernelpoint file status runs/
    """
    while True:
        lines = _all_lines(place)
        if watch and sys.stdout.isatty():
            unfiltered(sys.stdout).write(CLEAR)
        for line in lines:
            say(line)
        if not watch or not any(": running" in line for line in lines):
            return
        time.sleep(SECONDS)


def _all_lines(place: Path) -> list[str]:
    """Text of `kernelpoint file status`: two lines for each journal."""
    journals = sorted(place.rglob("*.kpjournal")) if place.is_dir() else [place]
    if not journals:
        raise ConfigError(f"{place}: neither this folder nor one in it has a journal (.kpjournal); name the folder of a run")
    lines = []
    for path in journals:
        try:
            status = status_of(load_run(path), is_locked(path), time.time())
            lines += [f"{path}: {status.place}", f"  {status.progress}; {status.estimate}"]
        except JournalError as error:
            if path == place:
                raise
            lines.append(str(error))
    return lines


def status_of(run: Run, locked: bool | None, now: float) -> Status:
    """Find the state of a run from its journal.

    Args:
        run: the run so far.
        locked: True if a process has locked the journal; None if a process on another machine may have locked it.
        now: time in seconds since 1970.
    """
    launches = sum(run.launches)
    if run.summary is not None:
        estimate = _estimate(run.summary.counter, run.estimates().get(run.summary.counter))
        passes = "one pass" if run.summary.passes == 1 else f"{run.summary.passes} passes"
        return Status("ended", passes, run.summary.simulated, launches, run.summary.validations, estimate)
    running = now - written(run.path) < FRESH if locked is None else locked
    counter = str(run.setting("error_budget.counter"))
    look = run.looks[-1] if run.looks else None
    stated = {**look.estimates, **look.ratios}.get(counter) if look else None
    state = "stopped; start it again to go on"
    if running:
        state = "running" if locked else "running elsewhere, or stopped in the last two minutes"
    pass_text, seconds = _pass(run, now)
    so_far, estimate = (len(run.results), launches, len(run.validations)), _estimate(counter, stated)
    return Status(state, pass_text, *so_far, estimate, seconds if running else None)


def is_locked(path: Path) -> bool | None:
    """True if a process of this machine has locked a journal, False if none has, None if another machine may have locked it.

    The system's table of locks is read; no lock is taken.
    """
    try:
        # "1: FLOCK ADVISORY WRITE 4711 08:01:INODE 0 EOF"
        if re.search(rf"^\d+: FLOCK .*:{path.stat().st_ino} ", Path("/proc/locks").read_text(), re.MULTILINE):
            return True
        return False if _file_system(path) in LOCAL else None
    except OSError:
        return None


def _file_system(path: Path) -> str:
    """Type of the file system of a file, such as nfs; empty text if unknown."""
    device = path.stat().st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    for line in Path("/proc/self/mountinfo").read_text(errors="replace").splitlines():
        words, _, kind = line.partition(" - ")
        if words.split()[2:3] == [number]:
            return kind.split(" ")[0]
    return ""


def _pass(run: Run, now: float) -> tuple[str, float | None]:
    """The pass in words, and the seconds left in it at the pace since this process first saw the pass."""
    passes: Sequence[PassRecord] = list(run.of(PassRecord))
    if not passes:
        return "validation launches", None
    last = passes[-1]
    if last.wanted is None:
        return f"pass {last.pass_index}", None
    done = sum(result.pass_index == last.pass_index for result in run.results.values())
    begun, before = _FIRST_SEEN.setdefault((run.path, last.pass_index), (now, done))
    seconds = (last.wanted - done) * (now - begun) / (done - before) if done > before else None
    return f"pass {last.pass_index}, {done:,} of {last.wanted:,} in the journal", seconds


def _estimate(counter: str, estimate: Estimate | None) -> str:
    if estimate is None or not is_finite(estimate.estimate):
        return "no estimate yet"
    bound = "no bound" if not estimate.is_bounded else f"+- {half_width(estimate.relative_half_width)}"
    return f"{number(estimate.estimate)} {counter} {bound}"

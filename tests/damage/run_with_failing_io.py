"""Whole runs in which file operations fail, one after another; started by test_failing_io.py with failing_io.c preloaded.

    python run_with_failing_io.py WHAT STRIDE [RUN]     prints outcomes and how often each was met, as JSON

Every outcome but the ones listed in the tests is a defect; an exception that is no KernelPointError ends the program.
"""

import contextlib
import ctypes
import json
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "reference"))
sys.path.insert(0, str(Path(__file__).parents[1] / "coordinator"))
sys.path.insert(0, str(Path(__file__).parent))

import kinds_of_runs

from kernelpoint.errors import KernelPointError, PlanError
from kernelpoint.estimation import Design
from kernelpoint.journal import writer
from kernelpoint.planning.plan import Plan
from kernelpoint.program import Program
from kernelpoint.traces import ArtefactCache

LAYER = ctypes.CDLL(None)
ONCE, SHORT, DEAD = 0, 1, 2
RUN = sys.argv[3] if len(sys.argv) > 3 else "sample"


class Disk:
    """A folder whose operations are counted and fail, and what of it is synced."""

    def __init__(self) -> None:
        self._removed_at_exit = tempfile.TemporaryDirectory(prefix="failing-io-")
        self.base = Path(self._removed_at_exit.name)
        self.folder, self.synced = self.base / "files", self.base / "synced"
        self.clear()

    def clear(self) -> None:
        """Empty both."""
        for folder in (self.folder, self.synced):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()

    def begin(self, position: int, way: int) -> None:
        """Count from here on; fail at operation `position` (0: never)."""
        LAYER.io_begin(str(self.folder).encode(), str(self.synced).encode(), ctypes.c_long(position), way)

    def end(self) -> int:
        """Stop counting; operations so far."""
        return int(LAYER.io_end())

    def lose_power(self, leaves: str) -> None:
        """The folder as it is found again: synced names with synced bytes, and of the bytes behind them what `leaves` says."""
        names = self.synced / "names"
        synced = dict(line.split(" ", 1)[::-1] for line in names.read_text().splitlines()) if names.exists() else {}
        inodes = {path.stat().st_ino: path.read_bytes() for path in self.folder.iterdir()}
        contents = {}
        for name, inode in synced.items():
            kept = self.synced / inode
            sure, last = kept.read_bytes() if kept.exists() else b"", inodes.get(int(inode), b"")
            behind = last[len(sure) :] if last.startswith(sure) else b""
            tail = {"nothing": b"", "half": behind[: len(behind) // 2], "zeros": bytes(len(behind)), "all": behind}
            half = len(behind) // 2
            tail["half and zeros"] = behind[:half] + bytes(len(behind) - half)
            contents[name] = sure + tail[leaves]
        self.clear()
        for name, content in contents.items():
            (self.folder / name).write_bytes(content)


def drive(disk: Disk) -> dict[str, object]:
    """A run from its beginning, or from where its journal ends, to its summary; only the journal lies in the folder."""
    return kinds_of_runs.RUNS[RUN](disk.base, disk.folder / "run.kpjournal")


def complete(disk: Disk, reference: dict[str, object]) -> str:
    """Outcome of a resumed run."""
    try:
        result = drive(disk)
    except KernelPointError as error:
        return f"refused: {type(error).__name__}"
    return "the full result" if result == reference else "ANOTHER RESULT"


def journal(stride: int, ways: tuple[int, ...] = (ONCE, SHORT)) -> Counter[str]:
    """Each operation of a run fails in turn; then the run is started again."""
    disk = Disk()
    reference, operations = unharmed(disk)
    outcomes = Counter({"operations": operations})
    for way in ways:
        for position in range(1, operations + 1, stride):
            disk.clear()
            disk.begin(position, way)
            try:
                first = "completed" if drive(disk) == reference else "ANOTHER RESULT"
            except KernelPointError as error:
                assert "\n" not in str(error), error
                first = "stopped"
            if disk.end() < position:  # the clock decides how often a run syncs: here no operation failed
                continue
            outcomes[f"{first}, then {complete(disk, reference)}"] += 1
    return outcomes


def power(stride: int) -> Counter[str]:
    """The power fails at each operation; what was not synced is lost, in whole, in part, or as zeros."""
    disk = Disk()
    reference, operations = unharmed(disk)
    outcomes = Counter({"operations": operations})
    for number, position in enumerate(range(1, operations + 2, stride)):
        for leaves in ("nothing", "half", "zeros", "half and zeros", "all")[number % 2 :: 2]:
            disk.clear()
            disk.begin(position, DEAD)
            with contextlib.suppress(KernelPointError):
                drive(disk)
            disk.end()
            disk.lose_power(leaves)
            outcomes[f"{leaves} left, then {complete(disk, reference)}"] += 1
    return outcomes


def unharmed(disk: Disk) -> tuple[dict[str, object], int]:
    """The result of a run without failures, and its operations."""
    disk.begin(0, ONCE)
    reference = drive(disk)
    return reference, disk.end()


def plan(stride: int) -> Counter[str]:
    """Each operation that writes a plan over another one fails in turn, or the power does."""
    disk = Disk()
    u = np.linspace(0, 0.9, 40)
    old, new = (Plan(Program((40,)), Design(np.zeros(40, int), np.array([n]), u), {"traces": "t", "seed": n}) for n in (2, 3))
    path = disk.folder / "run.kpplan"
    outcomes: Counter[str] = Counter()
    for way in (ONCE, SHORT, DEAD):
        for position in range(1, 40, stride):
            disk.clear()
            disk.begin(0, way)
            old.save(path)
            disk.begin(position, way)
            try:
                new.save(path)
                said = "saved"
            except PlanError:
                said = "refused"
            if disk.end() < position:
                break
            if way == DEAD:
                disk.lose_power("zeros")
            files = [p.name for p in disk.folder.iterdir()]
            seed = Plan.load(path, Program((40,))).origin["seed"]
            assert way == DEAD or files == ["run.kpplan"], files
            outcomes[f"{said}, {'new' if seed == 3 else 'old'} plan found"] += 1
    return outcomes


def cache(stride: int) -> Counter[str]:
    """Each operation of the cache fails in turn; what it gives back is what was put there, or nothing."""
    disk = Disk()
    artefacts = {f"{i:032x}": bytes([i]) * 16 for i in range(6)}
    outcomes: Counter[str] = Counter()
    for way in (ONCE, SHORT, DEAD):
        for position in range(1, 200, stride):
            disk.clear()
            disk.begin(position, way)
            said: list[str] = []
            made = ArtefactCache(disk.folder, said.append)
            for key, value in artefacts.items():
                made.put("kind", {key: value})
            first = made.get("kind", list(artefacts))
            made.close()
            reached = disk.end() >= position
            again = ArtefactCache(disk.folder, said.append)
            later = again.get("kind", list(artefacts))
            again.close()
            for values in (first, later):
                assert all(value in (None, put) for value, put in zip(values, artefacts.values(), strict=True))
            outcomes["some made anew" if None in later else "all found later"] += 1
            if not reached:
                break
    return outcomes


if __name__ == "__main__":
    writer.SYNC_SECONDS = 0.002  # as a long run, in which a sync falls between any two records
    print(json.dumps({"journal": journal, "power": power, "plan": plan, "cache": cache}[sys.argv[1]](int(sys.argv[2]))))

"""Random sequences of calls of the ABI, right and wrong, through ctypes; started by test_any_calls.py.

    python any_calls.py PLUGIN SEED CALLS THREADS FORKS      prints how often each function gave each status, as JSON

What must hold: every call returns a status of abi.h; a negative one has a reason; a decision that was refused reads
"simulate". Sizes, counts, indices, numbers and texts are right or wrong; pointers are right or NULL. The process is forked
while threads call: each call of the child is answered, or all are refused because a call was inside, within 60 s.
"""

import ctypes
import json
import os
import random
import signal
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from ctypes import POINTER, byref, c_char_p, c_double, c_int64, c_uint32, c_uint64, c_void_p, sizeof
from pathlib import Path

LAUNCHES = 6
STATUSES = (0, 1, 2, -1, -2, -3, -4)
SIZES = (0, 1, 3, 4, 7, 8, 16, 2**31, 2**32 - 1)
NUMBERS = (0, 1, 2, 3, 4, 5, 6, 7, 2**31, 2**32 - 1, 2**40, 2**63, 2**64 - 2, 2**64 - 1)
TEXTS = (None, b"", b"reason", b"\xff\xfe", b"%s%n", b"x" * 5000, b"line\nline")
VALUES = (0.0, 1.0, -1.0, 1e308, float("nan"), float("inf"))


def struct(name: str, *fields: tuple[str, type]) -> type[ctypes.Structure]:
    """A struct of abi.h, which begins with its size."""
    return type(name, (ctypes.Structure,), {"_fields_": [("size", c_uint32), *fields]})


class CounterValue(ctypes.Structure):
    """kp_counter."""

    _fields_ = [("name", c_char_p), ("value", c_double)]


Description = struct(
    "Description", ("shape_count", c_uint32), ("name", c_char_p), ("shape", POINTER(c_int64)), ("key", c_uint64),
    ("cost", c_double), ("features", POINTER(c_double)), ("feature_count", c_uint32),
)  # fmt: skip
HostInfo = struct(
    "HostInfo", ("abi_version", c_uint32), ("simulator", c_char_p), ("version", c_char_p), ("config_hash", c_char_p),
    ("flags", c_uint32), ("process_count", c_uint32), ("list_paths", c_void_p), ("launch_counts", POINTER(c_uint64)),
    ("log", c_void_p), ("log_user", c_void_p), ("state_lines", c_uint64), ("sms", c_uint32), ("ctas_per_sm", c_uint32),
    ("warps_per_sm", c_uint32), ("registers_per_sm", c_uint32), ("shared_memory_per_sm", c_uint32), ("counter_count", c_uint32),
    ("configuration", c_char_p), ("predictor_history_bits", c_uint32), ("predictor_counter_bits", c_uint32),
    ("counter_names", POINTER(c_char_p)), ("descriptions", POINTER(Description)), ("description_count", c_uint64),
    ("not_replayed", c_char_p), ("architectures", POINTER(c_uint32)), ("architecture_count", c_uint64),
)  # fmt: skip
Launch = struct("Launch", ("process", c_uint32), ("index", c_uint64), ("trace_path", c_char_p))
Decision = struct(
    "Decision", ("action", c_uint32), ("pass_index", c_uint32), ("interval", c_uint32), ("state", c_uint32)
)
Progress = struct("Progress", ("process", c_uint32), ("index", c_uint64), *((f"n{i}", c_uint64) for i in range(5)))
Result = struct(
    "Result", ("process", c_uint32), ("index", c_uint64), ("flags", c_uint32), ("counter_count", c_uint32),
    ("cycles", c_uint64), ("instructions", c_uint64), ("counters", POINTER(CounterValue)),
)  # fmt: skip
Room = struct("Room", *((f"room{i}", c_uint64) for i in range(40)))  # for any struct that is filled; larger than each


class Caller:
    """One random sequence of calls after another."""

    def __init__(self, plugin: str, seed: int) -> None:
        self.plugin = ctypes.CDLL(plugin)
        self.plugin.kp_last_error.restype = c_char_p
        self.random = random.Random(seed)
        self.seen: Counter[str] = Counter()
        self.folders = tempfile.TemporaryDirectory()
        self.session = c_void_p()
        self.tried: list[int] = []

    def any(self, values):
        """One of some values."""
        return self.random.choice(values)

    def sized(self, made: ctypes.Structure) -> ctypes.Structure:
        """A struct with its own size; sometimes another."""
        made.size = sizeof(made) if self.random.random() < 0.85 else self.any(SIZES)
        if made.size > sizeof(made):
            made.size = sizeof(made)  # more would be memory that is not ours
        return made

    def maybe(self, pointer):
        """A pointer; sometimes NULL."""
        return None if self.random.random() < 0.04 else pointer

    def index(self) -> int:
        """A launch, mostly one of the list."""
        return self.random.randrange(LAUNCHES) if self.random.random() < 0.8 else self.any(NUMBERS)

    def process(self) -> int:
        """A process, mostly the only one."""
        return 0 if self.random.random() < 0.9 else self.any((1, 2, 2**32 - 1))

    def call(self, name: str, *arguments) -> int:
        """Call a function; count and check its status."""
        status = getattr(self.plugin, name)(*arguments)
        assert status in STATUSES, (name, status)
        assert status >= 0 or self.plugin.kp_last_error(), name
        self.seen[f"{name} {status}"] += 1
        return status

    def described(self) -> ctypes.Array[ctypes.Structure]:
        """Descriptions of all launches, right or wrong."""
        made = (Description * LAUNCHES)()
        numbers = self.any((0, 1, 2))
        for one in made:
            one.size = sizeof(Description) if self.random.random() < 0.98 else self.any(SIZES)
            one.name, one.key, one.cost = self.any(TEXTS), self.any(NUMBERS), self.any((*VALUES[:2], *VALUES))
            one.shape, one.shape_count = self.maybe((c_int64 * 2)(3, -1)), self.any((0, 1, 2, 2**32 - 1))
            one.features, one.feature_count = self.maybe((c_double * 2)(1.0, self.any(VALUES))), numbers
        return made

    def open(self) -> None:
        """Open a session, in the right way or in a wrong one."""
        folder = Path(tempfile.mkdtemp(dir=self.folders.name))
        config = folder / "kernelpoint.yaml"
        text = self.any(
            ("policy: random", "policy: all", "policy: random\nseed: 3\nerror_budget.relative_error: 0.001", "nosuch")
        )
        config.write_text(f"version: 1\n{text}\njournal: {folder}/run.kpjournal\n")
        counts = (c_uint64 * 2)(LAUNCHES, LAUNCHES)
        info = self.sized(HostInfo(abi_version=2, simulator=self.any(TEXTS), version=b"1", config_hash=self.any(TEXTS)))
        info.process_count = 1 if self.random.random() < 0.9 else self.any((0, 2**16 + 1, 2**32 - 1))
        info.flags, info.state_lines = self.any((0, 2, 6, 34, 256, 768, 2048, 3840, 2**32 - 1)), self.any((0, 8))
        info.launch_counts, info.configuration = counts, self.any(TEXTS)
        info.counter_count = self.any((0, 0, 1, 2))
        info.counter_names = self.maybe((c_char_p * 2)(self.any(TEXTS), self.any(TEXTS)))
        described = self.described()
        info.descriptions, info.description_count = self.maybe(described), self.any((0, 0, LAUNCHES, LAUNCHES - 1))
        info.not_replayed, info.architecture_count = self.any(TEXTS), self.any((0, 0, 2, 257, 2**64 - 1))
        info.architectures = self.maybe((c_uint32 * 2)(70, self.any(NUMBERS) % 2**32))
        self.session = c_void_p()
        self.call("kp_open", self.maybe(str(config).encode()), self.maybe(byref(info)), self.maybe(byref(self.session)))

    def step(self) -> None:
        """Any other call."""
        session = self.maybe(self.session)
        room, number, text = self.sized(Room()), c_uint64(), c_char_p()
        process, index = self.process(), c_uint64(self.index())
        kind = self.random.randrange(12)
        if kind <= 2:
            decision = self.sized(Decision(action=77))
            size = decision.size
            launch = self.sized(
                Launch(process=process, index=index.value, trace_path=self.any((None, b"/no/such/trace")))
            )
            status = self.call("kp_on_launch", session, self.maybe(byref(launch)), byref(decision))
            assert status == 0 or size != sizeof(Decision) or decision.action == 0, (
                "a refused decision does not simulate"
            )
        elif kind == 3:
            self.call("kp_next", session, process, c_uint64(self.any(NUMBERS)), self.maybe(byref(number)))
        elif kind <= 5:
            counters = (CounterValue * 2)(CounterValue(b"reads", self.any(VALUES)), CounterValue(self.any(TEXTS), 1.0))
            result = self.sized(Result(process=process, index=index.value, flags=self.any((0, 0, 1, 2**32 - 1))))
            result.counter_count = self.any((0, 1, 1, 1, 2))
            result.cycles, result.instructions = self.any(NUMBERS), self.any(NUMBERS)
            result.counters = counters
            self.call("kp_on_complete", session, self.maybe(byref(result)))
        elif kind == 6:
            self.call("kp_on_abort", session, process, index, self.any(TEXTS))
        elif kind == 7:
            progress = self.sized(Progress(process=process, index=index.value, n0=self.any(NUMBERS)))
            self.call("kp_on_progress", session, self.maybe(byref(progress)), self.maybe(byref(c_uint32())))
        elif kind == 8:
            self.call("kp_replay_before", session, process, index, self.maybe(byref(room)))
        elif kind == 9:
            self.call("kp_launch_estimate", session, process, index, self.maybe(byref(room)))
            self.call("kp_launch_name", session, process, index, self.maybe(byref(text)))
        elif kind == 10:
            self.call("kp_process_summary", session, process, self.maybe(byref(room)))
            self.call(
                "kp_estimate_at", session, self.any((0, 2**32 - 1, 5)), self.any((0, 1, 7)), self.maybe(byref(room))
            )
        elif self.random.random() < 0.3:
            self.call("kp_finish", session, self.maybe(byref(room)))

    def run(self, calls: int) -> None:
        """Sequences of calls until there were enough."""
        while sum(self.seen.values()) < calls:
            self.open()
            for _ in range(self.random.randrange(10, 120) if self.session else 3):
                self.step()


def call_in_child(callers: list[Caller]) -> int:
    """Calls on the parent's sessions that change none, then on a session of the child's own. 1 if all were refused, else 0."""
    name, own = c_char_p(), Caller(sys.argv[1], os.getpid())
    held = [caller.session for caller in callers if caller.session]
    statuses = {own.call("kp_launch_name", session, 0, c_uint64(0), byref(name)) for session in held}
    was_inside = statuses == {-1} and b"was forked while a call" in own.plugin.kp_last_error()
    own.run(40)
    assert not was_inside or all(seen.endswith(" -1") for seen in own.seen), own.seen
    return int(was_inside)


def forked(callers: list[Caller]) -> str:
    """Outcome of the child of a fork: "answered", "refused", or its wait status."""
    if (child := os.fork()) == 0:
        signal.alarm(60)
        code = 2
        try:
            code = call_in_child(callers)
        finally:
            os._exit(code)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return {0: "answered", 1: "refused"}.get(status, f"ended with {status}")


if __name__ == "__main__":
    seed, calls, count, forks = map(int, sys.argv[2:])
    callers = [Caller(sys.argv[1], seed + number) for number in range(count)]
    children: Counter[str] = Counter()
    with ThreadPoolExecutor(count) as threads:
        running = [threads.submit(caller.run, calls // count) for caller in callers]
        while forks > sum(children.values()) and not all(one.done() for one in running):
            children[f"fork {forked(callers)}"] += 1
        for done in running:
            done.result()
    print(json.dumps(sum((caller.seen for caller in callers), children)))

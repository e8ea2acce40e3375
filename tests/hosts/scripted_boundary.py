"""Stands in for kernelpoint.session.boundary in the tests of hosts: a session whose decisions stand in a script.

The script is the file that the host is given as KernelPoint's configuration. The session keeps the contract of abi.h as a real
one does, and breaks it where the script says so. Lines of a script; a launch is written as launch or process:launch:

    pass 0 3 1:5            the launches to simulate in the next pass
    skip 3                  launches that are asked about and answered with KP_SKIP, or KP_EXECUTE
    interval 100            cycles between progress calls
    stop 3 700              tell launch 3 to stop at the first progress call from cycle 700 on; "stop * 700": any launch
    whole 3 900 50          cycles and instructions that launch 3 is projected to have when it was stopped
    estimate 100 10         cycles and instructions of a launch that was not simulated
    done 2 900 50 [3]       launch 2 was simulated before, by the process that this one resumes; each of its counters is 3
    name 3 gemm             the kernel name of launch 3, as if it had been read before
    uncounted 3             launches whose results are no part of the sample
    skip_latency 3          launches whose constant latency is skipped; none named: all
    replay 3                launches that begin with replayed state; none named: all
    leaves 3 4096 15 0 15 0 [1]   what launch 3 did to the line at 4096 (touched, written, filled, copied, opaque): part of what
                            is replayed before every later launch of its process, in this order
    bytes 3 0a1b            kp_replay.bytes of launch 3, in hexadecimal digits
    ctas 3 80               CTAs of launch 3
    grid 3 80 4 1           CTAs, warps of a CTA, its last warp: of the launches right before launch 3, newest first
    bound l2_misses 0.3     relative half-width of a counter's total; none stated otherwise
    say hello               log this word when the session opens
    no_bound, degraded      flags of the summary
    pending 2               so many KP_PENDING before the end of each pass
    fail launch             "open", "next", "replay", "complete", "progress", "abort" or "finish" fails

Every call is logged, one line each, in the script's own path with ".log" behind it; a launch reads as process:launch. A launch
that was aborted is wanted again in the next pass, once. The estimate of a total is the sum over simulated launches plus the
given estimate for each other launch; of every other counter it is twice what was simulated.
"""

import ctypes
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace

from kernelpoint.errors import HostError, KernelPointError

OK, DONE, PENDING = 0, 1, 2
SIMULATE, SKIP, EXECUTE = 0, 1, 2
BEFORE_FIRST, END_OF_LIST = -1, -2
DEGRADED, NO_BOUND = 1, 2
RATIO, SAMPLING = 1, 2
# In the order of the bits of kp_host.flags and kp_kept.flags.
HOST = ["has_no_traces", "stateless", "is_deterministic", "concurrent", "can_stop", "executes", "needs_whole_traces"]
KEPT = ["restores", "copies_fill", "keeps_rows", "counts_ctas"]


class Touch(ctypes.Structure):
    """A kp_touch."""

    _fields_ = [("line", ctypes.c_uint64), *((name, ctypes.c_uint8) for name in "rwfc"), ("opaque", ctypes.c_uint32)]


class Grid(ctypes.Structure):
    """A kp_grid."""

    _fields_ = [("ctas", ctypes.c_uint64), ("warps", ctypes.c_uint32), ("last_warp", ctypes.c_uint32)]


def unit_of(word):
    """(process, launch) of a word."""
    process, _, launch = word.rpartition(":")
    return int(process or 0), int(launch)


def amount(number):
    return f"{number:g}"


class Session:
    """The session of one script."""

    def __init__(self, script, info):
        self.log = Path(f"{script}.log")
        self.log.write_text("")
        self.info = info
        self.lines = [line.split() for line in Path(script).read_text().splitlines() if line.strip()]
        self.passes = [set(map(unit_of, words)) for words in self.words("pass")]
        self.of = {word: dict(self.of_launches(word)) for word in ["stop", "whole", "done", "name", "bytes", "ctas"]}
        self.touches = [(unit, Touch(*map(int, rest))) for unit, rest in self.of_launches("leaves")]
        self.grids = [(unit, Grid(*map(int, rest))) for unit, rest in self.of_launches("grid")]
        self.stop_any = min((int(rest[0]) for which, *rest in self.words("stop") if which == "*"), default=2**64)
        self.other = self.numbers("estimate") or [0.0, 0.0]
        self.pending = int(sum(self.numbers("pending")))
        self.flags = NO_BOUND * bool(self.words("no_bound")) + DEGRADED * bool(self.words("degraded"))
        self.pass_number, self.pendings, self.stopped = 0, self.pending, 0
        self.in_flight, self.finished, self.aborted = set(), set(), set()
        self.attempts = defaultdict(int)
        self.results = {unit: [float(rest[0]), float(rest[1])] for unit, rest in self.of["done"].items()}
        self.counter_sums = dict.fromkeys(info["counter_names"], 0.0)

    def words(self, first):
        """The words behind the first one, of each line that begins with it."""
        return [words for word, *words in self.lines if word == first]

    def of_launches(self, first):
        """(launch, the words behind it) of each such line."""
        return [(unit_of(which), rest) for which, *rest in self.words(first) if which != "*"]

    def numbers(self, first):
        return [float(word) for words in self.words(first)[-1:] for word in words]

    def named(self, first, unit, all_where_none=False):
        """True where a line names the launch; or names none, where that means all."""
        return any(unit in map(unit_of, words) or (all_where_none and not words) for words in self.words(first))

    def note(self, *words):
        with self.log.open("a") as file:
            print(*words, file=file)

    def check(self, call, error=KernelPointError):
        if [call] in self.words("fail"):
            raise error("the script says so")

    def is_open(self, unit):
        return unit not in self.finished and unit not in self.in_flight

    def units(self, process):
        counts = enumerate(self.info["launch_counts"])
        return [(p, launch) for p, count in counts if process in (None, p) for launch in range(count)]

    def first_wanted(self, process, after):
        """The first launch of a process behind `after` that this pass wants; None where there is none."""
        wanted = sorted(unit for unit in self.passes[self.pass_number] if self.is_open(unit))
        return next((launch for p, launch in wanted if p == process and launch > after), None)

    def next(self, process, after):
        """The next launch that may have to be simulated; of a host that executes each one up to it."""
        self.check("next")
        behind = max(after, BEFORE_FIRST) + 1
        while self.pass_number < len(self.passes):
            launch = None if after == END_OF_LIST else self.first_wanted(process, after)
            if launch is None:
                launch = self.first_wanted(process, BEFORE_FIRST)
            if launch is not None:
                if self.info["executes"]:
                    launch = behind if behind <= launch else 0
                return OK, launch
            if self.passes[self.pass_number] - self.finished:
                return PENDING, -1
            if self.pendings > 0:
                self.pendings -= 1
                return PENDING, -1
            self.end_pass()
            after = BEFORE_FIRST
        return DONE, -1

    def end_pass(self):
        """A launch that was aborted once is tried again in the next pass; where there is none, in one more."""
        self.pass_number += 1
        if self.aborted and self.pass_number == len(self.passes):
            self.passes.append(set())
        if self.aborted:
            self.passes[self.pass_number] |= self.aborted
        self.aborted, self.finished, self.pendings = set(), set(), self.pending

    def on_launch(self, process, index, trace_path):
        unit = process, index
        is_wanted = self.pass_number < len(self.passes) and unit in self.passes[self.pass_number] and self.is_open(unit)
        simulate = (is_wanted and not self.named("skip", unit)) or unit in self.in_flight
        executes = self.info["executes"]
        word = "launch" if is_wanted or not executes else "execute"
        self.note(word, f"{process}:{index}", "pass", self.pass_number)
        (self.in_flight if simulate else self.finished).add(unit)
        action = SIMULATE if simulate else EXECUTE if executes else SKIP
        restores, uncounted = self.named("replay", unit, True), self.named("uncounted", unit)
        interval = int(sum(self.numbers("interval")))
        return action, self.pass_number, interval, restores, uncounted, self.named("skip_latency", unit, True)

    def replay_before(self, process, index):
        self.check("replay")
        touches = [
            touch for (p, launch), touch in sorted(self.touches, key=lambda row: row[0]) if p == process and launch < index
        ]
        grids = [grid for unit, grid in self.grids if unit == (process, index)]
        earlier = [int(ctas[0]) for (p, launch), ctas in self.of["ctas"].items() if p == process and launch < index]
        self.note("replay", f"{process}:{index}", "touches", len(touches))
        return SimpleNamespace(
            touches=(Touch * len(touches))(*touches),
            grids=(Grid * len(grids))(*grids),
            state_bytes=bytes.fromhex("".join(self.of["bytes"].get((process, index), []))),
            covered=False,
            launches=index,
            unreadable=0,
            earlier_ctas=sum(earlier),
        )

    def on_progress(self, process, index, cycles, instructions, issued, completed, total):
        self.check("progress", HostError)
        self.require_in_flight("progress", process, index)
        stop = int(self.of["stop"].get((process, index), [self.stop_any])[0])
        ctas = f"issued {issued} completed {completed} of {total}"
        self.note(f"progress {process}:{index} cycles {cycles} {ctas} instructions {instructions} -> {int(cycles >= stop)}")
        return int(cycles >= stop)

    def require_in_flight(self, what, process, index):
        if (process, index) not in self.in_flight:
            raise HostError(f"{what} of {process}:{index}, not in flight")

    def on_complete(self, process, index, stopped, cycles, instructions, names, values):
        self.check("complete")
        self.require_in_flight("result", process, index)
        unit = process, index
        self.in_flight.remove(unit)
        self.finished.add(unit)
        self.stopped += stopped
        counters = [word for name, value in zip(names, values, strict=True) for word in (name, amount(value))]
        self.note(f"complete {process}:{index} flags {int(stopped)} cycles {cycles} instructions {instructions}", *counters)
        for name, value in zip(names, values, strict=True):
            self.counter_sums[name] += value
        whole = self.of["whole"].get(unit) if stopped else None
        self.results[unit] = list(map(float, whole or (cycles, instructions)))

    def on_abort(self, process, index, reason):
        self.check("abort", HostError)
        self.require_in_flight("abort", process, index)
        unit = process, index
        self.in_flight.remove(unit)
        self.note(f"abort {process}:{index}", reason or "")
        self.finished.add(unit)
        self.attempts[unit] += 1
        if self.attempts[unit] == 1:
            self.aborted.add(unit)
        else:
            self.flags |= NO_BOUND
        self.flags |= DEGRADED

    def totals(self, process, half_width):
        """Cycles and instructions of a process, or of all."""
        rows = []
        for name, place, bound in (("cycles", 0, half_width), ("instructions", 1, float("nan"))):
            units = self.units(process)
            simulated = sum(self.results[unit][place] for unit in units if unit in self.results)
            estimate = simulated + sum(self.other[place] for unit in units if unit not in self.results)
            rows.append((name, 0, estimate, float("nan") if self.flags & NO_BOUND else bound, simulated, float("nan")))
        return rows

    def finish(self):
        self.check("finish")
        if self.in_flight:
            self.flags |= NO_BOUND
        bounds, limits = ({name: float(value) for name, value in self.words(key)} for key in ("bound", "at_most"))
        rows = self.totals(None, 2.5)
        for name, total in self.counter_sums.items():
            width = bounds.get(name, float("nan"))
            flag = SAMPLING if name in bounds else 0
            rows.append((name, flag, 2 * total, width * 2 * total, total, limits.get(name, float("nan"))))
        processes = range(len(self.info["launch_counts"]))
        simulated = [sum(unit in self.results for unit in self.units(process)) for process in processes]
        launches = sum(self.info["launch_counts"])
        self.note("finish")
        return SimpleNamespace(
            flags=self.flags,
            launches=launches,
            simulated=sum(simulated),
            skipped=launches - sum(simulated),
            projected=self.stopped,
            passes=len(self.passes),
            confidence=0.95,
            cycle_speedup=2.0,
            saved_seconds=3.0,
            estimates=rows,
            ratios=[("ipc", 0, rows[1][2] / rows[0][2] if rows[0][2] else float("nan"), 0.001, float("nan"), float("nan"))],
            processes=[(p, len(self.units(p)), simulated[p], self.totals(p, 1.5)) for p in processes],
        )

    def launch_estimate(self, process, index):
        unit = process, index
        cycles, instructions = self.results.get(unit, self.other)
        counter = [float(rest[2]) if len(rest) > 2 else 0.0 for rest in [self.of["done"].get(unit)] if rest]
        return cycles, instructions, unit in self.results, counter * len(self.counter_sums)

    def launch_name(self, process, index):
        return self.of["name"].get((process, index), [None])[0]


def described(columns):
    """Lines that log the descriptions of all launches."""
    if columns is None:
        return
    kinds = {"extents": "I", "shapes": "q", "keys": "Q", "costs": "d"}
    extents, shapes, keys, costs = (memoryview(columns[name]).cast(kind) for name, kind in kinds.items())
    shapes = iter(shapes)
    for name, count, key, cost in zip(columns["names"], extents, keys, costs, strict=True):
        yield "describe", name or "none", "cost", amount(cost), "key", key, *(next(shapes) for _ in range(count))


def bits(info, names):
    return sum(bool(info.get(name)) << bit for bit, name in enumerate(names))


def open(config_path, info, log):
    session = Session(config_path, info)
    session.check("open")
    session.note("open", info["simulator"], "flags", bits(info, HOST), "hash", info["config_hash"])
    names = ["sms", "ctas_per_sm", "warps_per_sm", "registers_per_sm", "shared"]
    shape = zip(names, info.get("residency", [0] * len(names)), strict=True)
    kept = [word for name, number in shape for word in (name, number)]
    state_bytes = list(bytes.fromhex(info.get("state_bytes", "")))
    not_replayed = info.get("not_replayed", "")
    session.note(
        *("state lines", info.get("state_lines", 0), "flags", bits(info, KEPT), *kept),
        *(["bytes", *state_bytes] if state_bytes else []),
        *(["not replayed:", not_replayed] if not_replayed else []),
    )
    session.note("counters", *info["counter_names"])
    for process, (count, path) in enumerate(zip(info["launch_counts"], info["list_paths"], strict=True)):
        session.note("process", process, "launches", count, "list", path or "none")
    for words in described(info["descriptions"]):
        session.note(*words)
    for words in session.words("say"):
        log(words[0])
    return session

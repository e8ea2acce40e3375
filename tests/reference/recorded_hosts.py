"""Runs of the oracle with hosts written in Python: every policy, bound and estimator, aborts, processes, kills."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from journal_story import story
from workloads import synthesised

from kernelpoint.session import boundary

COUNT = 160
NAMES = ("l2_accesses", "l2_misses")


class Host:
    """Launches of known cost, driven through the session's own calls.

    fails: launches that are aborted the first time; held: results that are held back and come in reverse order; paths: the
    traces of launches that nobody knows beforehand.
    """

    def __init__(self, folder: Path, yaml: str, info: dict[str, Any], **how: Any) -> None:
        self.folder, self.info, self.how = folder, {"simulator": "oracle", "config_hash": "gpu", **info}, how
        self.config, self.journal = folder / "kernelpoint.yaml", folder / "run.kpjournal"
        self.config.write_text(f"version: 1\n{yaml}\njournal: {self.journal}\n")
        self.counts = how.get("counts") or [COUNT] * info.get("process_count", 1)
        self.aborted: set[tuple[int, int]] = set()

    def cycles(self, process: int, index: int) -> int:
        return 4000 + 900 * process + (index * 37) % 301 + (2500 if index % 9 == 4 else 0)

    def end(self, session: Any, process: int, index: int, interval: int) -> None:
        cycles, stopped = self.cycles(process, index), False
        total = 4000
        for step in range(interval, cycles * 20, interval) if interval else ():
            issued = min(20 + step * 3 // 100, total)
            if session.on_progress(process, index, step, 50 * issued, issued, max(issued - 20, 0), total):
                stopped, cycles = issued < total, step + 400
                break
        if interval and not stopped:
            cycles *= 20
        values = (float(3 * cycles), float(cycles // 7 + index))
        session.on_complete(process, index, stopped, cycles, 10 * cycles + index, NAMES, values)

    def run(self) -> list[Any]:
        """Everything that one process of the simulator does."""
        session = boundary.open(str(self.config), self.info, lambda line: None)
        after, status = [-1] * len(self.counts), [0] * len(self.counts)
        held: list[tuple[int, int, int]] = []
        while set(status) != {1}:
            for process in range(len(self.counts)):
                status[process], index = session.next(process, after[process])
                if status[process] == 0 and index >= self.counts[process]:
                    status[process], index = session.next(process, -2)
                if status[process] == 0:
                    self.launch(session, process, index, held)
                    after[process] = index
            while held and (len(held) > 3 or 0 not in status):
                self.end(session, *held.pop())
        session.finish()
        session.journal.close()
        ask = [(p, i) for p, count in enumerate(self.counts) for i in range(0, count, 7)]
        return [*story(self.journal), ["estimates", [list(session.launch_estimate(p, i)[:2]) for p, i in ask]]]

    def launch(self, session: Any, process: int, index: int, held: list[tuple[int, int, int]]) -> None:
        paths = self.how.get("paths")
        action, _, interval, *_ = session.on_launch(process, index, paths[index] if paths else None)
        if action:
            return
        if index in self.how.get("fails", ()) and (process, index) not in self.aborted:
            self.aborted.add((process, index))
            session.on_abort(process, index, "lost")
        else:
            held.append((process, index, interval))
            while held and not self.how.get("held"):
                self.end(session, *held.pop())


def cut(journal: Path, share: float) -> None:
    """As a kill leaves it: whole records, and a piece of one."""
    lines = journal.read_bytes().splitlines(keepends=True)
    keep = int(share * len(lines))
    journal.write_bytes(b"".join(lines[:keep]) + lines[keep][: len(lines[keep]) // 2])


BUDGET = "error_budget: {relative_error: %s}"
CASES: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "all": ("policy: all", {}, {}),
    "random": ("policy: random\n" + BUDGET % 0.01, {}, {}),
    "random, tight": ("policy: random\n" + BUDGET % 0.001, {}, {}),
    "held": ("policy: random\n" + BUDGET % 0.02, {}, {"held": True}),
    "no bound": ("policy: random\nerror_budget: {bound: none}", {}, {}),
    "ratio": ("policy: random\nerror_budget: {counter: l2_miss_rate, relative_error: 0.02}", {}, {}),
    "aborts": ("policy: random\n" + BUDGET % 0.005, {}, {"fails": range(0, COUNT, 5)}),
    "two processes": ("policy: random\n" + BUDGET % 0.02, {"process_count": 2}, {"counts": [COUNT, 90]}),
}


def without_traces(folder: Path) -> Iterator[tuple[str, list[Any]]]:
    for name, (yaml, info, how) in CASES.items():
        for seed in (0, 1, 2):
            stated = {"launch_counts": how.get("counts", [COUNT]), **info}

            def host(yaml: str = yaml, seed: int = seed, stated: dict = stated, how: dict = how) -> Host:
                return Host(folder, f"{yaml}\nseed: {seed}", stated, **how)

            yield from whole_and_resumed(f"{name}, seed {seed}", host, (0.4, 0.9))


def whole_and_resumed(name: str, host: Callable[[], Host], shares: tuple[float, ...]) -> Iterator[tuple[str, list[Any]]]:
    first = host()
    yield name, first.run()
    data = first.journal.read_bytes()
    for share in shares:
        first.journal.write_bytes(data)
        cut(first.journal, share)
        yield f"{name}, killed at {share}", host().run()
    first.journal.unlink()


def profile_of(traces: Path, path: Path) -> Path:
    from kernelpoint.traces import read_header, read_trace_list

    rows = ["idx,name,grid,block,regs,smem,stream,ts_us,dur_us"]
    for index, trace in enumerate(read_trace_list(str(traces)).traces):
        shape = read_header(trace)
        sizes = "x".join(map(str, shape.grid)), "x".join(map(str, shape.block))
        time = 5 + len(shape.kernel_name) % 7 + 0.01 * (index % 3)
        rows.append(f"{index},{shape.kernel_name},{sizes[0]},{sizes[1]},{shape.registers},0,7,{10 * index},{time}")
    path.write_text("\n".join(rows) + "\n")
    return path


def with_traces(folder: Path) -> Iterator[tuple[str, list[Any]]]:
    traces = synthesised(folder / "solver", "iterative-solver", 60)
    profile = profile_of(traces, folder / "profile.csv")
    for policy in ("all", "random", "allegro", "gcl", "kernelpoint", "pka", "sieve", "stem"):
        for seed in (0, 1):
            given = f"\nprofile: {profile}" if policy in ("pka", "sieve", "stem", "allegro") else ""
            yaml = f"policy: {policy}\nseed: {seed}{given}\nerror_budget: {{relative_error: 0.02}}"
            info = {"list_paths": [str(traces)], "launch_counts": [60]}

            def host(yaml: str = yaml, info: dict = info) -> Host:
                return Host(folder, yaml, info, counts=[60])

            yield from whole_and_resumed(f"{policy} over traces, seed {seed}", host, (0.5,))


def not_known_beforehand(folder: Path) -> Iterator[tuple[str, list[Any]]]:
    from kernelpoint.traces import read_trace_list

    traces = synthesised(folder / "decode", "transformer-decode", 120)
    paths = [str(path) for path in read_trace_list(str(traces)).traces]
    for seed in (0, 1):
        for count, fails in ((0, ()), (len(paths), range(0, 120, 4))):
            yaml = f"policy: kernelpoint\nclusters: online\nseed: {seed}\nerror_budget: {{relative_error: 0.02}}"

            def host(yaml: str = yaml, count: int = count, fails: Any = fails) -> Host:
                return Host(folder, yaml, {"launch_counts": [count]}, counts=[len(paths)], paths=paths, fails=fails)

            name = f"online, {count} launches told, seed {seed}"
            yield from whole_and_resumed(name, host, (0.2, 0.6, 0.95))

"""What runs decide, measure and state, recorded so that two versions of KernelPoint can be held against each other.

    python tests/reference/oracle.py record runs.json [PART ...]     with the version to look at on PYTHONPATH
    python tests/reference/oracle.py compare before.json after.json

Every run is small and deterministic: hosts written in Python with every policy, bound, estimator, aborts, processes, launches
stopped inside and launches not known beforehand; the same again with the journal cut at many records and resumed; and the
embedded host and the miniature simulators, where they are built. Of each journal the decisions, results, estimates and
half-widths are kept, floats exactly; what a journal's lines look like is not.
"""

from __future__ import annotations

import importlib.util
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from kernelpoint.session import boundary

TESTS = Path(__file__).resolve().parents[1]
COUNT = 160
NAMES = ("l2_accesses", "l2_misses")
KEPT = (
    "action",
    "stratum",
    "u",
    "threshold",
    "take_all",
    "cluster",
    "stream",
    "x",
    "prediction",
    "counters",
    "projection",
)
# Names of format 1, and those of format 2; then what is a sentence, or the line's own.
RENAMED = {"floor": "one_per_stream_speedup", "cluster": "number", "process": "number", "units": "launches"}
NOT_STATED = ("covers", "kernels", "pass", "pass_index", "not_covered", "warnings", "assumptions", "type", "crc32")

# ---- what is kept of a journal ----------------------------------------------------------------------------------------


def story(journal: Path) -> list[Any]:
    """The events of a journal in order, without names and form."""
    told = []
    for line in journal.read_text().splitlines():
        record = json.loads(line)
        kind = record["type"]
        if kind in ("decision", "result", "warmup", "abort"):
            kept = {key: record[key] for key in KEPT if record.get(key) is not None}
            told.append([kind, record["process"], record["launch"], number_of_pass(record), kept])
        elif kind == "pass":
            of_screening = {"sizes": record.get("sizes", []), "kinds": record.get("kinds", ["first"])}
            state = record.get("state") or of_screening
            told.append([kind, number_of_pass(record), record.get("wanted"), state["sizes"], state["kinds"]])
        elif kind in ("look", "seen", "summary", "degraded"):
            told.append([kind, {k: plain(v) for k, v in record.items() if k not in NOT_STATED and k != "reason"}])
    return told


def number_of_pass(record: dict[str, Any]) -> int:
    """Of formats 1 and 2."""
    return record["pass_index"] if "pass_index" in record else record["pass"]


def plain(value: Any) -> Any:
    """Without entries that are empty, so that a key that is not written equals one that is null."""
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items() if v is not None}
    return [plain(v) for v in value] if isinstance(value, list) else value


# ---- hosts in Python ----------------------------------------------------------------------------------------------------


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
    "mean": ("policy: random\nestimate: mean\n" + BUDGET % 0.02, {}, {}),
    "held": ("policy: random\n" + BUDGET % 0.02, {}, {"held": True}),
    "two stages": ("policy: random\nerror_budget: {relative_error: 0.02, bound: two_stage}", {}, {}),
    "fixed": ("policy: random\nerror_budget: {bound: fixed}", {}, {}),
    "no bound": ("policy: random\nerror_budget: {bound: none}", {}, {}),
    "ratio": ("policy: random\nerror_budget: {counter: l2_miss_rate, relative_error: 0.02}", {}, {}),
    "clusters": ("policy: random\nerror_budget: {scope: cluster, relative_error: 0.02}", {}, {}),
    "warm-up": ("policy: random\nwarmup: {launches: 2}\n" + BUDGET % 0.02, {}, {}),
    "aborts": ("policy: random\n" + BUDGET % 0.005, {}, {"fails": range(0, COUNT, 5)}),
    "two processes": ("policy: random\n" + BUDGET % 0.02, {"process_count": 2}, {"counts": [COUNT, 90]}),
    "cta": ("policy: random\ninside_kernel: cta\n" + BUDGET % 0.05, {"can_stop": True}, {}),
    "cta, all": ("policy: all\ninside_kernel: cta\n" + BUDGET % 0.05, {"can_stop": True}, {}),
    "pka inside": ("policy: random\ninside_kernel: pka\n" + BUDGET % 0.05, {"can_stop": True}, {}),
}


def without_traces(folder: Path) -> Iterator[tuple[str, list[Any]]]:
    for name, (yaml, info, how) in CASES.items():
        for seed in (0, 1, 2):
            told = {"launch_counts": how.get("counts", [COUNT]), **info}

            def host(yaml: str = yaml, seed: int = seed, told: dict = told, how: dict = how) -> Host:
                return Host(folder, f"{yaml}\nseed: {seed}", told, **how)

            yield from whole_and_resumed(f"{name}, seed {seed}", host, (0.4, 0.9))


def whole_and_resumed(
    name: str, host: Callable[[], Host], shares: tuple[float, ...]
) -> Iterator[tuple[str, list[Any]]]:
    first = host()
    yield name, first.run()
    data = first.journal.read_bytes()
    for share in shares:
        first.journal.write_bytes(data)
        cut(first.journal, share)
        yield f"{name}, killed at {share}", host().run()
    first.journal.unlink()


def synthesised(folder: Path, workload: str, launches: int) -> Path:
    from kernelpoint.cli.synth import synth

    synth(workload, folder, launches=launches)
    return folder / "kernelslist.g"


def profile_of(traces: Path, path: Path) -> Path:
    from kernelpoint.traces import launch_paths, read_header

    rows = ["idx,name,grid,block,regs,smem,stream,ts_us,dur_us"]
    for index, trace in enumerate(launch_paths(str(traces))):
        shape = read_header(trace).shape
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
    from kernelpoint.traces import launch_paths

    traces = synthesised(folder / "decode", "transformer-decode", 120)
    paths = [str(path) for path in launch_paths(str(traces))]
    for seed in (0, 1):
        for told, fails in ((0, ()), (len(paths), range(0, 120, 4))):
            yaml = f"policy: kernelpoint\nclusters: online\nseed: {seed}\nerror_budget: {{relative_error: 0.02}}"

            def host(yaml: str = yaml, told: int = told, fails: Any = fails) -> Host:
                return Host(folder, yaml, {"launch_counts": [told]}, counts=[len(paths)], paths=paths, fails=fails)

            name = f"online, {told} launches told, seed {seed}"
            yield from whole_and_resumed(name, host, (0.2, 0.6, 0.95))


# ---- programs -----------------------------------------------------------------------------------------------------------


def printed(text: str) -> list[str]:
    """The totals and estimates that a simulator prints."""
    return re.findall(r"^\s*((?:gpu_tot_|kernelpoint_|KERNELPOINT_)\w+\s.*)$", text, re.MULTILINE)


def embedded_host(folder: Path) -> Iterator[tuple[str, list[Any]]]:
    from kernelpoint.cli.host import program

    solver, large = synthesised(folder / "host", "iterative-solver", 60), folder / "large"
    from kernelpoint.cli.synth import synth

    synth("axpy", large, launches=3, n=65536)
    small = folder / "small.yaml"
    v100 = next(Path(boundary.__file__).parents[1].rglob("v100.yaml")).read_text()
    small.write_text(re.sub(r"^sms: 80$", "sms: 1", v100, flags=re.MULTILINE))
    profile = profile_of(solver, folder / "host.csv")
    config, journal = folder / "kernelpoint.yaml", folder / "run.kpjournal"
    runs = {f"{p}": (solver, "v100", f"policy: {p}") for p in ("all", "random", "gcl", "kernelpoint")}
    runs |= {f"{p}": (solver, "v100", f"policy: {p}\nprofile: {profile}") for p in ("pka", "sieve", "stem", "allegro")}
    runs["warm-up"] = (solver, "v100", "policy: random\nwarmup: {launches: 1}")
    runs["online"] = (solver, "v100", "policy: kernelpoint\nclusters: online")
    runs["cta"] = (large, str(small), "policy: all\ninside_kernel: cta\nerror_budget: {relative_error: 0.1}")
    for name, (traces, gpu, yaml) in runs.items():
        config.write_text(f"version: 1\n{yaml}\njournal: {journal}\n")
        command = [str(program()), "-trace", str(traces), "-config", gpu, "-kernel_sampling", str(config)]
        for what, share in (("", None), (", killed", 0.5)):
            if share is not None:
                cut(journal, share)
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
            if done.returncode != 0:
                raise SystemExit(f"embedded host, {name}{what}: {done.stderr}")
            yield f"embedded host, {name}{what}", [*story(journal), printed(done.stdout)]
        journal.unlink()


def conftest_of(simulator: str) -> Any:
    path = next(TESTS.rglob(f"{simulator}*/conftest.py"))
    spec = importlib.util.spec_from_file_location(f"oracle_{simulator}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def miniatures(folder: Path) -> Iterator[tuple[str, list[Any]]]:
    from kernelpoint.patching import Tree, load_description

    accelsim, macsim = conftest_of("accelsim"), conftest_of("macsim")
    checkout = accelsim.make_checkout(folder / "accelsim", "class_layout")
    Tree(checkout, load_description("accelsim")).apply()
    subprocess.run(["make", "-C", str(checkout / "gpu-simulator")], check=True, capture_output=True, timeout=300)
    program = checkout / "gpu-simulator" / "bin" / "accel-sim.out"
    macsim.FLAGS[:] = ["-std=c++14", "-O1"]
    other = macsim.make_checkout(folder / "macsim")
    Tree(other, load_description("macsim")).apply()
    macsim_program = macsim.build(other)
    work = folder / "work"
    for yaml in ("policy: all", "policy: random\nseed: 3", "policy: random\nseed: 4\nwarmup: {launches: 1}"):
        for name in ("accelsim", "macsim", "macsim, two applications"):
            shutil.rmtree(work, ignore_errors=True)
            (work / "run").mkdir(parents=True)
            (work / "run" / "kernelpoint.yaml").write_text(f"version: 1\n{yaml}\njournal: run.kpjournal\n")
            if name == "accelsim":
                traces = accelsim.write_workload(work / "traces")
                command = [str(program), "-trace", str(traces), "-kernel_sampling", "kernelpoint.yaml"]
            else:
                lists = [macsim.write_workload(work / "first", [0, 2, 3, 0, 2, 3])]
                lists += [macsim.write_workload(work / "second", [7, 12, 13])] if "two" in name else []
                (work / "run" / "trace_file_list").write_text("".join(f"{w}\n" for w in (len(lists), *lists)))
                command = [str(macsim_program), "--kernel_sampling=kernelpoint.yaml", "--max_num_core_per_appl=8"]
            done = subprocess.run(command, cwd=work / "run", capture_output=True, text=True, timeout=60)
            text = done.stdout + "".join(p.read_text() for p in sorted((work / "run").glob("kernelpoint.stat*")))
            yield f"miniature {name}: {yaml}", [*story(work / "run" / "run.kpjournal"), printed(text), done.returncode]


# ---- recording and comparing --------------------------------------------------------------------------------------------


PARTS = (without_traces, with_traces, not_known_beforehand, embedded_host, miniatures)


def record(target: Path, names: list[str]) -> None:
    found: dict[str, Any] = {}
    parts = [part for part in PARTS if not names or part.__name__ in names]
    with tempfile.TemporaryDirectory() as name:
        os.environ["KERNELPOINT_CACHE"] = f"{name}/cache"
        os.environ["KERNELPOINT_PLUGIN"] = str(Path(boundary.__file__).parents[1] / "lib" / "libkernelpoint.so")
        for part in parts:
            (folder := Path(name) / part.__name__).mkdir()
            before = len(found)
            found.update(part(folder))
            print(f"{part.__name__}: {len(found) - before} runs", flush=True)
    target.write_text(json.dumps(found, sort_keys=True))


ROUNDING = 1e-13


def differences(before: Any, after: Any, place: str = "") -> Iterator[tuple[str, float]]:
    """Every leaf in which two stories differ, and by how much: relatively, or without end."""
    if isinstance(before, dict) and isinstance(after, dict):
        before, after = ({RENAMED.get(k, k): v for k, v in told.items()} for told in (before, after))
        for key in sorted((before.keys() | after.keys()) - {*NOT_STATED}):
            yield from differences(before.get(key), after.get(key), f"{place}/{key}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for number, pair in enumerate(zip(before, after, strict=True)):
            yield from differences(*pair, f"{place}/{number}")
    elif before != after:
        numbers = isinstance(before, float) and isinstance(after, float)
        if not (numbers and math.isnan(before) and math.isnan(after)):
            size = abs(after - before) / max(abs(before), abs(after)) if numbers else math.inf
            yield f"{place}: {str(before)[:150]} -> {str(after)[:150]}", size


def compare(before: Path, after: Path) -> int:
    first, second = json.loads(before.read_text()), json.loads(after.read_text())
    bad, rounded = 0, 0
    both = sorted(first.keys() & second.keys())
    for name in both:
        found = list(differences(first.get(name), second.get(name)))
        beyond = [line for line, size in found if size > ROUNDING]
        bad, rounded = bad + bool(beyond), rounded + bool(found and not beyond)
        for line in beyond[:5]:
            print(f"{name}{line}")
    print(
        f"{len(first)} runs before, {len(second)} after, {len(both)} in both; {bad} differ, {rounded} others in the last bits"
    )
    return int(bad > 0 or not both)


if __name__ == "__main__":
    if sys.argv[1:2] == ["compare"]:
        sys.exit(compare(Path(sys.argv[2]), Path(sys.argv[3])))
    record(Path(sys.argv[2]), sys.argv[3:])

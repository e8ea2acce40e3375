"""Cost of single steps of KernelPoint, in processor time and memory.

    python lab/benchmarks/steps.py scan FOLDER_OR_LIST          reading and hashing every launch, cold and from the cache
    python lab/benchmarks/steps.py plan LIST --launches N       planning a list that repeats those of LIST, nothing cached
    python lab/benchmarks/steps.py open TRACES                  a fresh process that opens a run, by what is already known
    python lab/benchmarks/steps.py select --launches N          the list and the census of N launches read; a selection drawn
    python lab/benchmarks/steps.py program LIST --launches N    plan and sampled run of a list that repeats those of LIST
    python lab/benchmarks/steps.py replay LIST --launches N     walks back from launches of a list that repeats those of LIST
    python lab/benchmarks/steps.py host LIST [--gpu v100]       a full run of the embedded host, after one that warms the files

Memory is the most that a process held until the end of a step, less what it held before the first. `open`, `scan`,
`select`, `program` and `host` run each step in a process of its own; memory is then its peak.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from kernelpoint.cli.host import program as host_program
from kernelpoint.config import parse_config
from kernelpoint.estimation import Engine
from kernelpoint.fast_model import stated_by
from kernelpoint.planning.making import PlanInputs
from kernelpoint.planning.plan import Plan, hash_design
from kernelpoint.policies.registry import load_policy
from kernelpoint.randomness import generator
from kernelpoint.session.setup import budget_of
from kernelpoint.traces import read_trace_list
from kernelpoint.traces.replay import Replay, StateInfo
from kernelpoint.workload import Need, complete, program_for
from kernelpoint.workload.host_info import HostInfo

ITERATION, KERNELS, SHAPES, FILES = 2000, 40, 300, 1000  # of the program that `select` reads
V100 = StateInfo(lines=49152, residency=(80, 32, 64, 65536, 98304), copies_fill=True)
CENSUS_HEADER = (
    "kernel id, kernel mangled name, grid_dimX, grid_dimY, grid_dimZ, #blocks, block_dimX, block_dimY, block_dimZ, #threads, "
    "total_insts, total_reported_insts\n"
)
SCAN = """
from kernelpoint.traces import ArtefactCache, read_trace_list, scan_launches
table = scan_launches(read_trace_list({source!r}).traces, ArtefactCache({folder!r}))
print(len(table.streams), "sequences,", len(table.errors), "broken")
"""
OPEN = """
import sys
from kernelpoint.session import boundary
session = boundary.open({config!r}, {{"simulator": "benchmark", "list_paths": [{list!r}]}}, lambda line: None)
print("torch imported:", "torch" in sys.modules)
"""
PROGRAM = """
import kernelpoint as kp
print(kp.simulate({list!r}, {journal!r}, gpu="rtx").ended().simulated, "launches simulated")
"""
HOST = """
import re, subprocess
done = subprocess.run({command!r}, capture_output=True, text=True, check=True)
print(re.findall(r"gpu_tot_warp_instructions = .*", done.stdout, re.MULTILINE)[-1])
"""
COSTS = """
import resource
used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print(sum(u.ru_utime + u.ru_stime for u in used), max(u.ru_maxrss for u in used) / 1024)
"""
CENSUS = "from pathlib import Path\nfrom kernelpoint.selection import Selection, read_census\n"
COMMAND = """
import sys
from kernelpoint.cli import main
sys.argv = ["kernelpoint", "select", {census!r}, "-o", {output!r}, "--relative-error", {eps!r}]
try:
    main()
except SystemExit:
    pass
"""


def most_held() -> int:
    """Largest memory that this process has used so far, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


class Steps:
    """Table of the steps of this process: processor time, wall time and memory, printed step by step."""

    def __init__(self, launches: int) -> None:
        self.launches, self.base, self.begun = launches, most_held(), time.process_time()
        print(f"{launches:,} launches\n{'':<40}{'CPU s':>9}{'wall s':>9}{'bytes/launch':>14}")

    def __call__(self, name: str, call: Callable[[], Any]) -> Any:
        """Run one step, print its costs, and return its result."""
        begun, wall = time.process_time(), time.monotonic()
        result = call()
        self._row(name, time.process_time() - begun, time.monotonic() - wall)
        return result

    def end(self) -> None:
        """Print the row of all steps together."""
        self._row("all together", time.process_time() - self.begun, 0.0)

    def _row(self, name: str, seconds: float, wall: float) -> None:
        held = (most_held() - self.base) / self.launches
        print(f"{name:<40}{seconds:>9.2f}{wall:>9.2f}{held:>14.1f}", flush=True)


def apart(name: str, code: str, **environment: str) -> None:
    """Print the processor time and memory that Python code needs in a new process, and the last line that it prints."""
    command, settings = [sys.executable, "-c", code + COSTS], {**os.environ, **environment}
    done = subprocess.run(command, env=settings, capture_output=True, text=True, check=True)
    *said, costs = done.stdout.strip().splitlines()
    seconds, mebibytes = map(float, costs.split())
    print(f"{name:<40}{seconds:>9.2f} s CPU{mebibytes:>7.0f} MiB  {said[-1] if said else ''}", flush=True)


# ---- steps ----------------------------------------------------------------------------------------------------------


def scan(options: argparse.Namespace, folder: Path) -> None:
    """Measure reading and hashing of all traces, with an empty cache and with a full one."""
    paths = read_trace_list(options.source).traces
    size = sum(os.path.getsize(path) for path in dict.fromkeys(paths)) / 1e6
    print(f"{len(paths):,} launches, {size:,.0f} MB")
    for title in ("cold", "from the cache"):
        apart(title, SCAN.format(source=options.source, folder=str(folder)))


def plan(options: argparse.Namespace, folder: Path) -> None:
    """Measure each step of planning, from reading the list to drawing the first sample."""
    os.environ["KERNELPOINT_CACHE"] = str(folder / "cache")
    trace_list, output = repeated(Path(options.source), options.launches, folder), folder / "run.kpplan"
    config, steps = parse_config({"version": 1, "policy": options.policy}, "benchmark"), Steps(options.launches)
    policy = load_policy(config.policy)
    host = HostInfo(list_paths=(str(trace_list),), **stated_by([options.gpu]))

    def say(line: str) -> None:
        pass

    program = steps("list", lambda: program_for(config, host, say))
    planning = steps("fingerprint", lambda: PlanInputs.of(config, policy, program))
    for need in (Need.TRACES, Need.EMBEDDINGS, Need.MODEL):
        program = steps(need.value, lambda n=need, p=program: complete(p, planning.needs & {n}, config.encoder, say))
    made = steps("design", lambda: replace(planning, program=program).make(say))
    steps("hash of the design", lambda: hash_design(made.design))
    steps("plan, written", lambda: made.save(output))
    budget = budget_of(config, policy, HostInfo(simulator="benchmark"))
    engine = steps("engine, first draw", lambda: Engine(made.design, budget))
    steps.end()
    size = output.stat().st_size / len(made.design.labels)
    print(f"{len(engine.drawn()):,} launches drawn first; the plan's file: {size:.1f} bytes a launch")
    steps("plan, read", lambda: Plan.load(output, program))


def program(options: argparse.Namespace, folder: Path) -> None:
    """Measure a sampled run of the embedded host, first with an empty cache and then with its plan in the cache."""
    trace_list = repeated(Path(options.source), options.launches, folder)
    for name in ("planned and run", "run, plan cached"):
        code = PROGRAM.format(list=str(trace_list), journal=str(folder / f"{name}.kpjournal"))
        apart(name, code, KERNELPOINT_CACHE=str(folder / "cache"))


def repeated(trace_list: Path, launches: int, folder: Path) -> Path:
    """Write a list of `launches` launches that repeats another, with links to the traces of that one."""
    paths = read_trace_list(trace_list).traces
    for path in dict.fromkeys(paths):
        (folder / Path(path).name).symlink_to(Path(path).resolve())
    names = [Path(path).name for path in paths]
    whole, rest = divmod(launches, len(names))
    with (folder / "kernelslist.g").open("w") as file:
        for part in [names] * whole + [names[:rest]]:
            file.writelines(f"{name}\n" for name in part)
    return folder / "kernelslist.g"


def openings(options: argparse.Namespace, folder: Path) -> None:
    """Measure opening a run in a fresh process: with an empty cache, with its plan, and without the plan."""
    links, moved, config = folder / "traces", folder / "moved", folder / "kernelpoint.yaml"
    links.mkdir()
    for number, path in enumerate(read_trace_list(options.source).traces, start=1):
        (links / f"kernel-{number}{''.join(Path(path).suffixes)}").write_bytes(Path(path).read_bytes())
    accepted = "accept: [copied-trace]"  # a list may name a trace often, and each launch gets a file here
    config.write_text(f"version: 1\npolicy: kernelpoint\n{accepted}\nresume: never\njournal: {folder / 'open.kpjournal'}\n")

    def opened(what: str, traces: Path) -> None:
        code = OPEN.format(config=str(config), list=str(traces))
        apart(f"opening, {what}", code, KERNELPOINT_CACHE=str(folder / "cache"))

    opened("nothing known", links)
    opened("plan known", links)
    for kept in (folder / "cache" / "plans").iterdir():
        kept.unlink()
    opened("files known, no plan", links)
    links.rename(moved)
    opened("sequences known, every file new", moved)


def select(options: argparse.Namespace, folder: Path) -> None:
    """Measure `kernelpoint select` on a synthetic program of 40 kernels in 300 shapes, which repeats iterations of
    2,000 launches.
    """
    census = write_program(folder, options.launches)
    listed, chosen = str(folder / "kernelslist.g"), f"{folder}/0.01/selection.kpselect"
    code = f"from kernelpoint.traces import read_trace_list\nprint(len(read_trace_list({listed!r}).traces))"
    apart("read the list", code)
    apart("read the census", f"{CENSUS}print(read_census(Path({str(census)!r}), None, print).size)")
    for eps in ("0.05", "0.01"):
        apart(f"select, {eps}", COMMAND.format(census=str(census), output=f"{folder}/{eps}", eps=eps))
    apart("load the selection", f"{CENSUS}print(int(Selection.load(Path({chosen!r})).traced.sum()))")
    size = sum(path.stat().st_size for path in (folder / "0.01").iterdir())
    print(f"census {census.stat().st_size / 1e6:.0f} MB, selection at 1 % {size / 1e6:.1f} MB")


def replay(options: argparse.Namespace, folder: Path) -> None:
    """Measure replay: how long it takes to collect the accesses of earlier launches that fill the caches before one
    launch.
    """
    trace_list, count = repeated(Path(options.source), options.launches, folder), options.launches
    started = time.perf_counter()
    made = Replay(read_trace_list(trace_list), V100)
    opened = time.perf_counter() - started
    made.before(count - 1)  # reads the footprints
    times, state = [], made.before(count - 1)
    for launch in generator(0, "walks").integers(count // 2, count, 20).tolist():
        started = time.perf_counter()
        state = made.before(launch)
        times.append(1e3 * (time.perf_counter() - started))
    print(
        f"{count:,} launches: opened in {opened:.2f} s; a walk {statistics.median(times):.2f} ms, at most {max(times):.2f} ms; "
        f"the last one has {len(state.touches):,} touches of {state.launches:,} launches; {made.memory / 2**20:.2f} MiB kept"
    )


def host(options: argparse.Namespace, folder: Path) -> None:
    """Measure the embedded host's simulation of all launches. The last line of its output is the number of warp
    instructions.
    """
    command = [str(host_program()), "-trace", options.source, "-config", options.gpu]
    for title in ("first run", "second run"):
        apart(title, HOST.format(command=command))


def write_program(folder: Path, launches: int) -> Path:
    """Write the list and the census of a synthetic program; returns the path of the census."""
    random, census = np.random.default_rng(0), folder / "stats_ctx_0x1"
    kernel, grid = random.integers(0, KERNELS, SHAPES), random.integers(1, 2000, SHAPES)
    shape = np.tile(random.integers(0, SHAPES, ITERATION), -(-launches // ITERATION))[:launches]
    odd = random.random(launches) < 0.001
    shape[odd] = random.integers(0, SHAPES, int(odd.sum()))
    with census.open("w") as file:
        file.write(CENSUS_HEADER)
        for number, s in enumerate(shape.tolist(), 1):
            name, g = f"kernel-{number}-ctx_0x1.trace.xz, _Z7kernel{kernel[s]:02d}Pf", grid[s]
            file.write(f"{name}, {g}, 1, 1, {g}, 256, 1, 1, 256, 0,0\n")
    for number in range(FILES):
        (folder / f"kernel-{number}.traceg").touch()
    with (folder / "kernelslist.g").open("w") as file:
        file.writelines(f"kernel-{number % FILES}.traceg\n" for number in range(launches))
    return census


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)

    def command(name: str, run: Callable[[argparse.Namespace, Path], None], source: bool, **numbers: float) -> Any:
        made = commands.add_parser(name, help=run.__doc__)
        made.set_defaults(run=run)
        if source:
            made.add_argument("source", help="a folder or a list of traces")
        for option, default in numbers.items():
            made.add_argument(f"--{option}", type=type(default), default=default)
        return made

    command("scan", scan, True)
    planned = command("plan", plan, True, launches=1_000_000)
    planned.add_argument("--policy", default="kernelpoint")
    planned.add_argument("--gpu", default="rtx")
    command("open", openings, True)
    command("select", select, False, launches=1_000_000)
    command("program", program, True, launches=1_000_000)
    command("replay", replay, True, launches=1_000_000)
    command("host", host, True).add_argument("--gpu", default="v100")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        options.run(options, Path(folder))


if __name__ == "__main__":
    main()

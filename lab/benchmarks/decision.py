"""Cost of a decision with its journal record written, and of opening a run by what is already known.

    python lab/benchmarks/decision.py TRACES [--launches 20000]

Decisions: microseconds of processor time per on_launch, median of blocks of 1,000, against writing an equal line to a file.
Opening: processor seconds of a fresh Python process that opens the run and stops, with a plan in the cache, with every file
in the cache but no plan, with streams in the cache but every file new (touched), and with nothing known.
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
from pathlib import Path

import numpy as np

from kernelpoint.config import parse_config
from kernelpoint.estimation import Design, ErrorBudget
from kernelpoint.journal import JournalWriter
from kernelpoint.policies.registry import load_policy
from kernelpoint.session.host_info import HostInfo
from kernelpoint.session.session import Session
from kernelpoint.session.setup import Setup
from kernelpoint.traces import launch_paths
from kernelpoint.workload import Population
from kernelpoint.workload.frame import Frame
from kernelpoint.workload.plan import Plan

OPEN = """
import sys
from kernelpoint.session import boundary
session = boundary.open(sys.argv[1], {"simulator": "benchmark", "list_paths": [sys.argv[2]]}, lambda line: None)
print("torch" in sys.modules)
"""


def session_of(launches: int, clusters: int, folder: Path) -> Session:
    """A session over launches in many clusters, half of which are wanted."""
    population = Population(counts=(launches,), seed=0)
    strata = np.arange(launches, dtype=np.int32) % clusters
    sizes = np.full(clusters, launches // clusters // 2)
    design = Design(strata=strata, first_sizes=sizes, u=population.u, clusters=np.arange(clusters))
    hashes = [f"{i:032x}" for i in range(clusters)]
    plan = Plan(design=design, origin={}, stream_ids=strata, stream_hashes=hashes, stream_names=["k"] * clusters)
    config = parse_config({"version": 1, "policy": "random"})
    frame = Frame(population, plan, None, {})
    setup = Setup(config, HostInfo("benchmark"), load_policy("random"), ErrorBudget(0.01), "mean", frame)
    session = Session(setup, JournalWriter(folder / "run.kpjournal", resume=False), lambda line: None)
    session.begin()
    return session


def decisions(launches: int, clusters: int, folder: Path) -> None:
    session = session_of(launches, clusters, folder)
    blocks = []
    for start in range(0, launches, 1000):
        began = time.process_time()
        for index in range(start, start + 1000):
            session.on_launch(0, index)
        blocks.append((time.process_time() - began) * 1e3)
    line = (folder / "run.kpjournal").read_bytes().splitlines()[-1] + b"\n"
    began = time.process_time()
    with open(folder / "plain", "wb", buffering=0) as file:
        for _ in range(launches):
            file.write(line)
    plain = (time.process_time() - began) / launches * 1e6
    took = statistics.median(blocks)
    print(f"decision, {clusters:,} clusters, journal written: {took:.1f} us; the write alone: {plain:.1f} us")


def opening(what: str, config: Path, traces: Path, environment: dict[str, str]) -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-c", OPEN, str(config), str(traces)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"opening, {what:<42} {cpu:7.2f} s CPU, torch imported: {done.stdout.strip()}")


def openings(traces: Path, folder: Path) -> None:
    links = folder / "traces"
    links.mkdir()
    for number, path in enumerate(launch_paths(str(traces)), start=1):
        copy = links / f"kernel-{number}{''.join(Path(path).suffixes)}"
        os.link(path, copy) if os.stat(path).st_dev == os.stat(links).st_dev else copy.write_bytes(
            Path(path).read_bytes()
        )
    config = folder / "kernelpoint.yaml"
    config.write_text(f"version: 1\npolicy: kernelpoint\nresume: never\njournal: {folder / 'open.kpjournal'}\n")
    environment = {**os.environ, "KERNELPOINT_CACHE": str(folder / "cache")}
    opening("nothing known (new streams)", config, links, environment)
    opening("plan known", config, links, environment)
    for plan in (folder / "cache" / "plans").iterdir():
        plan.unlink()
    opening("files known, no plan", config, links, environment)
    moved = folder / "moved"
    links.rename(moved)
    opening("streams known, every file new, no plan", config, moved, environment)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", type=Path)
    parser.add_argument("--launches", type=int, default=20_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.traces.resolve().parent) as folder:
        decisions(options.launches, 1000, Path(folder))
        openings(options.traces.resolve(), Path(folder))


if __name__ == "__main__":
    main()

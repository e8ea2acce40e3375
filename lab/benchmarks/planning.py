"""Cost of planning a list of many launches whose traces repeat: time and memory of each step.

    python lab/benchmarks/planning.py LIST [--launches 1000000] [--policy kernelpoint] [--gpu rtx]

The launches of LIST come again and again, in one list of the length that is asked for; nothing is cached beforehand. Memory is
the most that the process held until the end of a step, less what it held before the first, in bytes a launch.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kernelpoint import api
from kernelpoint.config import parse_config
from kernelpoint.estimation import engine_for
from kernelpoint.policies.registry import load_policy
from kernelpoint.session.host_info import HostInfo
from kernelpoint.session.planning import make_plan, origin_of
from kernelpoint.session.setup import budget_of
from kernelpoint.traces import read_trace_list
from kernelpoint.workload import Available, Need, complete, population_for
from kernelpoint.workload.frame import hash_design
from kernelpoint.workload.plan import Plan


def most_held() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


class Steps:
    """Rows of the table, printed as they come."""

    def __init__(self, launches: int) -> None:
        self.launches, self.base, self.begun = launches, most_held(), time.process_time()
        print(f"{launches:,} launches\n{'':<28}{'CPU s':>9}{'wall s':>9}{'bytes/launch':>14}")

    def row(self, name: str, seconds: float, wall: float) -> None:
        print(f"{name:<28}{seconds:>9.2f}{wall:>9.2f}{(most_held() - self.base) / self.launches:>14.1f}", flush=True)

    def __call__(self, name: str, call: Callable[[], Any]) -> Any:
        begun, wall = time.process_time(), time.monotonic()
        result = call()
        self.row(name, time.process_time() - begun, time.monotonic() - wall)
        return result


def repeated(trace_list: Path, launches: int, folder: Path) -> Path:
    """A list of that many launches, and links to its traces."""
    names = []
    for path in read_trace_list(trace_list).paths:
        name = Path(path).name
        names.append(name)
        if not (folder / name).exists():
            (folder / name).symlink_to(Path(path).resolve())
    whole, rest = divmod(launches, len(names))
    block = "\n".join(names) + "\n"
    with (folder / "kernelslist.g").open("w") as file:
        for _ in range(whole):
            file.write(block)
        file.write("\n".join(names[:rest]) + "\n" * bool(rest))
    return folder / "kernelslist.g"


def plan(steps: Steps, trace_list: Path, policy_name: str, gpu: str, output: Path) -> None:
    config = parse_config({"version": 1, "policy": policy_name}, "benchmark")
    policy, host = load_policy(config.policy), api._stand_in(trace_list, [gpu])

    def say(line: str) -> None:
        pass

    population = steps("list", lambda: population_for(config, host, say))
    needs = policy.inputs(Available.of(population, config))
    origin = steps("fingerprint", lambda: origin_of(config, policy, population, needs))
    for need in (Need.TRACES, Need.EMBEDDINGS, Need.MODEL):
        population = steps(need.value, lambda n=need, p=population: complete(p, needs & {n}, config.encoder, say))
    made = steps("design", lambda: make_plan(config, policy, population, needs, origin, say))
    steps("hash of the design", lambda: hash_design(made.design))
    steps("plan, written", lambda: made.save(output))
    engine = steps(
        "engine, first draw",
        lambda: engine_for(made.design, budget_of(config, policy, HostInfo(simulator="benchmark"))),
    )
    steps.row("all together", time.process_time() - steps.begun, 0.0)
    size = output.stat().st_size / len(made.design.strata)
    print(f"{len(engine.drawn()):,} launches drawn first; the plan's file: {size:.1f} bytes a launch")
    steps("plan, read", lambda: Plan.load(output, population.u))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("list", type=Path)
    parser.add_argument("--launches", type=int, default=1_000_000)
    parser.add_argument("--policy", default="kernelpoint")
    parser.add_argument("--gpu", default="rtx")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["KERNELPOINT_CACHE"] = str(folder / "cache")
        trace_list = repeated(options.list, options.launches, folder)
        plan(Steps(options.launches), trace_list, options.policy, options.gpu, folder / "run.kpplan")


if __name__ == "__main__":
    main()

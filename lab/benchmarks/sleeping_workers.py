"""Wall time of a pass on workers whose simulators only sleep: what coordinator and pool cost, and stragglers.

    python lab/benchmarks/sleeping_workers.py --workers 8 --seconds 240 --launches 200 --slow 10
    python lab/benchmarks/sleeping_workers.py --workers 32 --seconds 137 --launches 400

Times of launches are exponentially distributed, forecast exactly, and add up to --seconds; one worker takes --slow times them.
--straggles: times its forecast that a batch takes before a free worker is given it too.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path

from kernelpoint import __version__
from kernelpoint.coordinator import simulations
from kernelpoint.coordinator.dask_pool import open_pool
from kernelpoint.coordinator.task import Work
from kernelpoint.randomness import generator
from kernelpoint.session.orders import Order, Planned

HOST = {"simulator": "sleeps", "version": "1", "config_hash": "none"}
SLEEPER = """
import json, os, sys, time
folder, slow = sys.argv[1], 1.0
chains, answers = map(int, os.environ["KERNELPOINT_WORKER"].split(","))
try:
    os.mkdir(f"{folder}/slow")
    slow = float(sys.argv[2])
except FileExistsError:
    pass
seconds = json.load(open(f"{folder}/seconds.json"))
hello = {"kernelpoint": sys.argv[3], "pid": os.getpid(), "host": json.loads(sys.argv[4])}
os.write(answers, (json.dumps(hello) + "\\n").encode())
for line in os.fdopen(chains):
    chain = json.loads(line)
    took = [slow * seconds[step[1]] for step in chain]
    time.sleep(sum(took))
    outcomes = [{"counters": [["cycles", 1.0], ["instructions", 1.0]], "seconds": t} for t in took]
    os.write(answers, (json.dumps({"chain": chain, "outcomes": outcomes}) + "\\n").encode())
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=240.0)
    parser.add_argument("--launches", type=int, default=200)
    parser.add_argument("--slow", type=float, default=1.0)
    parser.add_argument("--straggles", type=float, default=simulations.STRAGGLES)
    options = parser.parse_args()
    simulations.STRAGGLES = options.straggles
    seconds = generator(1, "sleeping workers").exponential(1.0, options.launches)
    seconds *= options.seconds / seconds.sum()
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "sleeper.py").write_text(SLEEPER)
        (Path(folder) / "seconds.json").write_text(json.dumps(seconds.tolist()))
        (Path(folder) / "outcomes").mkdir()
        command = (sys.executable, f"{folder}/sleeper.py", folder, str(options.slow), __version__, json.dumps(HOST))
        work = Work(f"run-{os.getpid()}", command, folder, f"{folder}/outcomes", HOST, __version__)
        pool = open_pool(options.workers, None, 0, print)
        made = simulations.Simulations(pool, work, {}, print)
        begun, processor = time.monotonic(), time.process_time()
        steps = [Order(0, launch, 1) for launch in range(options.launches)]
        made.expect([Planned((step,), float(cost)) for step, cost in zip(steps, seconds, strict=True)])
        for step in steps:
            made.outcome(step)
        wall, processor = time.monotonic() - begun, time.process_time() - processor
        pool.close()
    print(
        f"{options.seconds:g} s of sleep, the longest launch {seconds.max():.1f} s: {wall:.1f} s of wall time, with an equal "
        f"share for each worker {options.seconds / options.workers:.1f} s; {processor:.1f} s of processor time here"
    )


if __name__ == "__main__":
    main()

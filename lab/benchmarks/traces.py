"""Reading and hashing every launch of a workload: seconds, processor seconds and peak memory, cold and from the cache.

python lab/benchmarks/traces.py FOLDER_OR_LIST
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

from kernelpoint.traces import launch_paths

SCAN = """
import resource, sys, time
from kernelpoint.traces import TraceCache, launch_paths, scan_launches
start, before = time.perf_counter(), time.process_time()
table = scan_launches(launch_paths(sys.argv[1]), TraceCache(sys.argv[2]), threads=int(sys.argv[3]))
print(time.perf_counter() - start, time.process_time() - before, len(table.streams), len(table.errors))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    paths, threads = launch_paths(sys.argv[1]), len(os.sched_getaffinity(0))
    size = sum(os.path.getsize(path) for path in dict.fromkeys(paths)) / 1e6
    print(f"{len(paths):,} launches, {size:,.0f} MB, {threads} threads")
    print("| Cache | s | CPU s | MB/CPU s | Peak MiB | Sequences | Broken |\n|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as cache:
        for title in ("cold", "warm"):
            command = [sys.executable, "-c", SCAN, sys.argv[1], cache, str(threads)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            wall, cpu, streams, broken, peak = map(float, done.stdout.split())
            print(
                f"| {title} | {wall:.2f} | {cpu:.2f} | {size / cpu:,.0f} | {peak:.0f} | {streams:.0f} | {broken:.0f} |"
            )


if __name__ == "__main__":
    main()

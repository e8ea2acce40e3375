"""Readers of profiles on files of real size: writes such files, reads them, prints time and peak memory.

    python lab/benchmarks/profiles.py FOLDER [--gigabytes 1.05] [--kernels 1000000] [--rows 100000]

The files are synthetic: layout, field names, units and sizes of records follow what the tools write, the values are ours, and
so every sum that a reader has to find is known and checked. Each file is read in a process of its own and removed. The peak is
its VmHWM; bytes a launch are those above the peak of a process that only imports the readers.
"""

from __future__ import annotations

import argparse
import json
import random
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

KERNELS = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, at::detail::Array<char*, 3> >"
    "(int, at::native::CUDAFunctor_add<float>, at::detail::Array<char*, 3>)",
    "volta_sgemm_128x64_nn",
    "void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, int, 512, true, 1>(cudnnTensorStruct, float const*)",
    "void at::native::(anonymous namespace)::softmax_warp_forward<float, float, float, 8, false, false>(float*, float const*)",
    "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)",
)
CHILD = """
import re, sys, time
from kernelpoint.profiles import read_profile
def peak():
    return int(re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read()).group(1))
start, least, profile = time.process_time(), peak(), read_profile(sys.argv[1])
print(profile.size, repr(float(profile.duration.sum())), sum(profile.left_out.values()))
print(time.process_time() - start, peak(), least)
"""


@dataclass
class Truth:
    """Content of a file that a reader must return: number of launches, their nanoseconds, and number of other events."""

    launches: int = 0
    nanoseconds: float = 0.0
    left_out: int = 0


def launches(count: int) -> Iterator[tuple[int, str, int, int]]:
    """Synthetic launches: index, kernel name, duration in ns, start in ns."""
    numbers, clock = random.Random(0), 1_661_203_462_600_478_250
    for index in range(count):
        duration = numbers.randrange(900, 900_000)
        clock += duration + 500
        yield index, KERNELS[numbers.randrange(100) % len(KERNELS)], duration, clock


def write_kineto(path: Path, size: int) -> Truth:
    """Write a file as PyTorch's profiler does: for each launch a CPU operator, the CUDA call, the flow between them and the
    kernel; copies and memsets at intervals.
    """
    truth = Truth()
    with path.open("w") as file:
        file.write('{\n  "schemaVersion": 1,\n  "deviceProperties": [{"id": 0, "name": "synthetic"}],\n  "traceEvents": [\n')
        for index, name, duration, start in launches(1 << 40):
            ts, end = f"{start // 1000}.{start % 1000:03}", index * 3 + 7
            cpu = {"External id": end, "Record function id": 0, "Ev Idx": index, "Input Dims": [[64, 256, 56, 56], []]}
            about = {"External id": end, "queued": 0, "device": 0, "context": 1, "stream": 7, "correlation": end,
                     "registers per thread": 32, "shared memory": 2048, "blocks per SM": 12.5, "warps per SM": 50.0,
                     "grid": [1 + index % 999, 1, 1], "block": [128, 1, 1], "est. achieved occupancy %": 67}  # fmt: skip
            file.write(
                f'  {{"ph": "X", "cat": "cpu_op", "name": "aten::add_", "pid": 9, "tid": 9, "ts": {ts}, "dur": 12,\n'
                f'    "args": {json.dumps(cpu)}}},\n'
                f'  {{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9, "ts": {ts}, "dur": 7,\n'
                f'    "args": {{"External id": {end}, "cbid": 211, "correlation": {end}}}}},\n'
                f'  {{"ph": "s", "id": {end}, "pid": 9, "tid": 9, "ts": {ts}, "cat": "ac2g", "name": "ac2g"}},\n'
                f'  {{"ph": "X", "cat": "kernel", "name": {json.dumps(name)}, "pid": 0, "tid": 7, "ts": {ts}, '
                f'"dur": {duration / 1000:.3f},\n    "args": {json.dumps(about)}}},\n'
            )
            truth.launches += 1
            truth.nanoseconds += duration
            if index % 50 == 0:
                for kind, what in (
                    ("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)"),
                    ("gpu_memset", "Memset (Device)"),
                ):
                    file.write(f'  {{"ph": "X", "cat": "{kind}", "name": "{what}", "ts": {ts}, "dur": 1.1, "args": {{}}}},\n')
                    truth.left_out += 1
            if index % 1000 == 0 and file.tell() >= size:
                break
        file.write('  {"ph": "M", "name": "process_name", "pid": 0, "args": {"name": "python"}}\n  ]\n}\n')
    return truth


def write_sqlite(path: Path, count: int) -> Truth:
    """Write a database with the tables of `nsys export --type sqlite`. Durations are in ns."""
    path.unlink(missing_ok=True)
    truth = Truth(left_out=2 * (count // 100))
    connection = sqlite3.connect(path)
    columns = ("start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid", "demangledName", "shortName",
               "mangledName", "registersPerThread", "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ",
               "staticSharedMemory", "dynamicSharedMemory", "localMemoryTotal")  # fmt: skip
    connection.execute(f"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL ({', '.join(f'{c} INTEGER' for c in columns)})")
    connection.execute("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)")
    connection.executemany("INSERT INTO StringIds VALUES (?, ?)", enumerate(KERNELS))
    for kind in ("MEMCPY", "MEMSET"):
        connection.execute(f"CREATE TABLE CUPTI_ACTIVITY_KIND_{kind} (start INTEGER, end INTEGER)")
        rows = ((n, n + 1) for n in range(count // 100))
        connection.executemany(f"INSERT INTO CUPTI_ACTIVITY_KIND_{kind} VALUES (?, ?)", rows)

    def rows() -> Iterator[tuple[int, ...]]:
        for index, name, duration, start in launches(count):
            truth.launches += 1
            truth.nanoseconds += duration
            kernel = KERNELS.index(name)
            yield (start, start + duration, 0, 1, 7, index, 42, kernel, kernel, kernel, 32, 1 + index % 999, 1, 1, 128, 1, 1,
                   1024, 0, 0)  # fmt: skip

    connection.executemany(f"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ({', '.join('?' * len(columns))})", rows())
    connection.commit()
    connection.close()
    return truth


def write_gpu_trace(path: Path, count: int) -> Truth:
    """Write a table as `nsys stats --report cuda_gpu_trace --format csv` does. Durations are in ns; a copy follows every
    hundredth kernel.
    """
    truth = Truth()
    with path.open("w") as file:
        file.write("Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (MB),DymSMem (MB),Bytes (MB),"
                   "Throughput (MBps),SrcMemKd,DstMemKd,Device,Ctx,Strm,Name\n")  # fmt: skip
        for index, name, duration, start in launches(count):
            file.write(f'{start},{duration},{index},{1 + index % 999},1,1,128,1,1,32,0.001,0.000,,,,,NVIDIA (0),1,7,"{name}"\n')
            truth.launches += 1
            truth.nanoseconds += duration
            if index % 100 == 0:
                file.write(f"{start},999,{index},,,,,,,,,,0.262,11000.5,Pageable,Device,NVIDIA (0),1,7,[CUDA memcpy HtoD]\n")
                truth.left_out += 1
    return truth


def write_ncu(path: Path, count: int) -> Truth:
    """Write a table as `ncu --csv --page raw` does: the twelve metrics that Principal Kernel Analysis uses among sixty.
    Durations are in us.
    """
    from kernelpoint.policies.methods.pka import COUNTERS

    metrics = ["gpu__time_duration.sum", *COUNTERS, *(f"sm__synthetic_metric_{n}.sum" for n in range(47))]
    units = ["usecond", *("sector" if "sectors" in m else "inst" for m in COUNTERS[:-2]), "", "", *["Kinst"] * 47]
    about = ["ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size", "Grid Size",
             "Device", "CC"]  # fmt: skip
    truth = Truth()
    with path.open("w") as file:
        file.write("==PROF== Connected to process 1\n")
        file.write(",".join(f'"{name}"' for name in about + metrics) + "\n")
        file.write(",".join(f'"{unit}"' for unit in [""] * len(about) + units) + "\n")
        for index, name, duration, _ in launches(count):
            values = [f"{duration / 1000:,.3f}", *(f"{index % 977 * (n + 1):,}" for n in range(len(metrics) - 1))]
            fields = [index, "1", "python", "host", name, "1", "7", "(128, 1, 1)", "(64, 1, 1)", "0", "7.0", *values]
            file.write(",".join(f'"{field}"' for field in fields) + "\n")
            truth.launches += 1
            truth.nanoseconds += duration
    return truth


def read(path: Path, truth: Truth) -> tuple[float, float, float]:
    """Read a profile and check that it equals `truth`. Returns CPU seconds, and KiB of memory of the process at the peak and
    before the read.
    """
    done = subprocess.run([sys.executable, "-c", CHILD, str(path)], capture_output=True, text=True, check=True)
    sums, cost = (line.split() for line in done.stdout.strip().splitlines()[-2:])
    wrong = abs(float(sums[1]) - truth.nanoseconds) > 1e-9 * truth.nanoseconds
    if int(sums[0]) != truth.launches or int(sums[2]) != truth.left_out or wrong:
        raise SystemExit(f"{path}: read {sums}, the file has {truth}")
    seconds, peak, least = map(float, cost)
    return seconds, peak, least


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--gigabytes", type=float, default=1.05, help="size of the Kineto file")
    parser.add_argument("--kernels", type=int, default=1_000_000, help="kernels of the Nsight Systems files")
    parser.add_argument("--rows", type=int, default=100_000, help="rows of the Nsight Compute file")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    files: dict[str, tuple[Callable[[Path, int], Truth], int]] = {
        "PyTorch profiler JSON": (write_kineto, round(options.gigabytes * 1e9)),
        "Nsight Systems SQLite": (write_sqlite, options.kernels),
        "Nsight Systems CSV": (write_gpu_trace, options.kernels),
        "Nsight Compute raw CSV": (write_ncu, options.rows),
    }
    print("| Format | File | Launches | CPU | Rate | Peak | Bytes a launch |\n|---|---|---|---|---|---|---|")
    for title, (write, size) in files.items():
        path = options.folder / title.replace(" ", "-")
        truth = write(path, size)
        seconds, peak, least = read(path, truth)
        megabytes = path.stat().st_size / 1e6
        print(
            f"| {title} | {megabytes:,.0f} MB | {truth.launches:,} | {seconds:.1f} s | {megabytes / seconds:.0f} MB/s | "
            f"{peak / 1024:,.0f} MiB | {1024 * (peak - least) / truth.launches:.0f} |",
            flush=True,
        )
        path.unlink()


if __name__ == "__main__":
    main()

"""Speed of reading traces and scanning workloads, beside other ways to do it measured in the same run.

python lab/benchmarks/traces.py FOLDER_OR_LIST [--megabytes 200]
"""

from __future__ import annotations

import argparse
import lzma
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from kernelpoint.traces import launch_paths
from kernelpoint_lab.synth.tracez import TracezWriter

ROOT = Path(__file__).parents[2]
REPEATS = 3
SCAN = """
import resource, sys, time
from kernelpoint.traces import TraceCache, launch_paths, scan_launches
start, before = time.perf_counter(), time.process_time()
table = scan_launches(launch_paths(sys.argv[1]), TraceCache(sys.argv[2]), threads=int(sys.argv[3]))
print(time.perf_counter() - start, time.process_time() - before, len(table), len(table.streams), len(table.errors))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def compile_reader(folder: Path) -> Path:
    """The C++ program with all ways to read, built as the extension is."""
    program = folder / "trace_speed"
    sources = [
        ROOT / "lab" / "benchmarks" / "trace_speed.cc",
        *sorted((ROOT / "plugin" / "native" / "trace").rglob("*.cc")),
    ]
    command = [
        os.environ.get("CXX", "c++"),
        "-std=c++17",
        "-O3",
        "-I",
        ROOT / "plugin",
        "-I",
        ROOT / "plugin" / "include",
        *sources,
    ]
    subprocess.run([*command, "-ldl", "-pthread", "-o", program], check=True)
    return program


def seconds(program: Path, mode: str, paths: list[str]) -> tuple[float, str]:
    """Least processor time of some runs, and what was counted."""
    runs = [subprocess.run([program, mode, *paths], check=True, capture_output=True, text=True) for _ in range(REPEATS)]
    rows = [run.stdout.split() for run in runs]
    return min(float(row[0]) for row in rows), rows[0][1]


def choose(paths: list[str], megabytes: int) -> tuple[list[str], float]:
    """Launches spread over the workload, about so many megabytes of them, that can be read."""
    usable = [path for path in dict.fromkeys(paths) if path.endswith(".traceg")]
    step = max(1, int(sum(os.path.getsize(p) for p in usable) / (megabytes * 1e6)))
    chosen = usable[: len(usable) - len(usable) % step : step]
    return chosen, sum(os.path.getsize(p) for p in chosen) / 1e6


def compress(paths: list[str], folder: Path) -> dict[str, list[str]]:
    """The launches as .xz and, where zstandard is installed, .zst."""
    packers = {"xz": lambda data: lzma.compress(data, preset=1)}
    try:
        import zstandard

        packers["zst"] = zstandard.ZstdCompressor(level=3).compress
    except ImportError:
        pass
    packed: dict[str, list[str]] = {form: [] for form in packers}
    for number, path in enumerate(paths):
        data = Path(path).read_bytes()
        for form, pack in packers.items():
            file = folder / f"kernel-{number}.traceg.{form}"
            file.write_bytes(pack(data))
            packed[form].append(str(file))
    return packed


def pack_tracez(paths: list[str], folder: Path) -> list[str]:
    """The launches as .tracez; their lines stay as they are, whatever their tracer's version."""
    packed = []
    for number, path in enumerate(paths):
        header, *ctas = Path(path).read_text().split("#BEGIN_TB")
        lines = [line for line in "".join(ctas[:8]).splitlines() if line[:1].isdigit()]
        packed.append(str(folder / f"kernel-{number}.tracez"))
        with TracezWriter(Path(packed[-1]), header, lines) as writer:
            for cta in ctas:
                place, *warps = cta.split("warp = ")
                x, y, z = map(int, place.split("thread block = ")[1].split("\n")[0].split(","))
                bodies = ["\n".join(line for line in w.splitlines()[2:] if line[:1].isalnum()) for w in warps]
                writer.add_cta((x, y, z), bodies)
    return packed


def as_version_6(paths: list[str], folder: Path) -> list[str]:
    """The launches with lines as tracer version 6 writes them."""
    written = []
    for number, path in enumerate(paths):
        text = re.sub(r"(?m)^([0-9a-f]{4,} [0-9a-f]{8} .*?) *$", r"\1 0 0 NoVal", Path(path).read_text())
        written.append(str(folder / f"kernel-{number}-v6.traceg"))
        Path(written[-1]).write_text(re.sub("tracer version = [345]", "tracer version = 6", text))
    return written


def reading(console: Console, paths: list[str], megabytes: int) -> None:
    """The table of ways to read."""
    chosen, size = choose(paths, megabytes)
    table = Table(title=f"Reading {len(chosen)} launches, {size:.0f} MB of text, one core, least of {REPEATS}")
    for column in ("way", "MB/s", "against naive", "warp instructions"):
        table.add_column(column, justify="left" if column == "way" else "right")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = compile_reader(folder)
        ways = [("naive: ifstream, istringstream, all addresses", "naive", chosen)]
        ways += [("ours: all addresses", "read", chosen), ("ours: all addresses, stream hash, work", "scan", chosen)]
        ways += [("reading the bytes only", "blocks", chosen)]
        for form, packed in compress(chosen, folder).items():
            ways += [
                (f".{form}: decompressing only", "blocks", packed),
                (f".{form}: ours, hash and work", "scan", packed),
            ]
        packed = pack_tracez(chosen, folder)
        ways += [(".tracez: decompressing only", "frames", packed), (".tracez: ours, hash and work", "scan", packed)]
        ways += [(".tracez: instructions from the index", "index", packed)]
        sixth = as_version_6(chosen, folder)
        ways += [("version 6 as text: ours, all addresses", "read", sixth), ("the same, hash and work", "scan", sixth)]
        naive = None
        for title, mode, files in ways:
            spent, counted = seconds(program, mode, files)
            naive = naive or spent
            text = sum(map(os.path.getsize, sixth)) / 1e6 if files is sixth else size
            table.add_row(
                title,
                f"{text / max(spent, 1e-6):,.0f}",
                f"{naive / max(spent, 1e-6):.1f}x",
                f"{int(counted):,}" if int(counted) else "",
            )
    console.print(table)


def scanning(console: Console, workload: str, paths: list[str]) -> None:
    """The table of whole scans, without and with the cache."""
    threads = len(os.sched_getaffinity(0))
    size = sum(os.path.getsize(path) for path in dict.fromkeys(paths)) / 1e6
    table = Table(title=f"Scanning all {len(paths)} launches, {size:,.0f} MB, {threads} threads")
    for column in ("scan", "seconds", "processor seconds", "peak MiB", "streams", "broken"):
        table.add_column(column, justify="left" if column == "scan" else "right")
    with tempfile.TemporaryDirectory() as cache:
        for title in ("cold cache", "warm cache"):
            run = subprocess.run(
                [sys.executable, "-c", SCAN, workload, cache, str(threads)], check=True, capture_output=True, text=True
            )
            wall, processor, _, streams, broken, peak = run.stdout.split()
            table.add_row(title, f"{float(wall):.2f}", f"{float(processor):.2f}", f"{float(peak):.0f}", streams, broken)
    console.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workload", help="kernelslist.g or a folder of traces")
    parser.add_argument("--megabytes", type=int, default=200, help="how much text the ways to read are given")
    arguments = parser.parse_args()
    paths = launch_paths(arguments.workload)
    console = Console()
    reading(console, paths, arguments.megabytes)
    scanning(console, arguments.workload, paths)


if __name__ == "__main__":
    main()

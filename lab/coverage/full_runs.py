"""Full runs of the embedded host, recorded once: real traces and synthesised workloads on both packaged GPUs.

They lie in the folder KERNELPOINT_COVERAGE_RUNS (default: `coverage` in the cache). What is missing is made: archives are
unpacked, workloads synthesised, and every launch is simulated with policy `all`; its journal is the record.
"""

from __future__ import annotations

import os
import tarfile
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import zstandard

import kernelpoint as kp
from kernelpoint.encoder import embed_streams
from kernelpoint.profiles import read_profile
from kernelpoint.program import Program
from kernelpoint.traces import cache_folder, launch_paths, scan_launches
from kernelpoint_lab.commands.synth import synth

SHARED_DATA = Path(os.environ.get("KERNELPOINT_SHARED_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))
REAL = {  # archive of each
    "simpletorch3": "simpletorch3",
    "simpletorch": "simpletorch",
    "simpleopacus": "simpleopacus",
    "bfs": "rodinia_bfs",
}
# A trace that is cut short, and a list that names traces which the archive does not hold
LEFT_OUT = {"simpleopacus": ("kernel-28509.traceg", "kernelslist.g")}
SYNTHESISED = ("transformer-decode", "cnn-inference", "iterative-solver", "graph-traversal")
LAUNCHES = 3000  # of a synthesised workload
GPUS = ("v100", "rtx")
FOLDER = Path(os.environ.get("KERNELPOINT_COVERAGE_RUNS", cache_folder() / "coverage"))  # of traces and journals
RUNS = tuple(f"{workload} {gpu}" for workload in (*REAL, *SYNTHESISED) for gpu in GPUS)


@lru_cache(maxsize=16)
def trace_folder(workload: str) -> Path:
    """The folder with the traces of a workload, unpacked or synthesised if need be.

    Raises:
        FileNotFoundError: the archive of a real workload is not there.
    """
    folder = FOLDER / workload
    if not folder.exists() and workload in SYNTHESISED:
        synth(workload, folder, launches=LAUNCHES)
    elif not folder.exists():
        _unpack(REAL[workload], folder)
    return next(folder.rglob("kernel-1.traceg*")).parent


def _unpack(archive: str, folder: Path) -> None:
    with (SHARED_DATA / "accelsim_traces" / f"{archive}.tar.zst").open("rb") as file:
        stream = zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(file)
        with tarfile.open(fileobj=stream, mode="r|") as members:
            members.extractall(folder, filter="data")
    for name in LEFT_OUT.get(archive, ()):
        for left_out in folder.rglob(name):
            left_out.unlink()


def known_from_traces(paths: Sequence[str]) -> Program:
    """Launches as the shipped path knows them: traces scanned, every distinct stream embedded."""
    scan = scan_launches(paths)
    return replace(scan, embeddings=embed_streams(scan.read))


def list_of(workload: str) -> str:
    """The trace list of a workload, or its folder where it has none."""
    folder = trace_folder(workload)
    listed = folder / "kernelslist.g"
    return str(listed if listed.exists() else folder)


@lru_cache(maxsize=32)
def _known(workload: str) -> Program:
    return known_from_traces(launch_paths(list_of(workload)))


@lru_cache(maxsize=32)
def full_run(name: str) -> tuple[Program, dict[str, np.ndarray]]:
    """Inputs of the launches, and the counters of each (float64 [N] by name)."""
    workload, gpu = name.split()
    folder = FOLDER / f"{workload}-{gpu}"
    journal = folder / "run.kpjournal"
    if not journal.exists():
        folder.mkdir(parents=True, exist_ok=True)
        unfinished = folder / "unfinished.kpjournal"
        kp.simulate(list_of(workload), unfinished, gpu, "all")
        unfinished.rename(journal)
    return _known(workload), dict(read_profile(str(journal)).counters)

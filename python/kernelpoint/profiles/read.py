"""One door for every format: what a file is, is seen in its first bytes."""

from __future__ import annotations

import gzip
import io
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, TextIO

from kernelpoint.errors import ProfileError
from kernelpoint.profiles.journal import read_journal
from kernelpoint.profiles.kineto import read_kineto
from kernelpoint.profiles.nsight_compute import read_raw_page
from kernelpoint.profiles.nsight_systems import read_gpu_trace, read_sqlite
from kernelpoint.profiles.profile import Profile
from kernelpoint.profiles.simulators import read_accel_sim, read_macsim
from kernelpoint.profiles.tables import read_results, read_uniform

Reader = Callable[[TextIO, str, "int | None"], Profile]
PEEK = 1 << 16


def read_profile(path: str | Path, device: int | None = None) -> Profile:
    """Read what a profiler or a full simulation says of every kernel launch.

    Formats, told by content, plain or compressed with gzip or xz: the uniform CSV; `nsys stats --report cuda_gpu_trace
    --format csv`; the SQLite export of Nsight Systems; `ncu --csv --page raw`; PyTorch profiler JSON; results CSV of the
    embedded host; printed output of Accel-Sim or MacSim; a journal of ours.

    Args:
        path: the file.
        device: which GPU, where the file has launches of several.

    Raises:
        ProfileError: the file is missing, of no known format, or damaged; the message says where.
    """
    path = Path(path)
    try:
        with _open(path) as raw:
            start = raw.peek(PEEK) if isinstance(raw, io.BufferedReader) else raw.read(PEEK)
        if start.startswith(b"SQLite format 3\x00"):
            return read_sqlite(path, device)
        reader = _reader(start.decode("utf-8", errors="replace"), path)
        with _open(path) as raw, io.TextIOWrapper(raw, encoding="utf-8", errors="replace", newline="") as file:
            return reader(file, str(path), device)
    except (OSError, EOFError, lzma.LZMAError) as error:
        raise ProfileError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _open(path: Path) -> BinaryIO:
    with path.open("rb") as file:
        magic = file.read(6)
    if magic.startswith(b"\x1f\x8b"):
        return gzip.open(path, "rb")  # type: ignore[return-value]
    if magic.startswith(b"\xfd7zXZ"):
        return lzma.open(path, "rb")  # type: ignore[return-value]
    return path.open("rb")


def _reader(start: str, path: Path) -> Reader:
    text = start.lstrip("\ufeff \r\n\t")
    first = text.partition("\n")[0]
    columns = {c.strip(' "\r') for c in first.split(",")}
    if text.startswith('{"type":"run"'):
        return read_journal
    if text.startswith(("{", "[")):
        return read_kineto
    if {"name", "grid", "block", "dur_us"} <= columns:
        return read_uniform
    if {"launch_index", "cycles"} <= columns:
        return read_results
    if '"ID","Process ID"' in text and '"Kernel Name"' in text:
        return read_raw_page
    if "CorrId" in text and "GrdX" in text:
        return read_gpu_trace
    if "Accel-Sim" in text or "GPGPU-Sim" in text:
        return read_accel_sim
    if "setup_process" in text or "src/macsim.cc" in text:
        return read_macsim
    raise ProfileError(
        f"{path}: no known profile (it begins {first[:60]!r}); allowed: uniform CSV, nsys cuda_gpu_trace CSV or SQLite "
        "export, ncu --csv --page raw, PyTorch profiler JSON, results CSV, output of Accel-Sim or MacSim, journal"
    )

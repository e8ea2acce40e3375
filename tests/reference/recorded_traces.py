"""Recorded traces and profiles, where $KERNELPOINT_SHARED_DATA, or the folder shared/data beside this checkout, holds them."""

import csv
import gzip
import os
import tarfile
from pathlib import Path

import pytest

DATA = Path(os.environ.get("KERNELPOINT_SHARED_DATA", Path(__file__).parents[3] / "shared" / "data"))
ACCELSIM = "accelsim_traces"


def shared(name: str) -> Path:
    """A file of the shared data; skips the test where it is absent."""
    if not (DATA / name).exists():
        pytest.skip(f"{name} is absent: set KERNELPOINT_SHARED_DATA to the folder of recorded traces and profiles")
    return DATA / name


def unpacked(name: str, folder: Path, without: str = "/nothing") -> Path:
    """The folder into which an archive `name`.tar.zst is unpacked, without the files whose path contains `without`."""
    import zstandard

    with shared(f"{name}.tar.zst").open("rb") as file:
        stream = zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(file)
        with tarfile.open(fileobj=stream, mode="r|") as archive:
            wanted = (member for member in archive if without not in member.name)
            archive.extraction_filter = getattr(tarfile, "data_filter", None)  # Python 3.11.3 and older have none
            archive.extractall(folder, members=wanted)
    return folder


def index_of(name: str) -> dict[str, dict[str, str]]:
    """The index of recorded traces of Accel-Sim, by file; it was made by other means than KernelPoint's."""
    with gzip.open(shared(f"{ACCELSIM}/{name}.index.csv.gz"), "rt", newline="") as file:
        return {row["file"]: row for row in csv.DictReader(file)}

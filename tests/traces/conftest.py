import csv
import gzip
import os
import tarfile
from pathlib import Path

import pytest

DATA = Path(os.environ.get("KERNELPOINT_SHARED_DATA", Path(__file__).parents[3] / "shared" / "data"))


@pytest.fixture(scope="session")
def real_traces(tmp_path_factory):
    """Folder with recorded traces and the rows of their index, by name; unpacked once."""
    folders = {}

    def unpack(name):
        if name not in folders:
            archive = DATA / "accelsim_traces" / f"{name}.tar.zst"
            if not archive.exists():
                pytest.skip(
                    f"recorded traces are absent ({name}): set KERNELPOINT_SHARED_DATA to the folder with their archives"
                )
            zstandard = pytest.importorskip("zstandard", reason="zstandard is needed to unpack the recorded traces")
            folder = tmp_path_factory.mktemp(name)
            with archive.open("rb") as file:
                stream = zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(file)
                with tarfile.open(fileobj=stream, mode="r|") as members:
                    members.extractall(folder, filter="data")
            folders[name] = next(folder.rglob("kernel-1.traceg")).parent
        return folders[name]

    return unpack


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("KERNELPOINT_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="session")
def real_index():
    """The rows of the index of recorded traces, by file."""

    def read(name):
        path = DATA / "accelsim_traces" / f"{name}.index.csv.gz"
        if not path.exists():
            pytest.skip(f"no index of recorded traces ({path.name})")
        with gzip.open(path, "rt", newline="") as file:
            return {row["file"]: row for row in csv.DictReader(file)}

    return read

import os
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("KERNELPOINT_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="session")
def vectormultadd(tmp_path_factory):
    """Folder with the traces of MacSim's own example, by size; unpacked once."""
    import tarfile

    data = Path(os.environ.get("KERNELPOINT_SHARED_DATA", Path(__file__).parents[3] / "shared" / "data"))
    archive = data / "macsim_traces" / "vectormultadd.tar.zst"
    if not archive.exists():
        pytest.skip("recorded MacSim traces are absent: set KERNELPOINT_SHARED_DATA to the folder with their archives")
    zstandard = pytest.importorskip("zstandard", reason="zstandard is needed to unpack the recorded traces")
    folder = tmp_path_factory.mktemp("vectormultadd")
    with archive.open("rb") as file:
        stream = zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(file)
        with tarfile.open(fileobj=stream, mode="r|") as members:
            small = (member for member in members if "/65536" not in member.name)
            members.extractall(folder, members=small, filter="data")
    return {path.parent.name: path.parent for path in folder.rglob("kernel_config.txt")}

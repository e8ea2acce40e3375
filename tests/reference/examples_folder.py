"""Folder that the examples of docstrings run in, with traces of six launches, traces/kernelslist.g, and their times.csv."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from workloads import synthesised


@pytest.fixture(scope="session")
def small_list(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six launches of a kernel, as `kernelpoint lab synth axpy --launches 6 --set n=2048` writes them."""
    return synthesised(tmp_path_factory.mktemp("small") / "traces", "axpy", 6, n=2048).parent


@pytest.fixture(autouse=True)
def folder_of_examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_list: Path) -> Iterator[None]:
    """A folder, a cache and a place for temporary files of its own for each example."""
    (tmp_path / "traces").symlink_to(small_list)
    rows = (f"{launch},axpy_f32,8x1x1,256x1x1,5.{launch}\n" for launch in range(6))
    (tmp_path / "times.csv").write_text("idx,name,grid,block,dur_us\n" + "".join(rows))
    monkeypatch.setenv("KERNELPOINT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    yield

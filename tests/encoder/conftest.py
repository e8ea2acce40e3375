from pathlib import Path

import pytest

from kernelpoint.randomness import generator
from kernelpoint.traces import read_trace_list
from kernelpoint_lab.synth.families import FAMILIES
from kernelpoint_lab.synth.launch import Memory
from kernelpoint_lab.synth.lists import write_list

SIZES = {"axpy": {"n": 1000, "width": 4}, "copy": {"n": 500, "width": 8}, "softmax": {"rows": 8, "columns": 64}}


@pytest.fixture
def graphs():
    from small_graphs import random_graph

    return [random_graph(seed) for seed in range(12)]


@pytest.fixture(scope="session")
def traces(tmp_path_factory) -> Path:
    """A list of six launches of three streams."""
    folder = tmp_path_factory.mktemp("list")
    launches = [
        FAMILIES[name].build(Memory(), generator(0, "test"), FAMILIES[name].defaults("small") | sizes)
        for name, sizes in SIZES.items()
    ]
    write_list(launches * 2, folder, 6, {"name": "test", "seed": 0})
    return folder / "kernelslist.g"


@pytest.fixture(scope="session")
def trace_paths(traces) -> list[str]:
    return read_trace_list(str(traces)).traces

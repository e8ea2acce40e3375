"""A small workload whose full run is known."""

import numpy as np
import pytest

HEADER = "idx,name,grid,block,regs,smem,stream,ts_us,dur_us\n"


def profile_text(count=300, seed=0, scale=1.0, nccl=False):
    """A uniform CSV of three kernels whose times vary a little, and one whose times vary much."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(count):
        kind = i % 4
        mean = (5.0, 80.0, 900.0, 40.0 * (1 + i % 7))[kind]
        rows.append(f"{i},k{kind}(int),{1 + kind}x1x1,128x1x1,32,0,7,{i * 10_000},{scale * mean * rng.normal(1, 0.03):.3f}\n")
    if nccl:
        rows.append(f"{count},ncclKernel_AllReduce(x),8x1x1,512x1x1,96,0,9,{count * 10_000},5000\n")
    return HEADER + "".join(rows)


@pytest.fixture
def truth_file(tmp_path):
    path = tmp_path / "truth.csv"
    path.write_text(profile_text())
    return path

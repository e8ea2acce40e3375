"""The host on recorded traces, checked against an index of them that was made by other means."""

import csv
import gzip
import os
import tarfile
from pathlib import Path

import pytest
import zstandard

DATA = Path(os.environ.get("KERNELPOINT_SHARED_DATA", Path(__file__).parents[3] / "shared" / "data"))
ARCHIVE = DATA / "accelsim_traces" / "simpletorch3.tar.zst"
INDEX = DATA / "accelsim_traces" / "simpletorch3.index.csv.gz"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    if not ARCHIVE.is_file():
        pytest.skip(f"recorded traces are absent ({ARCHIVE.name}): set KERNELPOINT_SHARED_DATA to their folder")
    folder = tmp_path_factory.mktemp("recorded")
    with ARCHIVE.open("rb") as packed:
        reader = zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(packed)
        with tarfile.open(fileobj=reader, mode="r|") as archive:
            archive.extractall(folder, filter="data")
    (found,) = folder.rglob("kernelslist.g")
    return found


@pytest.mark.parametrize("sms", [80, 1])
def test_every_recorded_instruction_is_issued_once(bench, recorded, sms):
    bench.gpu.update(sms=sms, schedulers_per_sm=4)
    done = bench.run_list(recorded)
    assert done.code == 0, done.stderr
    with gzip.open(INDEX, "rt") as text:
        index = {row["file"]: row for row in csv.DictReader(text)}
    assert len(done.rows) == len(index) == 131
    for row in done.rows:
        expected = index[row["trace"]]
        assert row["kernel_name"] == expected["name"]
        assert row["warp_instructions"] == expected["warp_insts"]
        assert row["ctas"] == expected["tbs"]


def test_more_sms_make_no_recorded_launch_much_slower(bench, recorded):
    bench.gpu.update(schedulers_per_sm=4)
    one = bench.run_list(recorded).cycles
    bench.gpu.update(sms=80)
    many = bench.run_list(recorded).cycles
    assert sum(many) < sum(one)
    # Spread CTAs share less of L1: a launch may lose a few L2 latencies, no more.
    assert all(m < 1.25 * o for m, o in zip(many, one, strict=True))

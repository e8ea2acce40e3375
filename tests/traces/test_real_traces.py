"""Recorded traces of real programs; skipped where they are absent."""

import lzma
from collections import Counter

import numpy as np
import pytest
from fast_reader import read_fast
from recorded_traces import index_of
from slow_reader import read_slowly

from kernelpoint import _native
from kernelpoint.traces import ArtefactCache, fields_of, read_trace_list, scan_launches, scan_trace


@pytest.fixture(params=["simpletorch3", "simpletorch"])
def workload(request, real_traces, tmp_path):
    folder = real_traces(request.param)
    rows = index_of(request.param)
    paths = [str(folder / name) for name in rows]
    return list(rows.values()), scan_launches(paths, ArtefactCache(tmp_path / "own"))


def test_scans_agree_with_the_index(workload):
    rows, table = workload
    assert table.errors == {}
    for column, wanted in (("warp_insts", "instructions"), ("tbs", "ctas"), ("warps", "warps")):
        assert table.count(wanted).tolist() == [int(row[column]) for row in rows]
    assert list(table.names) == [row["name"] for row in rows]
    assert [str(tuple(grid)).replace(" ", "") for grid in table.grid.tolist()] == [row["grid"] for row in rows]
    assert table.shared_memory.tolist() == [int(row["shmem"]) for row in rows]


def test_repeated_kernels_share_streams(workload):
    rows, table = workload
    streams = len(table.first_launches)
    assert streams < len(rows) / 4
    for stream in range(streams):
        assert len({int(n) for n in table.count("instructions")[table.stream_ids == stream]}) == 1


def test_every_opcode_of_real_traces_is_known(real_traces):
    unknown = Counter()
    for path in read_trace_list(real_traces("simpletorch3")).traces:
        reader = _native.read_ctas(path)
        for _ in reader:
            pass
        unknown.update(text for text in reader.opcodes if _native.classify_opcode(text)["unit"] == "other")
    assert not unknown


def test_a_real_trace_reads_back_as_a_plain_reader_reads_it(real_traces):
    for number in (1, 10, 100):
        path = real_traces("simpletorch3") / f"kernel-{number}.traceg"
        assert read_fast(str(path)) == read_slowly(path.read_text())[1]


def test_an_irregular_program_touches_more_sectors_than_a_regular_one(real_traces):
    irregular = [scan_trace(path).work for path in read_trace_list(real_traces("rodinia_bfs")).traces]
    assert len(irregular) == 16
    accesses = np.array([work.global_accesses for work in irregular])
    assert (np.array([work.sectors for work in irregular])[accesses > 0] >= accesses[accesses > 0]).all()
    assert sum(work.sectors for work in irregular) > 2 * accesses.sum()


def test_a_compressed_real_trace_scans_like_the_plain_one(real_traces, tmp_path):
    plain = real_traces("simpletorch3") / "kernel-1.traceg"
    packed = tmp_path / "kernel-1.traceg.xz"
    packed.write_bytes(lzma.compress(plain.read_bytes()))
    assert fields_of(scan_trace(packed)) == fields_of(scan_trace(plain))

"""Bulk copies (TMA) and asynchronous copies leave in caches what loads and stores of the same bytes leave, in times of the same
order. What is only modelled is said in docs/formats.md.
"""

import pytest
from trace_writer import cta, small_trace

from kernelpoint import _native

BASE, LINES = 0x7E1000000000, 64  # 64 lines of 128 bytes: a tile of 8 KiB
UNKNOWN = (0, 0, 0, 0, 0)
EXIT = "0ff0 ffffffff 0 EXIT 0 0 0 NoVal"
SECTORS = LINES * 4


def bulk(opcode):
    """One elected lane copies the tile: base and deltas, mbarrier and bytes stated."""
    deltas = " ".join(["128"] * (LINES - 1))
    return [f"0000 00000001 0 {opcode} 2 R2 R4 128 7f00 0 {128 * LINES} 0 4 0x{BASE:x} {LINES} {deltas} 0 NoVal"]


def lanes(opcode, registers):
    """A warp copies line after line; none waits for another."""
    return [
        f"{16 * i:04x} ffffffff {registers.format(opcode=opcode, i=i + 8)} 4 1 0x{BASE + 128 * i:x} 4 0 NoVal"
        for i in range(LINES)
    ]


WAYS = {
    "UTMALDG": bulk("UTMALDG.2D"),
    "UBLKCP": bulk("UBLKCP.S.G"),
    "LDGSTS": lanes("LDGSTS.E", "0 {opcode} 2 R3 R2"),
    "LDG": lanes("LDG.E", "1 R{i} {opcode} 1 R2"),
    "UTMASTG": bulk("UTMASTG.2D"),
    "STG": lanes("STG.E", "0 {opcode} 2 R2 R1"),
}


def launch(way):
    return small_trace(cta([*WAYS[way], EXIT]), block="(32,1,1)", version=6)


def footprint(tmp_path, way):
    path = tmp_path / f"{way}.traceg"
    path.write_text(launch(way))
    return sorted(map(tuple, _native.footprint(str(path), UNKNOWN)[0].tolist()))


@pytest.mark.parametrize(("way", "like"), [("UTMALDG", "LDG"), ("UBLKCP", "LDG"), ("LDGSTS", "LDG"), ("UTMASTG", "STG")])
def test_replay_sees_the_bytes_of_a_copy(tmp_path, way, like):
    assert footprint(tmp_path, way) == footprint(tmp_path, like) != []


@pytest.mark.parametrize("way", ["UTMALDG", "UBLKCP", "LDGSTS", "LDG"])
def test_a_copy_brings_its_tile_into_l2_once(bench, way):
    run = bench.run(launch(way), launch("LDG"))
    assert run.code == 0, run.stderr
    assert run.counter("dram_reads") == [SECTORS, 0], "the second launch finds what the first has read"
    assert run.counter("l2_misses")[1] == 0 < run.counter("l2_misses")[0]


def test_a_store_of_a_tile_is_written_as_one_by_lanes(bench):
    runs = [bench.run(launch(way), launch("LDG")) for way in ("UTMASTG", "STG")]
    for name in ("dram_reads", "dram_writes", "l2_misses"):
        assert runs[0].counter(name) == runs[1].counter(name)


@pytest.mark.parametrize("way", ["UTMALDG", "UBLKCP", "LDGSTS"])
def test_a_copy_takes_a_time_of_the_order_of_loads(bench, way):
    bench.gpu["launch_latency"] = 0
    copied, loaded = (bench.run(launch(name)).cycles[0] for name in (way, "LDG"))
    assert loaded / 10 < copied < 10 * loaded

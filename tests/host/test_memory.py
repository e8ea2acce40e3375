"""Sectors, bank conflicts, and how long an access takes in each level; latencies as in the packaged v100."""

import pytest
from bench import ffma, instruction, load, store, trace, warp

BASE = 0x10000
L1, L2, DRAM = 28, 165, 220
LINE = [BASE + 4 * lane for lane in range(32)]
ONE_WORD = [BASE] * 32


@pytest.fixture
def gpu(bench):
    bench.gpu.update(l1_latency=L1, l2_latency=L2, dram_latency=DRAM, dram_bytes_per_cycle=32)
    return bench


def reads(*accesses: list[int]) -> str:
    """A trace in which each access waits for the one before."""
    return trace([[warp([load(1, a, sources=[1]) for a in accesses])]])


def test_a_cold_load_goes_to_dram(gpu):
    # One 32-byte sector takes one cycle of a channel that moves 32 bytes a cycle.
    assert gpu.cycles(reads(ONE_WORD)) == L1 + L2 + DRAM + 1


def test_a_second_load_of_a_sector_hits_in_l1(gpu):
    assert gpu.cycles(reads(ONE_WORD, ONE_WORD)) == L1 + L2 + DRAM + 1 + L1


def test_a_load_of_a_sector_on_its_way_waits_for_it(gpu):
    together = trace([[warp([load(1, ONE_WORD), load(2, ONE_WORD)])]])
    assert gpu.cycles(together) == L1 + L2 + DRAM + 1


def test_another_sector_of_a_present_line_is_a_miss(gpu):
    done = gpu.run(reads(ONE_WORD, [BASE + 32] * 32))
    assert done.counter("l1_misses") == [2]
    assert done.counter("dram_reads") == [2]


def test_l2_keeps_its_lines_between_launches_and_l1_does_not_where_it_is_cleared(gpu):
    gpu.gpu["l1_invalidate_at_launch"] = 1
    done = gpu.run(reads(LINE), reads(LINE))
    assert done.counter("l1_misses") == [4, 4]
    assert done.counter("l2_misses") == [4, 0]
    assert gpu.cycles(reads(ONE_WORD), reads(ONE_WORD)) == L1 + L2


def test_l1_keeps_its_lines_where_the_configuration_says_so(gpu):
    gpu.gpu["l1_invalidate_at_launch"] = 0
    assert gpu.cycles(reads(ONE_WORD), reads(ONE_WORD)) == L1


def test_a_copy_from_the_host_leaves_its_lines_in_l2(gpu):
    assert gpu.cycles(f"MemcpyHtoD,0x{BASE:x},4", reads(ONE_WORD)) == L1 + L2


def test_a_copy_larger_than_l2_leaves_its_end(gpu):
    size = 8 * int(gpu.gpu["l2_size"])
    done = gpu.run(f"MemcpyHtoD,0x{BASE:x},{size}", reads(ONE_WORD), reads([BASE + size - 4] * 32))
    assert done.counter("l2_misses") == [1, 0]


def test_the_least_recently_used_line_leaves(gpu):
    gpu.gpu.update(l2_ways=2, l2_size=256, l1_invalidate_at_launch=1)
    a, b, c = ([BASE + 128 * i] * 32 for i in range(3))
    launches = [reads(line) for line in (a, b, a, c, a, b)]
    assert gpu.run(*launches).counter("l2_misses") == [1, 1, 0, 1, 0, 1]


def test_written_sectors_go_to_dram_when_their_line_leaves(gpu):
    gpu.gpu.update(l2_ways=1, l2_size=128)
    written = trace([[warp([store(LINE)])]])
    done = gpu.run(written, reads([BASE + 128] * 32))
    assert done.counter("l2_accesses") == [4, 1]
    assert done.counter("dram_reads") == [0, 1]
    assert done.counter("dram_writes") == [0, 4]


def test_a_stored_value_is_found_in_l2(gpu):
    done = gpu.run(trace([[warp([store(ONE_WORD)])]]), reads(ONE_WORD))
    assert done.counter("l2_misses") == [0, 0]
    assert done.cycles[0] - gpu.gpu["launch_latency"] == L1 + L2


def test_an_atomic_is_done_in_l2(gpu):
    atomic = instruction("RED.E.ADD", (), [1], ONE_WORD, 4)
    done = gpu.run(trace([[warp([atomic])]]), trace([[warp([atomic])]]))
    assert done.counter("l1_accesses") == [0, 0]
    assert done.counter("l2_accesses") == [1, 1]
    assert done.counter("l2_misses") == [1, 0]


@pytest.mark.parametrize(
    "addresses, sectors",
    [
        (LINE, 4),
        (ONE_WORD, 1),
        ([BASE + 16 + 4 * lane for lane in range(32)], 5),
        ([BASE + 8 * lane for lane in range(32)], 8),
        ([BASE + 32 * lane for lane in range(32)], 32),
        ([BASE + 4096 * lane for lane in range(32)], 32),
        (list(reversed(LINE)), 4),
    ],
    ids=["coalesced", "one word", "misaligned", "stride 8", "stride 32", "stride 4096", "reversed"],
)
def test_a_warp_access_counts_its_distinct_sectors(gpu, addresses, sectors):
    assert gpu.run(reads(addresses)).counter("l1_accesses") == [sectors]


def test_a_wide_access_touches_all_its_sectors(gpu):
    wide = instruction("LDG.E.128", [4], [], [BASE + 16 * lane for lane in range(32)], 16)
    assert gpu.run(trace([[warp([wide])]])).counter("l1_accesses") == [16]


def test_a_wide_load_writes_the_registers_that_follow(gpu):
    wide = instruction("LDG.E.128", [4], [], [BASE] * 32, 16)
    use = [ffma(20, 7)] + [ffma(20, 20)] * 99
    latency = gpu.gpu["single_precision_latency"]
    assert gpu.cycles(trace([[warp([wide, *use])]])) == L1 + L2 + DRAM + 1 + 100 * latency


def test_inactive_lanes_touch_nothing(gpu):
    some = instruction("LDG.E", [1], [], [BASE, BASE + 64], 4, mask=0x101)
    assert gpu.run(trace([[warp([some])]])).counter("l1_accesses") == [2]


@pytest.mark.parametrize(
    "stride, width, conflicts",
    [(4, 4, 0), (0, 4, 0), (8, 4, 1), (128, 4, 31), (132, 4, 0), (8, 8, 0), (16, 16, 0), (16, 8, 2)],
)
def test_shared_memory_lanes_that_want_other_words_of_a_bank_take_turns(gpu, stride, width, conflicts):
    opcode = {4: "LDS", 8: "LDS.64", 16: "LDS.128"}[width]
    access = instruction(opcode, [4], [], [stride * lane for lane in range(32)], width)
    done = gpu.run(trace([[warp([access])]]))
    passes = width // 4 + conflicts
    assert done.counter("shared_bank_conflicts") == [conflicts]
    assert done.cycles[0] - gpu.gpu["launch_latency"] == gpu.gpu["shared_latency"] + passes - 1


def test_a_generic_access_may_be_one_of_shared_memory(gpu):
    generic = instruction("LD.E", [4], [], [0x7F0000000000 + 4 * lane for lane in range(32)], 4)
    done = gpu.run(trace([[warp([generic])]]))
    assert done.counter("shared_accesses") == [1]
    assert done.counter("l1_accesses") == [0]


def test_local_memory_of_the_lanes_lies_side_by_side(gpu):
    local = instruction("LDL", [4], [], [0x7E0000000010] * 32, 4)
    done = gpu.run(trace([[warp([local])] * 2]))
    assert done.counter("l1_accesses") == [8]
    assert done.counter("l2_accesses") == [8]  # each warp has its own


def test_dram_bandwidth_bounds_a_stream_of_loads(gpu):
    gpu.gpu.update(dram_channels=1, dram_bytes_per_cycle=8)
    lines = [[BASE + 128 * i + 4 * lane for lane in range(32)] for i in range(200)]
    cycles = gpu.cycles(trace([[warp([load(1 + i, a) for i, a in enumerate(lines)])]]))
    transfer = 200 * 128 // 8
    assert transfer <= cycles <= transfer + L1 + L2 + DRAM + 50


def test_the_load_store_unit_takes_a_line_a_cycle(gpu):
    gpu.gpu.update(memory_interval=1)
    scattered = [BASE + 128 * lane for lane in range(32)]
    warm = [f"MemcpyHtoD,0x{BASE:x},{128 * 32}"]
    once, twice = (trace([[warp([load(1 + i, scattered) for i in range(n)])]]) for n in (1, 2))
    gpu.gpu["l1_miss_interval"] = 0
    assert gpu.cycles(*warm, once) == 31 + L1 + L2
    assert gpu.cycles(*warm, twice) == max(31 + L1 + L2, 32 + 31 + L1)

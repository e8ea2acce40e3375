"""Sectors, bank conflicts, and how long an access takes in each level; latencies as in the packaged v100."""

import pytest
from bench import ALL, ffma, instruction, load, store, trace, warp

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


def access(opcode: str, addresses: list[int], width: int = 4, registers: tuple[int, ...] = (4,), mask: int = ALL) -> str:
    """A trace of one access."""
    return trace([[warp([instruction(opcode, registers, [] if registers else [1], addresses, width, mask)])]])


MISS = L1 + L2 + DRAM + 1  # one 32-byte sector takes one cycle of a channel that moves 32 bytes a cycle
# Situation -> keys of the GPU that differ, commands, cycles of the last launch
CYCLES = {
    "a cold load goes to DRAM": ({}, [reads(ONE_WORD)], MISS),
    "a second load of a sector hits in L1": ({}, [reads(ONE_WORD, ONE_WORD)], MISS + L1),
    "a load of a sector on its way waits for it": ({}, [trace([[warp([load(1, ONE_WORD), load(2, ONE_WORD)])]])], MISS),
    "L1 is cleared where the configuration says so": ({"l1_invalidate_at_launch": 1}, 2 * [reads(ONE_WORD)], L1 + L2),
    "L1 keeps its lines where the configuration says so": ({"l1_invalidate_at_launch": 0}, 2 * [reads(ONE_WORD)], L1),
    "a copy from the host leaves its lines in L2": ({}, [f"MemcpyHtoD,0x{BASE:x},4", reads(ONE_WORD)], L1 + L2),
}
SECTORS = {
    "coalesced": (LINE, 4),
    "of one word": (ONE_WORD, 1),
    "misaligned": ([BASE + 16 + 4 * lane for lane in range(32)], 5),
    "with stride 8": ([BASE + 8 * lane for lane in range(32)], 8),
    "with stride 32": ([BASE + 32 * lane for lane in range(32)], 32),
    "with stride 4096": ([BASE + 4096 * lane for lane in range(32)], 32),
    "reversed": (list(reversed(LINE)), 4),
}
# Situation -> keys of the GPU that differ, commands, counters of each launch
COUNTERS = {
    **{
        f"an access {how} counts its distinct sectors": ({}, [reads(addresses)], {"l1_accesses": [sectors]})
        for how, (addresses, sectors) in SECTORS.items()
    },
    "another sector of a present line is a miss": (
        {}, [reads(ONE_WORD, [BASE + 32] * 32)], {"l1_misses": [2], "dram_reads": [2]}
    ),
    "L2 keeps its lines between launches": (
        {"l1_invalidate_at_launch": 1}, 2 * [reads(LINE)], {"l1_misses": [4, 4], "l2_misses": [4, 0]}
    ),
    "the least recently used line leaves": (
        {"l2_ways": 2, "l2_size": 256, "l1_invalidate_at_launch": 1},
        [reads([BASE + 128 * line] * 32) for line in (0, 1, 0, 2, 0, 1)],
        {"l2_misses": [1, 1, 0, 1, 0, 1]},
    ),
    "written sectors go to DRAM when their line leaves": (
        {"l2_ways": 1, "l2_size": 128},
        [trace([[warp([store(LINE)])]]), reads([BASE + 128] * 32)],
        {"l2_accesses": [4, 1], "dram_reads": [0, 1], "dram_writes": [0, 4]},
    ),
    "an atomic is done in L2": (
        {},
        2 * [access("RED.E.ADD", ONE_WORD, registers=())],
        {"l1_accesses": [0, 0], "l2_accesses": [1, 1], "l2_misses": [1, 0]}
    ),
    "a wide access touches all its sectors": (
        {}, [access("LDG.E.128", [BASE + 16 * lane for lane in range(32)], 16)], {"l1_accesses": [16]}
    ),
    "inactive lanes touch nothing": ({}, [access("LDG.E", [BASE, BASE + 64], mask=0x101)], {"l1_accesses": [2]}),
    "a generic access may be one of shared memory": (
        {}, [access("LD.E", [0x7F0000000000 + 4 * lane for lane in range(32)])], {"shared_accesses": [1], "l1_accesses": [0]}
    ),
    "local memory of the lanes lies side by side, each warp's by itself": (
        {},
        [trace([[warp([instruction("LDL", [4], [], [0x7E0000000010] * 32, 4)])] * 2])],
        {"l1_accesses": [8], "l2_accesses": [8]},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CYCLES)
def test_an_access_takes_the_time_of_the_level_that_has_its_data(gpu, name):
    keys, commands, cycles = CYCLES[name]
    gpu.gpu.update(keys)
    assert gpu.cycles(*commands) == cycles


@pytest.mark.parametrize("name", COUNTERS)
def test_accesses_and_misses_are_counted_in_sectors(gpu, name):
    keys, commands, counters = COUNTERS[name]
    gpu.gpu.update(keys)
    done = gpu.run(*commands)
    assert {counter: done.counter(counter) for counter in counters} == counters


def test_a_copy_larger_than_l2_leaves_its_end(gpu):
    size = 8 * int(gpu.gpu["l2_size"])
    done = gpu.run(f"MemcpyHtoD,0x{BASE:x},{size}", reads(ONE_WORD), reads([BASE + size - 4] * 32))
    assert done.counter("l2_misses") == [1, 0]


def test_a_stored_value_is_found_in_l2(gpu):
    done = gpu.run(trace([[warp([store(ONE_WORD)])]]), reads(ONE_WORD))
    assert done.counter("l2_misses") == [0, 0]
    assert done.cycles[0] - gpu.gpu["launch_latency"] == L1 + L2


def test_a_wide_load_writes_the_registers_that_follow(gpu):
    wide = instruction("LDG.E.128", [4], [], [BASE] * 32, 16)
    use = [ffma(20, 7)] + [ffma(20, 20)] * 99
    latency = gpu.gpu["single_precision_latency"]
    assert gpu.cycles(trace([[warp([wide, *use])]])) == L1 + L2 + DRAM + 1 + 100 * latency


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

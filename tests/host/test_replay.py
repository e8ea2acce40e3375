"""A launch whose state is replayed takes the same cycles whatever else is simulated, and those of the full run."""

import itertools

import pytest
from bench import Scripted, load, store, trace, warp

from kernelpoint import _native

BASE = 0x10000
LINES = 64  # of the L2 in these tests


def line(number: int) -> list[int]:
    return [BASE + 128 * number + 4 * lane for lane in range(32)]


def ctas(first: int, count: int, stores: bool = False) -> str:
    """CTAs that each read eight lines, and may write them."""
    body = [[load(1, line(first + 8 * c + i)) for i in range(8)] for c in range(count)]
    if stores:
        body = [[*lines, *(store(line(first + 8 * c + i)) for i in range(8))] for c, lines in enumerate(body)]
    return trace([[warp(lines)] for lines in body])


# Together they touch twice what the L2 holds; some come again.
COMMANDS = [
    ctas(0, 4), ctas(32, 2, stores=True), ctas(16, 3), f"MemcpyHtoD,0x{BASE + 128 * 56:x},700", ctas(48, 4), ctas(0, 4),
    ctas(80, 5, stores=True), ctas(48, 4), ctas(32, 2), ctas(0, 2, stores=True), ctas(90, 1),
]  # fmt: skip
LAUNCHES = len(COMMANDS) - 1


@pytest.fixture
def sampled(bench, scripted_plugin):
    bench.gpu.update(sms=2, max_ctas_per_sm=1, l2_ways=16, l2_size=128 * LINES)
    return Scripted(bench, scripted_plugin)


def script(bench, order) -> str:
    """All that every launch and copy left, and the launches to simulate."""
    bench.run(*COMMANDS)
    lines, launch = [*(f"pass {launch}" for launch in order), "replay"], 0
    for number, command in enumerate(COMMANDS, start=1):
        if command.startswith("MemcpyHtoD"):
            first, last = BASE + 128 * 56, (BASE + 128 * 56 + 699) // 128 * 128
            lines += [f"leaves {launch - 1} {at} 15 0 15 1" for at in range(first, last + 1, 128)]
            continue
        touches, _ = _native.footprint(str(bench.folder / f"kernel-{number}.traceg"), (2, 1, 0, 0, 0))
        lines += [f"leaves {launch} " + " ".join(map(str, touch.tolist()[:5])) for touch in touches]
        launch += 1
    return "\n".join(lines)


def cycles(done) -> dict[int, str]:
    return {int(row["launch_index"]): row["cycles"] for row in done.rows}


ORDERS = {
    "in program order": list(range(LAUNCHES)),
    "in reverse": list(reversed(range(LAUNCHES))),
    "every third": list(range(0, LAUNCHES, 3)),
    "one twice": [4, 4],
}


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
def test_replayed_launches_take_the_cycles_of_the_full_run(bench, sampled, order):
    full = cycles(bench.run(*COMMANDS))
    replayed = cycles(sampled.run(script(bench, order), *COMMANDS))
    assert replayed == {launch: full[launch] for launch in order}


def test_replayed_launches_take_the_same_cycles_in_a_process_of_their_own(bench, sampled):
    together = cycles(sampled.run(script(bench, range(LAUNCHES)), *COMMANDS))
    alone = [cycles(sampled.run(script(bench, [launch]), *COMMANDS)) for launch in range(LAUNCHES)]
    assert dict(itertools.chain.from_iterable(by_launch.items() for by_launch in alone)) == together


READS = trace([[warp([load(1, line(0))])]])
# Reads more lines of the set than it has ways.
EVICTS = trace([[warp([load(1, line(LINES // 16 * i)) for i in range(1, 17)])]])


@pytest.mark.parametrize(
    ("leaves", "counter", "values"),
    [
        ("", "l2_misses", [4, 64]),
        (f"leaves 0 {BASE} 15 0 15 0", "l2_misses", [4, 64]),
        (f"leaves 0 {BASE} 15 0 15 0", "dram_writes", [0, 0]),
        (f"leaves 0 {BASE} 15 12 15 0", "dram_writes", [0, 2]),
        (f"leaves 0 {BASE} 15 12 15 0\nleaves 0 {BASE} 15 0 15 0", "dram_writes", [0, 2]),
        (f"leaves 0 {BASE} 15 12 15 0\nleaves 0 {BASE} 15 0 15 1", "dram_writes", [0, 0]),
    ],
    ids=["nothing", "read", "clean", "two sectors dirty", "dirty, then read", "dirty, then copied"],
)
def test_what_is_left_decides_misses_and_writes(sampled, leaves, counter, values):
    done = sampled.run(f"pass 0 1\nreplay\n{leaves}", READS, EVICTS)
    assert done.counter(counter) == values


@pytest.mark.parametrize(("sectors", "misses"), [(0, 4), (3, 2), (15, 0)])
def test_sectors_that_were_touched_are_there(sampled, sectors, misses):
    leaves = f"leaves 0 {BASE} {sectors} 0 {sectors} 0" if sectors else ""
    assert sampled.run(f"pass 1\nreplay\n{leaves}", READS, READS).counter("l2_misses") == [misses]


def test_state_that_is_kept_is_what_the_launch_before_left(sampled):
    assert sampled.run("pass 0 1", READS, READS).counter("l2_misses") == [4, 0]
    assert sampled.run("pass 0 1\nreplay", READS, READS).counter("l2_misses") == [4, 4]


def test_a_launch_does_not_meet_the_queues_of_the_one_before(bench, sampled):
    """Two launches that fill the queues of DRAM, with no launch latency to empty them in."""
    bench.gpu.update(launch_latency=0, dram_channels=1, dram_bytes_per_cycle=1)
    writes = trace([[warp([store(line(4 * i)) for i in range(40)])]])
    done = sampled.run("pass 0 1\nreplay", writes, writes)
    first, second = (row["cycles"] for row in done.rows)
    assert first == second

"""Replayed state in the miniature simulator, whose cycles depend on everything that a simulator keeps between launches."""

import itertools
from pathlib import Path

import pytest

from .conftest import GRID, Run, Simulator, write_workload

FIRST, KERNEL = 0x100000, 2304  # address of the first kernel's data, bytes to the next kernel's
LINES, LINE = 8, 128  # of a kernel: lines that its CTAs use in turn, bytes of one
TIMED = ("-timed_memory", "1")


@pytest.fixture
def timed_list(tmp_path) -> Path:
    """A workload without copies."""
    return write_workload(tmp_path / "timed", copies=False)


def touches(launch: int) -> list[tuple[int, int, int, int]]:
    """State after a launch, one line for each of its last CTAs: sector 0 loaded, sector 1 stored in part."""
    last = list(range(GRID[launch]))[-LINES:]
    return [(FIRST + launch % 3 * KERNEL + cta % LINES * LINE, 0b11, 0b10, 0b01) for cta in last]


def replaying(*passes: list[int]) -> str:
    """A script that replays: what every launch leaves, and the launches to simulate."""
    lines = ["replay"]
    for launch, ctas in GRID.items():
        lines.append(f"ctas {launch} {ctas}")
        lines += [
            f"leaves {launch} {address} {sectors} {stored} {filled} 0" for address, sectors, stored, filled in touches(launch)
        ]
    return "\n".join([*lines, *("pass " + " ".join(map(str, launches)) for launches in passes)])


def results(run: Run) -> dict[str, list[str]]:
    """Cycles, instructions and counters of each launch, as they were reported."""
    assert run.code == 0, run.err
    return {words[1]: words[2:] for words in run.calls("complete")}


def l2_misses(run: Run) -> dict[str, str]:
    """L2 misses of each launch."""
    return {words[1]: words[words.index("l2_misses") + 1] for words in run.calls("complete")}


def test_the_miniature_cycles_depend_on_what_ran_before(simulator: Simulator, timed_list: Path):
    every = results(simulator.run(timed_list, "pass 0 1 2 3 4 5", *TIMED))
    alone = {str(launch): results(simulator.run(timed_list, f"pass {launch}", *TIMED))[str(launch)] for launch in (3, 5)}
    assert all(every[launch] != alone[launch] for launch in alone)


def test_a_launch_takes_the_same_cycles_whatever_else_is_simulated(simulator: Simulator, timed_list: Path):
    in_order = results(simulator.run(timed_list, replaying([0, 1, 2, 3, 4, 5]), *TIMED))
    reverse = results(simulator.run(timed_list, replaying(*([launch] for launch in reversed(GRID))), *TIMED))
    assert reverse == in_order
    for chosen in itertools.chain(([launch] for launch in GRID), [[1, 3], [0, 4, 5]]):
        some = results(simulator.run(timed_list, replaying(chosen), *TIMED))
        assert some == {unit: in_order[unit] for unit in some} and len(some) == len(chosen)


def test_replay_brings_back_the_l2_of_the_full_run(simulator: Simulator, timed_list: Path):
    full = l2_misses(simulator.run(timed_list, "pass 0 1 2 3 4 5", *TIMED))
    for launch in GRID:
        assert l2_misses(simulator.run(timed_list, replaying([launch]), *TIMED)) == {str(launch): full[str(launch)]}


def test_without_the_touches_a_launch_misses_more(simulator: Simulator, timed_list: Path):
    with_touches = l2_misses(simulator.run(timed_list, replaying([4]), *TIMED))
    without = l2_misses(simulator.run(timed_list, "replay\npass 4", *TIMED))
    assert int(without["4"]) > int(with_touches["4"])


def test_copies_come_with_the_replay_and_not_a_second_time(simulator: Simulator, workload: Path):
    run = simulator.run(workload, "replay\nleaves 1 0 15 0 15 1\npass 0\npass 4")
    assert run.code == 0 and not run.lines("launching memcpy")
    assert [words[1:] for words in run.calls("replay")] == [["0", "touches", "0"], ["4", "touches", "1"]]


def test_a_copied_line_is_found_below_4_gib_as_the_simulator_cuts_addresses(simulator: Simulator, timed_list: Path):
    script = "replay\npass 3\nleaves 0 {} 15 0 15 1"
    at, above, elsewhere = (
        l2_misses(simulator.run(timed_list, script.format(address), *TIMED))["3"] for address in (FIRST, FIRST + (1 << 32), 0)
    )
    assert at == above and int(at) < int(elsewhere)


def test_warps_take_turns_from_those_that_ran_on_their_sm_last(simulator: Simulator, timed_list: Path):
    def of(*grids: str) -> list[str]:
        script = "\n".join(["replay", "ctas 0 8", *(f"grid 1 {grid}" for grid in grids), "pass 1"])
        return results(simulator.run(timed_list, script, *TIMED))["1"]

    first, second, none = of("4 2 0"), of("4 2 1"), of()
    assert first != second and none not in (first, second)
    assert of("0 0 0", "4 2 1") == second, "of a trace that cannot be read nothing is known"
    assert of("4 2 1", "4 2 0") == second, "the newest launch counts"


def test_what_has_run_nothing_takes_its_turns_as_at_the_start_of_a_run(simulator: Simulator, timed_list: Path):
    def of(*before: str) -> list[str]:
        # launches 2 and 4 have four CTAs each and find all of their lines in the L2
        there = [f"leaves 0 {FIRST + kernel * KERNEL + line * LINE} 15 0 15 1" for kernel in (1, 2) for line in range(4)]
        cycles = results(simulator.run(timed_list, "\n".join(["replay", *there, *before, "pass 2 4"]), *TIMED))
        return [cycles[launch][cycles[launch].index("cycles") + 1] for launch in ("2", "4")]

    new, new_too = of()
    assert new == new_too, "nothing is drawn"
    run_by = ("grid 2 4 2 0", "grid 4 4 2 0")
    first, second = of(*run_by)
    assert first != second, "how many cycles a core has run is drawn for each launch"
    assert of("ctas 0 4", *run_by) != [first, second], "the network goes on behind the clusters of four CTAs"


def test_the_row_of_what_was_read_last_is_open(simulator, timed_list: Path):
    # of the four lines of launch 4 all but the last are in the L2, so its time is that of one bank
    there = [f"leaves 0 {FIRST + KERNEL + LINE * line} 3 0 3 1" for line in range(3)]

    def cycles(*leaves: str) -> int:
        run = simulator.run(timed_list, "\n".join(["replay", *there, *leaves, "pass 4"]), *TIMED)
        words = results(run)["4"]
        return int(words[words.index("cycles") + 1])

    same, other = (f"leaves 0 {FIRST + row * 1024 + LINE} 1 0 1 0" for row in (2, 8))
    stored, copied = (f"leaves 0 {FIRST + 2 * 1024 + LINE} 1 {how}" for how in ("1 1 0", "0 1 1"))
    assert cycles(same) < cycles() < cycles(other)
    assert cycles(other, same) == cycles(same), "the last read counts"
    assert cycles(same, other, same) == cycles(other), "the L2 has it already"
    assert cycles(stored) == cycles() == cycles(copied), "nothing was read"


def test_the_host_says_what_state_it_keeps(simulator: Simulator, timed_list: Path):
    opened = " ".join(simulator.run(timed_list, "pass 0").calls("state")[0])
    assert opened == "state lines 32 flags 14 sms 4 ctas_per_sm 8 warps_per_sm 16 registers_per_sm 1024 shared 1024"


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("-gpgpu_perfect_inst_const_cache", "0"),
        ("-gpgpu_flush_l1_cache", "0"),
        ("-gpgpu_flush_l2_cache", "1"),
        ("-network_mode", "1"),
        ("-gpgpu_n_chiplet_partition", "2"),
        ("-gpgpu_cache:dl2", "S:2:128:4,L:T:m:L:P,A:1:1,1:0,32"),
        ("-gpgpu_cache:dl2", "N:2:128:4,L:B:m:L:P,A:1:1,1:0,32"),
    ],
)
def test_the_host_says_under_which_options_replay_is_not_all_of_the_state(simulator, timed_list, option, value):
    run = simulator.run(timed_list, "pass 0", option, value)
    assert [line for line in run.log if line.endswith(f" not replayed: {option} {value}")]
    assert not any("not replayed" in line for line in simulator.run(timed_list, "pass 0").log)

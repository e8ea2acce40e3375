"""Constant latency of launches, skipped: every state of the miniature as its ticks leave it."""

from pathlib import Path

import pytest

from .conftest import GRID, Run, Simulator
from .test_replay import TIMED, replaying, timed_list

__all__ = ["timed_list"]

EVERY = "pass " + " ".join(map(str, GRID))
LATENCIES = (0, 7, 9, 45, 130, 1000)  # around the ticks that are never skipped, and several samples of statistics


def with_latency(cycles: int) -> tuple[str, str]:
    """The simulator's option."""
    return "-gpgpu_kernel_launch_latency", str(cycles)


def printed(run: Run) -> list[str]:
    """The output without the script's name, the number of simulated ticks and the time that the host took."""
    skipped = ("calls of ", "-kernel_sampling", "gpgpu_simulation_time")
    assert run.code == 0, run.err
    return [line for line in run.out.splitlines() if not line.startswith(skipped)]


def states(run: Run) -> list[str]:
    """The state at each first CTA, and at each sample of statistics."""
    return run.lines("state at ")


def ticks(run: Run) -> int:
    """Calls of the simulator's cycle()."""
    return int(run.values("calls of cycle")[-1])


@pytest.mark.parametrize("cycles", LATENCIES)
def test_state_after_skipping_is_the_state_after_ticking(simulator: Simulator, timed_list: Path, cycles: int):
    options = (*TIMED, *with_latency(cycles))
    ticked = simulator.run(timed_list, EVERY, *options)
    skipped = simulator.run(timed_list, f"{EVERY}\nskip_latency", *options)
    assert printed(skipped) == printed(ticked) and len(states(ticked)) >= len(GRID)
    assert skipped.calls("complete") == ticked.calls("complete")


def test_replayed_launches_begin_with_the_same_state_too(simulator: Simulator, timed_list: Path):
    options = (*TIMED, *with_latency(500))
    ticked = simulator.run(timed_list, replaying([5, 2], [0]), *options)
    skipped = simulator.run(timed_list, replaying([5, 2], [0]) + "\nskip_latency", *options)
    assert printed(skipped) == printed(ticked) and skipped.calls("complete") == ticked.calls("complete")


def test_most_ticks_are_skipped(simulator: Simulator, timed_list: Path):
    ticked = simulator.run(timed_list, EVERY, *with_latency(1000))
    skipped = simulator.run(timed_list, f"{EVERY}\nskip_latency", *with_latency(1000))
    assert ticks(ticked) > 1000 * len(GRID) and ticks(skipped) < ticks(ticked) / 2


def test_an_empty_crossbar_is_not_arbitrated_and_a_full_one_is(simulator: Simulator, timed_list: Path):
    ticked, skipped = (simulator.run(timed_list, EVERY + more, *TIMED) for more in ("", "\nskip_latency"))
    calls = [int(run.values("calls of Advance")[-1]) for run in (ticked, skipped)]
    assert printed(skipped) == printed(ticked) and 0.2 * calls[0] < calls[1] < 0.5 * calls[0]


def test_only_the_launches_that_the_plugin_names_are_skipped(simulator: Simulator, timed_list: Path):
    runs = [simulator.run(timed_list, f"{EVERY}\n{line}", *with_latency(1000)) for line in ("skip_latency 1 3", "say 0")]
    assert printed(runs[0])[len(GRID) :] != [] and runs[0].calls("complete") == runs[1].calls("complete")
    assert 0 < ticks(runs[1]) - ticks(runs[0]) < ticks(runs[1]) / 2


def test_progress_is_told_at_the_same_cycles(simulator: Simulator, timed_list: Path):
    scripts = [f"{EVERY}\ninterval 33\nstop 3 1100\nwhole 3 9000 19200{more}" for more in ("", "\nskip_latency")]
    ticked, skipped = (simulator.run(timed_list, script, *with_latency(1000)) for script in scripts)
    assert skipped.calls("progress") == ticked.calls("progress") != []
    assert skipped.calls("complete") == ticked.calls("complete")


@pytest.mark.parametrize(
    ("option", "value"), [("-network_mode", "1"), ("-gpgpu_flush_l2_cache", "1"), ("-gpgpu_cache:dl2", "none")]
)
def test_where_an_idle_tick_does_more_latency_is_simulated_and_the_run_says_so(
    simulator: Simulator, timed_list: Path, option: str, value: str
):
    options = (*with_latency(1000), option, value)
    skipped = simulator.run(timed_list, f"{EVERY}\nskip_latency", *options)
    assert len(skipped.lines(f"kernelpoint: launch_latency: simulated cycle by cycle, since {option} {value}")) == 1
    assert ticks(skipped) == ticks(simulator.run(timed_list, EVERY, *options))

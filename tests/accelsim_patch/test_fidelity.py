"""Replayed state in the real Accel-Sim against its own: a full run, cut at several places and gone on with from replay. It
guards the replay against changes of the simulator. Needs what test_accelsim.py needs.
"""

import shutil
from pathlib import Path

import pytest

from kernelpoint.traces import read_trace_list
from kernelpoint.traces.replay import Replay, StateInfo

from .test_accelsim import LAUNCHES, PROGRAM, run, script, traces  # noqa: F401 (a fixture)

pytestmark = pytest.mark.skipif(not PROGRAM, reason="KERNELPOINT_ACCELSIM names no patched accel-sim.out")

ORDER = (1, 2, 1, 3, 3, 2, 4, 1)  # traces that come again find their own data in the L2
EVERY = range(len(ORDER))
COUNTERS = ("l1_misses", "l2_accesses", "l2_misses", "dram_reads")


@pytest.fixture(scope="module")
def trace_list(traces, tmp_path_factory) -> Path:  # noqa: F811
    """A list in which traces come again, with a copy into what the first launch reads."""
    folder = tmp_path_factory.mktemp("fidelity")
    for launch in range(1, LAUNCHES + 1):
        shutil.copy(traces / f"kernel-{launch}.traceg", folder)
    path = folder / "kernelslist.g"
    path.write_text("MemcpyHtoD,0x00007f7845700000,4096\n" + "".join(f"kernel-{launch}.traceg\n" for launch in ORDER))
    return path


def logged(path: Path, text: str, plugin: Path) -> list[list[str]]:
    """The plugin's log of a run with this script, split into words."""
    code, _, err = run(PROGRAM, path, "-kernel_sampling", script(path, text), plugin=plugin)
    assert code == 0 and err == ""
    return [line.split() for line in Path(f"{path.with_name('script.txt')}.log").read_text().splitlines()]


def results(log: list[list[str]]) -> dict[int, dict[str, float]]:
    """Cycles, instructions and counters of each launch."""
    return {
        int(words[1].split(":")[1]): dict(zip(words[2::2], map(float, words[3::2]), strict=True))
        for words in log
        if words[0] == "complete"
    }


@pytest.fixture(scope="module")
def full(trace_list, scripted_plugin) -> list[list[str]]:
    """The log of the full run: every launch, with the simulator's own state."""
    return logged(trace_list, f"pass {' '.join(map(str, EVERY))}", scripted_plugin)


@pytest.fixture(scope="module")
def replay(trace_list, full) -> Replay:
    """Replay of the list for the state that the simulator says it keeps."""
    state = next(words for words in full if words[0] == "state")
    lines, _, *residency = map(int, state[2::2])
    return Replay(
        read_trace_list(trace_list),
        StateInfo(lines, tuple(residency), copies_fill=True, counts_ctas=True, keeps_rows=True),
    )


def replayed(replay: Replay, launch: int) -> str:
    """Script lines that replay what comes before a launch."""
    if launch == 0:
        return "replay 0\n"
    before = replay.before(launch)
    leaves = [f"leaves 0 {' '.join(str(value) for value in touch.tolist()[:5])}" for touch in before.touches]
    grids = [f"grid {launch} {' '.join(map(str, grid.tolist()))}" for grid in before.grids]
    return "\n".join([f"replay {launch}", f"ctas 0 {before.earlier_ctas}", *grids, *leaves]) + "\n"


@pytest.mark.parametrize("cut", [1, 3, 6])
def test_a_run_that_goes_on_from_replay_meets_what_the_full_run_meets(trace_list, scripted_plugin, full, replay, cut):
    rest = [launch for launch in EVERY if launch >= cut]
    log = logged(trace_list, replayed(replay, cut) + f"pass {' '.join(map(str, rest))}", scripted_plugin)
    whole, continued = results(full), results(log)
    assert sorted(continued) == rest
    for launch in rest:
        for counter in COUNTERS:
            assert continued[launch][counter] == whole[launch][counter], (launch, counter)
        assert continued[launch]["cycles"] == pytest.approx(whole[launch]["cycles"], rel=0.01), launch


def test_a_launch_takes_the_same_cycles_in_any_order_and_alone(trace_list, scripted_plugin, replay):
    def simulated(launches):
        return {
            launch: results(logged(trace_list, replayed(replay, launch) + f"pass {launch}", scripted_plugin))[launch]
            for launch in launches
        }

    # touches are cumulative in the script, so a run of several passes replays up to its last launch at each of them
    last = replayed(replay, 7).replace("replay 7", "replay 5 6 7")
    passes = results(logged(trace_list, last + "pass 7\npass 5\npass 6", scripted_plugin))
    backwards = results(logged(trace_list, last + "pass 6\npass 5\npass 7", scripted_plugin))
    assert passes == backwards
    assert simulated([7])[7] == passes[7]

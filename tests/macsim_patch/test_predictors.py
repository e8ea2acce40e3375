"""The branch predictors that replay trains: on which core a CTA learns, and that it does not matter what is asked first."""

import numpy as np
import pytest

from kernelpoint import _native
from kernelpoint.fast_model import configuration_for
from kernelpoint.traces import read_trace_list, scan_trace
from kernelpoint.traces.replay import Replay, StateInfo

BITS = 6
UNTAUGHT = 3  # a counter at the beginning: taken


@pytest.fixture
def before():
    """The predictors before a launch: (histories, counters) of each core."""

    def ask(trace_list, launches, residency=(2, 1, 8, 0, 0), memory=256 << 20, trained=b""):
        state = StateInfo(10000, residency, keeps_l1=True, predictor=(BITS, 2))
        replay = Replay(read_trace_list(trace_list), state, memory=memory, trained=trained)
        states = {launch: replay.before(launch) for launch in launches}
        return {launch: (list(s.histories), np.array(s.counters)) for launch, s in states.items()}

    return ask


@pytest.fixture
def warps(instruction):
    """Warps of two kinds: some computation, and as many branches that are not taken."""
    return {
        "computing": lambda count: [instruction("other", 16 * i) for i in range(count)],
        "branching": lambda count: [instruction("other", 4096 + 64 * i, 0, "not") for i in range(count)],
    }


def has_learned(counters):
    return [bool((np.array(of_core) != UNTAUGHT).any()) for of_core in counters]


def test_a_cta_that_waits_runs_on_the_core_that_has_room_first(launches_in, warps, before):
    slow, fast, last = warps["computing"](400), warps["computing"](5), warps["branching"](6)
    for first, second, learns in ((slow, fast, [False, True]), (fast, slow, [True, False])):
        launch = {0: first, 1 << 16: second, 2 << 16: last}
        workload = launches_in(f"room{learns}", [launch, {0: fast}])
        assert has_learned(before(workload, [1])[1][1]) == learns


def test_ctas_that_have_room_keep_to_their_own_cores(launches_in, warps, before):
    launch = {0: warps["branching"](6), 1 << 16: warps["computing"](5), 2 << 16: warps["computing"](5)}
    workload = launches_in("own", [launch, {0: warps["computing"](5)}])
    assert has_learned(before(workload, [1], residency=(2, 2, 8, 0, 0))[1][1]) == [True, False]


def test_a_predictor_that_learned_all_keeps_what_it_knows(launches_in, warps, before):
    workload = launches_in("all", [{0: warps["branching"](6)}] * 60)
    states = before(workload, [40, 59])
    assert states[40][0] == states[59][0] and np.array_equal(states[40][1], states[59][1])


@pytest.mark.parametrize("memory", [1, 256 << 20])
def test_predictors_do_not_depend_on_which_launch_is_asked_about_first(launches_in, warps, before, memory):
    kinds = [{cta << 16: warps["branching"](3 + (cta + k) % 4) for cta in range(5)} for k in range(4)]
    workload = launches_in("order", [kinds[(i * i) % 4] for i in range(200)])
    launches = [0, 1, 65, 130, 199]
    forward, backward = before(workload, launches), before(workload, launches[::-1], memory=memory)
    for launch in launches:
        assert forward[launch][0] == backward[launch][0]
        assert np.array_equal(forward[launch][1], backward[launch][1])


@pytest.fixture
def recorded():
    """The states that the model of the cores records while it predicts a list, for the cores of `before`."""
    knobs = f"num_sim_small_cores 2\nmax_block_per_core 1\nmax_threads_per_core 8\nbp_hist_length {BITS}\n"

    def ask(trace_list):
        paths = read_trace_list(trace_list).traces
        gpu = configuration_for("auto", "macsim", knobs, "", paths, lambda line: None)
        assert gpu.cores[:2] == ((2, 1, 8, 0, 0), (BITS, 2))
        return _native.macsim.run_cores(paths, gpu, 256 << 20, lambda done, total: None)[1]

    return ask


@pytest.fixture
def varied(launches_in, warps):
    """A list of launches of five CTAs, whose branches are learned in its course."""

    def write(name, kinds=4, launches=150):
        made = [{cta << 16: warps["branching"](3 + (cta + k) % 4) for cta in range(5)} for k in range(kinds)]
        return launches_in(name, [made[(i * i) % kinds] for i in range(launches)])

    return write


@pytest.mark.parametrize("part", [1.0, 0.5, 0.0], ids=["all of it", "half of it", "nothing"])
def test_recorded_states_are_those_of_passing_the_list(varied, recorded, part):
    workload = varied("recorded")
    states = recorded(workload)
    state = StateInfo(10000, (2, 1, 8, 0, 0), keeps_l1=True, predictor=(BITS, 2))
    passing = Replay(read_trace_list(workload), state)
    reading = Replay(read_trace_list(workload), state, trained=states[: int(part * len(states))])
    for launch in (0, 149, 3, 70, 71, 20):
        passed, read = passing.before(launch), reading.before(launch)
        assert np.array_equal(passed.counters, read.counters) and np.array_equal(passed.histories, read.histories)
        assert np.array_equal(passed.touches, read.touches)


def test_recorded_states_take_the_place_of_passing_the_list(varied, launches_in, warps, recorded, before):
    workload = varied("this")
    nothing = recorded(launches_in("other", [{0: warps["computing"](5)}] * 150))
    assert has_learned(before(workload, [20])[20][1]) == [True, True]
    assert has_learned(before(workload, [20], trained=nothing)[20][1]) == [False, False]


@pytest.fixture
def unread(launches_in, instruction):
    """Count the records of a one-warp launch that MacSim leaves out, from their kinds."""

    def ask(*kinds):
        warp = [instruction(k.split()[0], 16, 128 * i, further="further" in k) for i, k in enumerate(kinds)]
        trace_list = launches_in(f"list{len(kinds)}", [{0: warp}])
        return scan_trace(trace_list.parent / "Kernel0" / "trace.txt").work.unread_instructions

    return ask


def test_the_last_instruction_of_a_warp_is_left_out(unread):
    assert unread("load", "other", "other") == 1


def test_a_further_sector_before_the_last_record_stands_in_for_it(unread):
    assert unread("load", "load further", "other") == 0
    assert unread("load", "load further", "other", "other") == 1


@pytest.mark.parametrize(("records", "left_out"), [(1, 0), (2, 1), (1000, 1), (1001, 0), (1002, 1), (2001, 0)])
def test_a_warp_that_ends_with_the_readers_buffer_is_read_whole(unread, records, left_out):
    assert unread(*["other"] * records) == left_out

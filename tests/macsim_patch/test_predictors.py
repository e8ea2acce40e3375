"""The branch predictors that replay trains: on which core a CTA learns, and that it does not matter what is asked first."""

import numpy as np
import pytest

from kernelpoint.traces.replay import Replay, StateInfo

BITS = 6
UNTAUGHT = 3  # a counter at the beginning: taken


@pytest.fixture
def before():
    """The predictors before a launch: (histories, counters) of each core."""

    def ask(trace_list, launches, residency=(2, 1, 8, 0, 0), memory=256 << 20):
        replay = Replay(str(trace_list), StateInfo(10000, residency, keeps_l1=True, predictor=(BITS, 2)), memory=memory)
        found = {launch: replay.before(launch) for launch in launches}
        return {launch: (list(one.histories), np.array(one.counters)) for launch, one in found.items()}

    return ask


@pytest.fixture
def warps(instruction):
    """Warps of two kinds: some computation, and as many branches that are not taken."""
    return {
        "computing": lambda count: [instruction("other", 16 * i) for i in range(count)],
        "branching": lambda count: [instruction("other", 4096 + 64 * i, 0, "not") for i in range(count)],
    }


def has_learned(counters):
    return [bool((np.array(own) != UNTAUGHT).any()) for own in counters]


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

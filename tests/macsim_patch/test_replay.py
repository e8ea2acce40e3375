"""Launches that begin with replayed state, in the miniature simulator.

A warp of the miniature waits for lines that its caches lack and for branches that its core's predictor does not know; with
`--kept_state=1` also for turns and rows of memory. So a launch's cycles say what it met.
"""

import random

import pytest

LINE = 7 << 40
KEPT = "--kept_state=1"


@pytest.fixture
def touching(instruction):
    """A warp that loads or stores these lines, and ends: MacSim leaves out a warp's last instruction."""

    def warp(lines, kind="load", pc=0):
        accesses = [instruction(kind, pc + 16 * i, LINE + 128 * n) for i, n in enumerate(lines)]
        return [*accesses, instruction("other", pc + 16 * len(accesses))]

    return warp


def results(run):
    """Cycles, instructions and counters of each launch."""
    assert run.code == 0, run.err
    return {int(call[1].split(":")[1]): call[2:] for call in run.calls("complete")}


def amounts(run, name):
    return {launch: int(words[words.index(name) + 1]) for launch, words in results(run).items()}


STORES = ("store", "generic store", "local store")


@pytest.fixture
def mixed(launches_in, instruction, touching):
    """Twenty launches of six kernels: lines that push each other out, every kind of access, branches that are learned."""
    draw = random.Random(7)

    def some(count):
        return [draw.randrange(500) for _ in range(count)]

    def one_warp(pc):
        branches = [instruction("other", pc + 64 * i, 0, "not") for i in range(6)]
        return {0: [r for pair in zip(touching(some(40), "load", pc + 1024), branches * 7, strict=False) for r in pair]}

    def warp(pc):
        wide = [instruction("load", pc + 2048, LINE + 128 * n, further=i > 0) for i, n in enumerate(some(3))]
        return touching(some(4), "load", pc) + wide + [r for k in STORES for r in touching(some(2), k, pc + 1024)]

    several = [{(cta << 16) + place: warp(4096 * k) for cta in range(12) for place in range(2)} for k in range(3)]
    kernels = several + [one_warp(4096 * k) for k in range(3, 6)]
    return launches_in("mixed", [kernels[draw.randrange(6)] for _ in range(20)])


def test_the_miniature_cycles_depend_on_what_ran_before(simulator, mixed, wanted):
    full = results(simulator.run(mixed, wanted(range(20)), KEPT))
    some = results(simulator.run(mixed, wanted([7, 12, 19]), KEPT))
    assert sum(some[launch] != full[launch] for launch in some) >= 2


def test_a_launch_takes_the_same_cycles_whatever_else_is_simulated(simulator, mixed, replaying):
    in_order = results(simulator.run(mixed, replaying(mixed, range(20)), KEPT))
    reverse = results(simulator.run(mixed, replaying(mixed, *([launch] for launch in reversed(range(20)))), KEPT))
    assert reverse == in_order and len(in_order) == 20
    for chosen in ([0], [19], [11], [3, 4, 17], [0, 9, 10]):
        some = results(simulator.run(mixed, replaying(mixed, chosen), KEPT))
        assert some == {launch: in_order[launch] for launch in chosen}


def test_a_launch_that_keeps_the_state_goes_on_from_one_that_was_replayed(simulator, mixed, replaying):
    script = replaying(mixed, [5, 6, 7]).replace("replay\n", "replay 5\n", 1)
    run = simulator.run(mixed, script, KEPT)
    assert list(results(run)) == [5, 6, 7]
    assert [call[1] for call in run.calls("replay")] == ["0:5"]


def test_no_cycle_is_simulated_to_set_turns(simulator, mixed, replaying):
    run = simulator.run(mixed, replaying(mixed, [3, 9, 17]))
    ticks = run.stats("general.stat.out.0")["CYC_COUNT_TOT_SIMULATED"][0]  # counted by MacSim itself
    assert abs(ticks - sum(amounts(run, "cycles").values())) <= 3


def test_replay_brings_back_the_caches_of_the_full_run(simulator, launches_in, touching, replaying, wanted):
    draw = random.Random(3)
    launches = [{0: touching([draw.randrange(60) for _ in range(30)], pc=4096 * k)} for k in range(4)]
    workload = launches_in("lines", [launches[draw.randrange(4)] for _ in range(12)])
    for name in ("l1_misses", "l1_accesses"):
        full = amounts(simulator.run(workload, wanted(range(12))), name)
        for launch in (1, 5, 11):
            alone = amounts(simulator.run(workload, replaying(workload, [launch])), name)
            assert alone == {launch: full[launch]}
    cold = amounts(simulator.run(workload, "replay\npass 0:11"), "l1_misses")
    assert cold[11] > full[11] - amounts(simulator.run(workload, replaying(workload, [11])), "l1_misses")[11]


def test_cores_have_caches_of_their_own(simulator, launches_in, touching, replaying, wanted):
    both = {0: touching([1]), 1 << 16: touching([2])}
    workload = launches_in("cores", [both, {0: touching([2])}, {1 << 16: touching([2]), 0: touching([9])}])
    full = amounts(simulator.run(workload, wanted(range(3))), "l1_misses")
    assert amounts(simulator.run(workload, replaying(workload, [2])), "l1_misses") == {2: full[2]} == {2: 1}


def test_predictors_are_set_to_what_the_replay_says(simulator, launches_in, instruction, replaying, wanted):
    branch = {0: [r for _ in range(4) for r in (instruction("other", 64, 0, "not"), instruction("other", 80))]}
    workload = launches_in("branches", [branch] * 6)
    trained = amounts(simulator.run(workload, replaying(workload, [5])), "cycles")
    untrained = amounts(simulator.run(workload, replaying(workload, [5], predictors=False)), "cycles")
    full = amounts(simulator.run(workload, wanted(range(6))), "cycles")
    assert trained[5] <= full[5] < full[0]
    assert amounts(simulator.run(workload, replaying(workload, [0])), "cycles")[0] >= untrained[5] > trained[5]


def test_perfect_predictors_are_not_asked_for(simulator, mixed):
    logs = [simulator.run(mixed, "pass 0:3", *options).calls("state")[0] for options in ((), ("--perfect_bp=1",))]
    assert [words[words.index("bytes") + 1 :] for words in logs] == [list("60002000"), list("00000000")]


@pytest.mark.parametrize("knob", ["perfect_icache", "perfect_dcache"])
def test_a_perfect_cache_is_not_brought_anything(simulator, mixed, knob, replaying):
    script = replaying(mixed, range(10, 20, 2))
    perfect = amounts(simulator.run(mixed, script, f"--{knob}=1"), "cycles")
    assert perfect != amounts(simulator.run(mixed, script), "cycles")


def test_nothing_is_replayed_where_pages_are_mapped(simulator, mixed, wanted):
    run = simulator.run(mixed, wanted([19]), "--enable_physical_mapping=1")
    assert "enable_physical_mapping: skipped launches are not replayed" in run.err
    assert run.calls("state")[0][:3] == ["state", "lines", "0"]


def test_the_host_says_what_state_it_keeps(simulator, mixed, wanted):
    opened = " ".join(simulator.run(mixed, wanted([0])).calls("state")[0])
    state = "lines 448 flags 0 sms 4 ctas_per_sm 2 warps_per_sm 8 registers_per_sm 0 shared 0"
    assert opened == f"state {state} bytes 6 0 0 0 2 0 0 0"

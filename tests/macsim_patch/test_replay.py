"""Functional warm-up: launches that are skipped pass through caches and branch predictors. In the miniature simulator.

A warp of the miniature waits for lines that its caches lack and for branches that its core's predictor does not know, so
a launch's cycles say what it met.
"""

import random

import pytest

LINE = 7 << 40


@pytest.fixture
def touching(instruction):
    """A warp that loads or stores these lines."""
    return lambda lines, kind="load", pc=0: [
        instruction(kind, pc + 16 * i, LINE + 128 * n) for i, n in enumerate(lines)
    ]


def cycles(run):
    assert run.code == 0, run.err
    return {call[1]: int(call[5]) for call in run.calls("complete")}


def same(sampled, full, launches):
    """Whether launches met what they meet in the full run.

    Within one cycle: the miniature's cores count a cycle one after the other, and where the launch before ended on one
    of them says which of the warps behind it are a cycle early.
    """
    sampled, full = ({call[1]: call for call in run.calls("complete")} for run in (sampled, full))
    pairs = [(sampled[f"0:{i}"], full[f"0:{i}"]) for i in launches]
    return all(abs(int(a[5]) - int(b[5])) <= 1 and a[6:] == b[6:] for a, b in pairs)


def wanted(launches):
    return "pass " + " ".join(f"0:{i}" for i in launches)


STORES = ("store", "generic store", "local store")


@pytest.fixture
def mixed(launches_in, instruction, touching):
    """Forty launches of six kernels: lines that push each other out, every kind of access, branches that are learned.

    The miniature executes one warp after the other, the replay from branch to branch: a kernel has branches or several
    warps, then more than the cores hold at once.
    """
    draw = random.Random(7)

    def some(count):
        return [draw.randrange(500) for _ in range(count)]

    def one_warp(pc):
        branches = [instruction("other", pc + 64 * i, 0, draw.choice(["taken", "not"])) for i in range(6)]
        return {0: [r for pair in zip(touching(some(40), "load", pc + 1024), branches * 7, strict=False) for r in pair]}

    def warp(pc):
        wide = [instruction("load", pc + 2048, LINE + 128 * n, further=i > 0) for i, n in enumerate(some(3))]
        return touching(some(4), "load", pc) + wide + [r for k in STORES for r in touching(some(2), k, pc + 1024)]

    several = [{(cta << 16) + place: warp(4096 * k) for cta in range(12) for place in range(2)} for k in range(3)]
    kernels = several + [one_warp(4096 * k) for k in range(3, 6)]
    return launches_in("mixed", [kernels[draw.randrange(6)] for _ in range(40)])


def test_a_launch_meets_what_the_skipped_ones_would_have_left(simulator, mixed):
    full = simulator.run(mixed, wanted(range(40)))
    for launches in ([3, 9, 27, 39], [0, 20, 21], [39]):
        assert same(simulator.run(mixed, wanted(launches)), full, launches)
    assert not same(simulator.run(mixed, wanted([38, 39]), "--kernel_sampling_replay=0"), full, [38, 39])


def test_a_further_pass_begins_as_the_simulation_began(simulator, mixed):
    full = simulator.run(mixed, wanted(range(40)))
    for launches in ([5, 30], [2, 17], [39], [0]):
        assert same(simulator.run(mixed, "pass 0:8 0:33\n" + wanted(launches)), full, launches)


def test_only_the_last_launches_are_replayed_where_a_limit_is_set(simulator, launches_in, touching):
    lines = [{0: touching([i % 3], pc=4096 * (i % 3))} for i in range(7)]
    workload = launches_in("limited", lines)
    met = {
        limit: cycles(simulator.run(workload, wanted([6]), f"--kernel_sampling_replay={limit}"))["0:6"]
        for limit in (-1, 0, 2, 3, 6)
    }
    assert met[2] == met[0] > met[3] == met[6] == met[-1], "launch 3 was the last to load the line of launch 6"


def test_a_simulated_launch_is_not_replayed(simulator, launches_in, instruction):
    branch = {0: [instruction("other", 64, 0, "not"), instruction("other", 80)]}
    workload = launches_in("branches", [branch] * 6)
    full = cycles(simulator.run(workload, wanted(range(6))))
    assert list(cycles(simulator.run(workload, wanted([0, 1, 3, 4]))).values()) == [
        full[f"0:{i}"] for i in (0, 1, 3, 4)
    ], "a branch that was replayed twice would be learned too early"
    assert len(set(full.values())) > 1


def test_where_a_mispredicted_branch_leads_nothing_is_fetched(simulator, launches_in, instruction):
    branch, behind = instruction("other", 0, 0, "not"), instruction("other", 4096)
    workload = launches_in("branches", [{0: [branch, behind]}, {0: [behind]}, {0: [behind]}])
    full = cycles(simulator.run(workload, wanted(range(3))))
    assert full["0:1"] > full["0:2"], "predictors begin with taken, so the line was not there"
    assert cycles(simulator.run(workload, wanted([1])))["0:1"] == full["0:1"]


def test_a_skipped_launch_may_lack_its_trace_and_that_is_said_once(simulator, mixed):
    kernels = [line.split("/")[1] for line in mixed.read_text().split()[3:]]
    last = max(i for i, kernel in enumerate(kernels) if kernel != kernels[0])
    for path in (mixed.parent / kernels[0]).glob("trace_*.raw"):
        path.unlink()
    assert kernels[:last].count(kernels[0]) > 1
    run = simulator.run(mixed, wanted([last]))
    assert list(cycles(run)) == [f"0:{last}"]
    assert run.err.count("cannot be read") == 1 and f"{kernels[0]}/trace_0.raw: cannot be read" in run.err


@pytest.mark.parametrize("knob", ["perfect_icache", "perfect_dcache"])
def test_a_perfect_cache_is_not_brought_anything(simulator, mixed, knob):
    some = wanted(range(20, 40, 2))
    assert cycles(simulator.run(mixed, some, f"--{knob}=1")) != cycles(simulator.run(mixed, some))


def test_an_application_is_met_by_its_own_launches_only(simulator, launches_in, touching):
    same = [{0: touching(range(8))}, {0: touching(range(8, 16), pc=4096)}, {0: touching(range(8))}]
    lists = [launches_in(name, same) for name in ("first", "second")]
    options = ("--max_num_core_per_appl=2",)
    alone = cycles(simulator.run(lists[0], wanted(range(3)), *options))["0:2"]
    both = cycles(simulator.run(lists, "pass 0:2 1:2", *options))
    assert both == {"0:2": alone, "1:2": alone}


def test_nothing_is_replayed_where_pages_are_mapped(simulator, mixed):
    run = simulator.run(mixed, wanted([39]), "--enable_physical_mapping=1")
    assert "enable_physical_mapping: skipped launches are not replayed" in run.err
    assert cycles(run) == cycles(simulator.run(mixed, wanted([39]), "--kernel_sampling_replay=0"))

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
    return {call[1]: int(call[3]) for call in run.calls("complete")}


def wanted(launches):
    return "pass " + " ".join(f"0:{i}" for i in launches)


@pytest.fixture
def mixed(launches_in, instruction, touching):
    """Forty launches of six kernels: lines that push each other out, branches that are learned, several CTAs."""
    draw = random.Random(7)
    kernels = []
    for kernel in range(6):
        branches = [instruction("other", 4096 * kernel + 64 * i, 0, draw.choice(["taken", "not"])) for i in range(6)]
        lines = [draw.randrange(600) for _ in range(40)]
        body = [
            r for pair in zip(touching(lines, "load", 4096 * kernel + 1024), branches * 7, strict=False) for r in pair
        ]
        kernels.append({cta << 16: body + touching(lines[cta::4], "store", 4096 * kernel + 2048) for cta in range(4)})
    return launches_in("mixed", [kernels[draw.randrange(6)] for _ in range(40)])


def test_a_launch_meets_what_the_skipped_ones_would_have_left(simulator, mixed):
    full = cycles(simulator.run(mixed, wanted(range(40))))
    for launches in ([3, 9, 27, 39], [0, 20, 21], [39]):
        assert cycles(simulator.run(mixed, wanted(launches))) == {f"0:{i}": full[f"0:{i}"] for i in launches}
    cold = cycles(simulator.run(mixed, wanted([39]), "--kernel_sampling_replay=0"))
    assert cold["0:39"] > full["0:39"], "without it the launch is the simulator's first"


def test_a_further_pass_begins_as_the_simulation_began(simulator, mixed):
    full = cycles(simulator.run(mixed, wanted(range(40))))
    for launches in ([5, 30], [2, 17], [39], [0]):
        text = "pass 0:8 0:33\n" + wanted(launches)
        later = cycles(simulator.run(mixed, text))
        assert {unit: later[unit] for unit in (f"0:{i}" for i in launches)} == {
            f"0:{i}": full[f"0:{i}"] for i in launches
        }


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


def test_the_simulators_own_statistics_count_only_what_was_simulated(simulator, mixed):
    run = simulator.run(mixed, wanted([39]))
    assert run.stats("memory.stat.out")["L1_HIT_GPU"][0] + run.stats("memory.stat.out")["L1_MISS_GPU"][0] == 4 * 40
    assert run.kernels() == ["0:39"]


def test_a_skipped_launch_may_lack_its_trace(simulator, mixed):
    for path in (mixed.parent / "Kernel2").glob("trace_*.raw"):
        path.unlink()
    kernels = [line.split("/")[1] for line in mixed.read_text().split()[3:]]
    assert "Kernel2" in kernels[:-1]
    last = max(i for i, kernel in enumerate(kernels) if kernel != "Kernel2")
    assert list(cycles(simulator.run(mixed, wanted([last])))) == [f"0:{last}"]


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

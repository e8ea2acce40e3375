"""Several applications in one run: launches, totals and bounds are kept apart."""

import numpy as np
import pytest

from kernelpoint.journal.text import plain
from kernelpoint.session import boundary
from kernelpoint.workload import Population

COUNTS = (300, 120)


def cost(process: int, index: int) -> float:
    return 1000.0 * (1 + process) + 37.0 * ((index * 7) % 11)


def run_two(folder, budget: str) -> dict:
    config = folder / "kernelpoint.yaml"
    config.write_text(f"version: 1\npolicy: random\nerror_budget: {budget}\njournal: {folder / 'run.kpjournal'}\n")
    info = {"simulator": "test", "config_hash": "gpu", "process_count": 2, "launch_counts": list(COUNTS)}
    session = boundary.open(str(config), info, lambda line: None)
    after, done = [-1, -1], [False, False]
    while not all(done):
        for process in (0, 1):
            status, index = session.next(process, after[process])
            done[process] = status == 1
            if status != 0:
                continue
            session.on_launch(process, index)
            cycles = cost(process, index)
            session.on_complete(process, index, False, int(cycles), int(3 * cycles), ("reads",), (5.0,))
            after[process] = index
    session.finish()
    session.journal.close()
    return plain(session.summary)


def test_each_application_has_its_own_total_and_meets_the_budget_by_itself(tmp_path):
    summary = run_two(tmp_path, "{relative_error: 0.02}")
    assert [p["launches"] for p in summary["processes"]] == list(COUNTS)
    assert summary["simulated"] == sum(p["simulated"] for p in summary["processes"]) < sum(COUNTS)
    for process, part in enumerate(summary["processes"]):
        own = part["estimates"]["cycles"]
        truth = sum(int(cost(process, i)) for i in range(COUNTS[process]))
        assert own["relative_half_width"] <= 0.02
        assert own["estimate"] == pytest.approx(truth, rel=0.02)
    assert sum(p["estimates"]["cycles"]["estimate"] for p in summary["processes"]) == pytest.approx(summary["estimate"])


def test_the_budget_may_be_put_on_a_ratio_which_the_summary_states_with_its_bound(tmp_path):
    summary = run_two(tmp_path, "{relative_error: 0.05, counter: ipc}")
    assert summary["counter"] == "ipc"
    assert summary["estimate"] == pytest.approx(3.0, rel=0.01)
    assert summary["ratios"]["ipc"]["relative_half_width"] <= 0.05


def test_a_process_alone_has_the_permanent_random_numbers_that_it_has_among_others():
    population = Population(counts=COUNTS, seed=3)
    np.testing.assert_array_equal(population.process(1).u, population.u[COUNTS[0] :])

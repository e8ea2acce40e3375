"""Several applications in one run, and hosts that run skipped launches functionally: no launch is lost or mixed up."""

from itertools import pairwise

import numpy as np
import pytest
from workloads import one_trace

from kernelpoint.journal.records import plain
from kernelpoint.program import Program
from kernelpoint.session import boundary
from kernelpoint.session.orders import DONE, EXECUTE, OK, SIMULATE

COUNTS = (300, 120)


def cost(process: int, index: int) -> float:
    return 1000.0 * (1 + process) + 37.0 * ((index * 7) % 11)


def run_two(folder, budget: str, policy: str = "random", **more) -> dict:
    config = folder / "kernelpoint.yaml"
    config.write_text(f"version: 1\npolicy: {policy}\nerror_budget: {budget}\njournal: {folder / 'run.kpjournal'}\n")
    info = {"simulator": "test", "config_hash": "gpu", "process_count": 2, "launch_counts": list(COUNTS), **more}
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
        cycles = part["estimates"]["cycles"]
        truth = sum(int(cost(process, i)) for i in range(COUNTS[process]))
        assert cycles["relative_half_width"] <= 0.02 * (1.0 + 1e-9)
        assert cycles["estimate"] == pytest.approx(truth, rel=0.02)
    assert sum(p["estimates"]["cycles"]["estimate"] for p in summary["processes"]) == pytest.approx(summary["estimate"])


def test_each_application_has_the_ctas_of_its_traces_which_the_host_does_not_report(tmp_path):
    folders = [tmp_path / str(process) for process in (0, 1)]
    for folder in folders:
        folder.mkdir()
    lists = [str(one_trace(folder, count)) for folder, count in zip(folders, COUNTS, strict=True)]
    summary = run_two(tmp_path, "{relative_error: 0.02}", "kernelpoint", list_paths=lists)
    assert summary["simulated"] < sum(COUNTS) == summary["counters"]["ctas"]["estimate"]
    for part, launches in zip(summary["processes"], COUNTS, strict=True):
        ctas = part["estimates"]["ctas"]
        assert (ctas["estimate"], ctas["half_width"], ctas["simulated"]) == (launches, 0.0, part["simulated"])


def test_the_budget_may_be_put_on_a_ratio_which_the_summary_states_with_its_bound(tmp_path):
    summary = run_two(tmp_path, "{relative_error: 0.05, counter: ipc}")
    assert summary["counter"] == "ipc"
    assert summary["estimate"] == pytest.approx(3.0, rel=0.01)
    assert summary["ratios"]["ipc"]["relative_half_width"] <= 0.05


def test_a_process_alone_has_the_permanent_random_numbers_that_it_has_among_others():
    population = Program(COUNTS, seed=3)
    np.testing.assert_array_equal(population.part(1).u, population.u[COUNTS[0] :])


YAML = "policy: random\nerror_budget: {relative_error: 0.005}\nreplay: {validation: 2}\nresume: never"


def walked(host, ahead, **info):
    """The summary of a run in which decisions are asked for so many launches ahead; passes go through the program again."""
    session, after, order = host.open(YAML, executes=True, **info), -1, []
    while (answer := session.next(0, after))[0] == OK:
        after = answer[1]
        order.append(after)
        for launch in range(min(after + ahead, len(host.cycles) - 1), after - 1, -1):
            action = session.on_launch(0, launch).action
        assert action in (SIMULATE, EXECUTE)
        if action == SIMULATE:
            host.complete(session, after)
    assert answer[0] == DONE and all(launch in (0, before + 1) for before, launch in pairwise(order))
    session.finish()
    return session.summary


@pytest.mark.parametrize("replays", [False, True], ids=["no validation", "validation"])
def test_a_launch_that_was_decided_ahead_is_still_named(host, replays):
    listed = one_trace(host.folder, len(host.cycles))
    info = {"state_lines": 64, "list_paths": [str(listed)]} if replays else {}
    plain, host.simulated = walked(host, 0, **info), []
    ahead = walked(host, 3, **info)
    assert ahead.estimate == plain.estimate and ahead.simulated == plain.simulated and ahead.never_completed == []
    assert not replays or len(host.simulated) > ahead.simulated

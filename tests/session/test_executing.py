"""A host that runs skipped launches functionally: it may ask for decisions ahead, and no launch is lost."""

from itertools import pairwise

import pytest

from kernelpoint.session.queue import DONE, EXECUTE, OK, SIMULATE

YAML = "policy: random\nerror_budget: {relative_error: 0.005}\nreplay: {validation: 2}\nresume: never"


def walked(host, ahead, **info):
    """The summary of a run in which decisions are asked for so many launches ahead; passes go through the program again."""
    session, after, order = host.open(YAML, executes=True, **info), -1, []
    while (found := session.next(0, after))[0] == OK:
        after = found[1]
        order.append(after)
        for launch in range(min(after + ahead, len(host.cycles) - 1), after - 1, -1):
            action = session.on_launch(0, launch).action
        assert action in (SIMULATE, EXECUTE)
        if action == SIMULATE:
            host.complete(session, after)
    assert found[0] == DONE and all(launch in (0, before + 1) for before, launch in pairwise(order))
    session.finish()
    return session.summary


@pytest.mark.parametrize("replays", [False, True], ids=["no validation", "validation"])
def test_a_launch_that_was_decided_ahead_is_still_named(host, replays):
    info = {}
    if replays:
        (host.folder / "kernel-1.traceg").write_text("-kernel name = k\n")
        (host.folder / "kernelslist.g").write_text("kernel-1.traceg\n" * len(host.cycles))
        info = {"state_lines": 64, "list_paths": [str(host.folder / "kernelslist.g")]}
    plain, host.simulated = walked(host, 0, **info), []
    ahead = walked(host, 3, **info)
    assert ahead.estimate == plain.estimate and ahead.simulated == plain.simulated and ahead.never_completed == []
    assert not replays or len(host.simulated) > ahead.simulated

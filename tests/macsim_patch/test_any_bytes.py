"""The hook in the miniature simulator, under sanitisers, on lists whose bytes were changed."""

import random

from changed_bytes import TRIES, changed, require_ended_or_refused


def test_whatever_a_list_holds_the_hook_ends_the_run_or_refuses_it(
    simulator, launches_in, instruction, replaying, record_property
):
    warp = [instruction("load", 16, 7 << 40), instruction("other", 32, branch="taken")]
    workload, chance = launches_in("list", [{number: warp} for number in range(5)]), random.Random(13)
    script = replaying(workload, [0, 1, 3], [2, 4])
    whole = workload.read_bytes()
    refused = 0
    for _ in range(TRIES):
        workload.write_bytes(changed(whole, chance))
        run = simulator.run(workload, script)
        refused += require_ended_or_refused(run, workload, workload.parent.parent)
    record_property("tried", TRIES)
    assert refused < TRIES

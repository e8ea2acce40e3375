"""The hook in the miniature simulator, under sanitisers, on lists and traces whose bytes were changed."""

import random

import pytest
from changed_bytes import TRIES, changed, require_ended_or_refused


@pytest.mark.parametrize("file", ["kernelslist.g", "kernel-2.traceg"])
def test_whatever_a_list_or_a_trace_holds_the_hook_ends_the_run_or_refuses_it(simulator, workload, record_property, file):
    path, chance = workload.parent / file, random.Random(11)
    whole = path.read_bytes()
    refused = 0
    for _ in range(TRIES):
        path.write_bytes(changed(whole, chance))
        launches = sum(line.startswith(b"kernel") for line in workload.read_bytes().splitlines())
        drawn = [[launch for launch in launches_of_pass if launch < launches] for launches_of_pass in ([0, 1, 3], [2, 4])]
        run = simulator.run(workload, "\n".join(f"pass {' '.join(map(str, each))}" for each in drawn))
        refused += require_ended_or_refused(run, path, workload.parent.parent)
    record_property("tried", TRIES)
    assert refused < TRIES

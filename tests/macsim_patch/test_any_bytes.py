"""The hook in the miniature simulator, under sanitisers, on lists and launches whose bytes were changed."""

import gzip
import random

import pytest
from changed_bytes import TRIES, changed, require_ended_or_refused


@pytest.mark.parametrize(
    ("file", "compressed"),
    [
        ("kernel_config.txt", False),
        ("Kernel1/trace.txt", False),
        ("Kernel1/trace_info.txt", False),
        ("Kernel1/trace_1.raw", False),
        ("Kernel1/trace_1.raw", True),
    ],
)
def test_whatever_a_list_or_a_launch_holds_the_hook_ends_the_run_or_refuses_it(
    simulator, launches_in, instruction, replaying, record_property, file, compressed
):
    launches = [
        {
            warp: [instruction("load", 16, (7 << 40) + line * 128), instruction("other", 32, branch="taken")]
            for warp in range(2)
        }
        for line in range(5)
    ]
    workload, chance = launches_in("list", launches), random.Random(13)
    path, script = workload.parent / file, replaying(workload, [0, 1, 3], [2, 4])
    whole = path.read_bytes()
    refused = 0
    for _ in range(TRIES):
        path.write_bytes(
            gzip.compress(changed(gzip.decompress(whole), chance)) if compressed else changed(whole, chance)
        )
        run = simulator.run(workload, script)
        refused += require_ended_or_refused(run, path, workload.parent.parent)
    record_property("tried", TRIES)
    assert refused < TRIES

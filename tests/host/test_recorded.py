"""The host on recorded traces, checked against an index of them that was made by other means."""

import pytest
from recorded_traces import ACCELSIM, index_of, unpacked


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    (listed,) = unpacked(f"{ACCELSIM}/simpletorch3", tmp_path_factory.mktemp("recorded")).rglob("kernelslist.g")
    return listed


@pytest.mark.parametrize("sms", [80, 1])
def test_every_recorded_instruction_is_issued_once(bench, recorded, sms):
    bench.gpu.update(sms=sms, schedulers_per_sm=4)
    done = bench.run_list(recorded)
    assert done.code == 0, done.stderr
    index = index_of("simpletorch3")
    assert len(done.rows) == len(index) == 131
    for row in done.rows:
        expected = index[row["trace"]]
        assert row["kernel_name"] == expected["name"]
        assert row["warp_instructions"] == expected["warp_insts"]
        assert row["ctas"] == expected["tbs"]


def test_more_sms_make_no_recorded_launch_much_slower(bench, recorded):
    bench.gpu.update(schedulers_per_sm=4)
    few = bench.run_list(recorded).cycles
    bench.gpu.update(sms=80)
    many = bench.run_list(recorded).cycles
    assert sum(many) < sum(few)
    # Spread CTAs share less of L1: a launch may lose a few L2 latencies, no more.
    assert all(m < 1.25 * o for m, o in zip(many, few, strict=True))

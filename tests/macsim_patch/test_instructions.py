"""Instructions of a warp that MacSim's reader leaves out: the last one, but not always."""

import pytest

from kernelpoint.traces import scan_trace


@pytest.fixture
def unread(launches_in, instruction):
    """Count the records of a one-warp launch that MacSim leaves out, from their kinds."""

    def ask(*kinds):
        warp = [instruction(k.split()[0], 16, 128 * i, further="further" in k) for i, k in enumerate(kinds)]
        trace_list = launches_in(f"list{len(kinds)}", [{0: warp}])
        return scan_trace(trace_list.parent / "Kernel0" / "trace.txt").work.unread_instructions

    return ask


def test_the_last_instruction_of_a_warp_is_left_out(unread):
    assert unread("load", "other", "other") == 1


def test_a_further_sector_before_the_last_record_stands_in_for_it(unread):
    assert unread("load", "load further", "other") == 0
    assert unread("load", "load further", "other", "other") == 1


@pytest.mark.parametrize(("records", "left_out"), [(1, 0), (2, 1), (1000, 1), (1001, 0), (1002, 1), (2001, 0)])
def test_a_warp_that_ends_with_the_readers_buffer_is_read_whole(unread, records, left_out):
    assert unread(*["other"] * records) == left_out

"""Last accesses of one launch to each line."""

from hypothesis import given, settings
from hypothesis import strategies as st
from lists import BASE, access, launch_text
from state_oracle import slow_footprint
from trace_writer import small_trace

from kernelpoint import _native

UNKNOWN = (0, 0, 0, 0, 0)
OPCODES = ["LDG.E", "LDG.E.64", "LDG.E.U8", "STG.E", "STG.E.128", "STG.E.U8", "ATOMG.E.ADD", "LDS", "MOV", "LD.E"]
INSTRUCTION = st.builds(access, st.sampled_from(OPCODES), st.integers(0, 2000), st.sampled_from([0xFFFFFFFF, 1, 0xFF]))
CTAS = st.lists(st.lists(INSTRUCTION, max_size=4), min_size=1, max_size=4)


def rows(touches) -> list[tuple[int, int, int, int]]:
    return [(int(t["line"]), int(t["touched"]), int(t["written"]), int(t["filled"])) for t in touches]


@given(ctas=CTAS, slots=st.integers(1, 3))
@settings(max_examples=60)
def test_a_footprint_is_that_of_every_byte_of_every_access(tmp_path_factory, ctas, slots):
    path = tmp_path_factory.mktemp("t") / "kernel-1.traceg"
    path.write_text(launch_text(*ctas))
    touches, _ = _native.footprint(str(path), (slots, 1, 0, 0, 0))
    assert rows(touches) == slow_footprint(str(path), min(slots, len(ctas)))


def test_masks_say_what_was_read_written_and_filled(lists):
    path = lists.trace(1, launch_text([access("LDG.E", 0, 0xFF), access("STG.E", 32, 0xFF), access("STG.E", 64, 0x1)]))
    touches, _ = _native.footprint(path, UNKNOWN)
    assert rows(touches) == [(BASE, 0b0001, 0, 0b0001), (BASE, 0b0010, 0b0010, 0b0010), (BASE, 0b0100, 0b0100, 0)]


def test_sectors_that_were_touched_last_together_are_one_touch(lists):
    """A load of the whole line, then a store to its second sector, then one to two lines."""
    path = lists.trace(1, launch_text([access("LDG.E", 0), access("STG.E", 32, 0xFF), access("STG.E", 96)]))
    touches, _ = _native.footprint(path, UNKNOWN)
    expected = [(0, 0b0101, 0), (0, 0b0010, 0b0010), (0, 0b1000, 0b1000), (128, 0b0111, 0b0111)]
    assert [(line - BASE, touched, written) for line, touched, written, _ in rows(touches)] == expected


def test_what_a_warp_loads_again_soon_comes_from_the_l1(lists):
    """Line 0 is loaded first and once more after 127 or 128 other sectors: only then it is the newest in the L2."""
    for others, newest in ((127, 128 + 32 * 126), (128, 0)):
        loads = [access("LDG.E.U8", offset, 1) for offset in (0, *(128 + 32 * i for i in range(others)), 0)]
        path = lists.trace(others, launch_text(loads))
        assert int(_native.footprint(path, UNKNOWN)[0][-1]["line"]) - BASE == newest // 128 * 128


def test_stores_and_atomics_reach_the_l2_each_time(lists):
    for opcode in ("STG.E.U8", "ATOMG.E.ADD"):
        accesses = [access(opcode, 0, 1), access("LDG.E", 128, 1), access(opcode, 0, 1)]
        touches, _ = _native.footprint(lists.trace(1, launch_text(accesses)), UNKNOWN)
        assert [int(t["line"]) - BASE for t in touches] == [128, 0]


def test_the_l1_of_one_warp_is_not_that_of_the_next(lists):
    """Two CTAs, one after the other, load line 0 and line 1: the second's touches are newer."""
    path = lists.trace(1, launch_text([access("LDG.E", 0), access("LDG.E", 128)], [access("LDG.E", 0)]))
    assert [int(t["line"]) - BASE for t in _native.footprint(path, UNKNOWN)[0]] == [128, 0]


def test_ctas_that_run_side_by_side_touch_in_turns(lists):
    """Two CTAs of two loads: one after the other on one SM, in turns on two."""
    path = lists.trace(1, launch_text(*([access("LDG.E", 4096 * c + 128 * i) for i in range(2)] for c in range(2))))
    order = {sms: [int(t["line"]) - BASE for t in _native.footprint(path, (sms, 1, 0, 0, 0))[0]] for sms in (1, 2)}
    assert order == {1: [0, 128, 4096, 4224], 2: [0, 4096, 128, 4224]}


def test_as_many_ctas_run_at_once_as_registers_and_shared_memory_allow(lists):
    text = small_trace("", grid="(4,1,1)", block="(32,1,1)")
    body = launch_text(*([access("LDG.E", 4096 * c), access("LDG.E", 4096 * c + 128)] for c in range(4)), grid=4)
    assert "-nregs = 16" in text and "-shmem = 0" in text
    path = lists.trace(1, body)

    def order(*residency):
        return [int(t["line"]) - BASE for t in _native.footprint(path, residency)[0]]

    one_after_the_other = order(1, 1, 0, 0, 0)
    assert order(1, 32, 64, 512, 0) == one_after_the_other, "512 registers hold one warp of 16 registers"
    assert order(1, 32, 64, 65536, 0) != one_after_the_other


def test_a_footprint_takes_about_two_bytes_a_line(lists):
    path = lists.trace(1, launch_text([access("LDG.E", 128 * i) for i in range(300)]))
    touches, packed = _native.footprint(path, UNKNOWN)
    assert len(touches) == 300 and len(packed) < 3 * 300

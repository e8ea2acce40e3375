"""The walk back over earlier launches, against every touch of every launch."""

import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lists import BASE, EVERYTHING, Lists, access, launch_text
from state_oracle import State, slow_footprint, state_of
from trace_writer import cta, small_trace

from kernelpoint import _native
from kernelpoint.errors import TraceError
from kernelpoint.traces.replay import Footprints

LINE = st.integers(0, 15).map(lambda line: 128 * line)
ACCESS = st.builds(
    lambda opcode, line, mask: access(opcode, line, mask),
    st.sampled_from(["LDG.E", "STG.E", "STG.E.U8", "ATOMG.E.ADD"]), LINE, st.sampled_from([0xFFFFFFFF, 0xFF, 0xF]),
)  # fmt: skip
TRACES = st.lists(st.lists(ACCESS, min_size=1, max_size=5), min_size=1, max_size=4)
COPY = st.tuples(LINE, st.integers(0, 600))


def truth(folder: Lists, commands, launch: int, capacity: int, copies: bool) -> State:
    """The state before a launch, from every touch of every launch and copy before it."""
    state, seen = State(capacity), 0
    for command in commands:
        if isinstance(command, tuple):
            if copies:
                state.copy(BASE + command[0], command[1])
            continue
        if seen == launch:
            return state
        seen += 1
        for touch in slow_footprint(str(folder.folder / f"kernel-{command}.traceg"), 1):
            state.touch(*touch)
    raise AssertionError("no such launch")


def drawn_list(tmp_path_factory, traces, data, end) -> tuple[Lists, list, int]:
    """Files of these traces, commands that launch some of them and copy, and the place of the last launch."""
    lists = Lists(tmp_path_factory.mktemp("list"))
    for number, lines in enumerate(traces):
        lists.trace(number, launch_text(lines))
    commands = [*data.draw(st.lists(st.one_of(st.integers(0, len(traces) - 1), COPY), max_size=12)), *end]
    return lists, commands, sum(not isinstance(command, tuple) for command in commands) - 1


@given(traces=TRACES, data=st.data(), copies=st.booleans(), rows=st.booleans())
@settings(max_examples=30, deadline=None)
def test_everything_is_restored_where_the_walk_reaches_the_first_launch(tmp_path_factory, traces, data, copies, rows):
    lists, commands, launch = drawn_list(tmp_path_factory, traces, data, [0])
    replayed = lists.replay(lists.write(commands), copies_fill=copies, keeps_rows=rows).before(launch)
    expected = truth(lists, commands, launch, EVERYTHING, copies)
    assert list(state_of(replayed.touches, EVERYTHING).lines.items()) == list(expected.lines.items())
    assert not replayed.covered


@given(traces=TRACES, data=st.data(), capacity=st.integers(1, 12))
@settings(max_examples=30, deadline=None)
def test_the_lines_of_a_full_cache_are_restored_in_their_order(tmp_path_factory, traces, data, capacity):
    lists, commands, launch = drawn_list(tmp_path_factory, traces, data, [0])
    replayed = lists.replay(lists.write(commands), capacity, copies_fill=True).before(launch)
    expected = truth(lists, commands, launch, capacity, True)
    assert list(state_of(replayed.touches, capacity).lines) == list(expected.lines)
    assert replayed.covered == (len(expected.lines) == capacity)


def first_reads(folder: Lists, commands, launch: int) -> list[tuple[int, int]]:
    """(line address, sectors) that no launch before has filled, and copies in full, from every touch of every launch."""
    reads, filled, copied, seen, met = [], {}, set(), 0, set()
    for command in commands:
        if isinstance(command, tuple):
            first, last = BASE + command[0], BASE + command[0] + command[1] - 1
            lines = [line * 128 for line in range(first // 128, last // 128 + 1) if command[1] and line not in copied]
            reads += [(line, 0xF) for line in lines]
            copied |= {line // 128 for line in lines}
            continue
        if seen == launch:
            return reads
        seen += 1
        if command in met:
            continue
        met.add(command)
        for line, _, written, full in slow_footprint(str(folder.folder / f"kernel-{command}.traceg"), 1):
            if read := full & ~written & ~filled.get(line, 0):
                reads.append((line, read))
            filled[line] = filled.get(line, 0) | full
    raise AssertionError("no such launch")


@given(traces=TRACES, data=st.data())
@settings(max_examples=30, deadline=None)
def test_what_launches_were_the_first_to_read_comes_first(tmp_path_factory, traces, data):
    lists, commands, last = drawn_list(tmp_path_factory, traces, data, [0, 0])
    path = lists.write(commands)
    replay = lists.replay(path, copies_fill=True, keeps_rows=True)
    plain = lists.replay(path, copies_fill=True)
    for launch in (last, last - 1):  # the second asks about fewer launches than are known already
        expected = first_reads(lists, commands, launch)
        touches, without = replay.before(launch).touches, plain.before(launch).touches
        assert [(int(t["line"]), int(t["touched"])) for t in touches[: len(expected)]] == expected
        assert not touches[: len(expected)]["written"].any()
        assert touches[len(expected) :].tolist() == without.tolist()


def test_no_first_reads_come_where_the_state_is_covered(lists):
    lists.trace(0, launch_text([access("LDG.E", 0), access("LDG.E", 128)]))
    path = lists.write([0, 0])
    (first, second) = (lists.replay(path, 2, keeps_rows=rows).before(1) for rows in (True, False))
    assert first.covered and first.touches.tolist() == second.touches.tolist()


def test_a_walk_does_not_depend_on_the_walks_before_it(lists):
    for number in range(6):
        lists.trace(number, launch_text([access("STG.E", 128 * number), access("LDG.E", 256)]))
    path = lists.write([0, 1, 2, 3, (512, 300), 4, 5])
    in_order = [lists.replay(path, 4, copies_fill=True).before(i).touches.tolist() for i in range(6)]
    replay = lists.replay(path, 4, copies_fill=True)
    assert [replay.before(i).touches.tolist() for i in (5, 4, 3, 2, 1, 0)] == in_order[::-1]


def test_a_walk_ends_where_no_distinct_trace_is_left(lists):
    for number in range(2):
        lists.trace(number, launch_text([access("LDG.E", 128 * number)]))
    replay = lists.replay(lists.write([0, 1] * 500))
    assert replay.before(999).launches == 2


def test_a_trace_that_cannot_be_read_is_named_once_and_passed(lists):
    lists.trace(0, launch_text([access("LDG.E", 0)]))
    lists.trace(1, "-kernel name = broken\n")
    replay = lists.replay(lists.write([0, 1, 0, 1, 0]))
    assert [replay.before(i).unreadable for i in (4, 2, 1)] == [1, 1, 0]
    assert [int(t["line"]) for t in replay.before(4).touches] == [BASE]
    assert len(lists.said) == 1 and "kernel-1.traceg" in lists.said[0]


@pytest.mark.parametrize("memory", [0, 40, 1 << 20])
def test_memory_is_bounded_and_changes_nothing(lists, memory):
    for number in range(8):
        lists.trace(number, launch_text([access("LDG.E", 1280 * number + 128 * i) for i in range(10)]))
    replay = lists.replay(lists.write([*range(8), 0]), memory=memory)
    walks = [replay.before(8) for _ in range(2)]
    assert replay.memory <= memory
    assert [len(w.touches) for w in walks] == [80, 80]
    assert walks[0].touches.tolist() == walks[1].touches.tolist()


def test_footprints_outlive_the_process(lists, tmp_path, monkeypatch):
    cache = tmp_path / "cache"
    trace = lists.trace(0, launch_text([access("LDG.E", 0)]))
    path = lists.write([0, 0])
    first = lists.replay(path, cache=cache).before(1).touches.tolist()
    save, saved = Footprints.save, []
    monkeypatch.setattr(Footprints, "save", lambda kept, *given: saved.append(given) or save(kept, *given))
    assert lists.replay(path, cache=cache).before(1).touches.tolist() == first and saved == []
    assert lists.replay(path, cache=cache, residency=(2, 1, 0, 0, 0)).before(1).touches.tolist() == first
    assert len(saved) == 1, "of another GPU"
    os.utime(trace, ns=(0, 0))
    assert lists.replay(path, cache=cache).before(1).touches.tolist() == first and len(saved) == 2


def test_a_damaged_cache_is_replaced(lists, tmp_path):
    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / "artefacts.sqlite").write_bytes(b"no database" * 100)
    lists.trace(0, launch_text([access("LDG.E", 0)]))
    assert len(lists.replay(lists.write([0, 0]), cache=cache).before(1).touches) == 1
    assert "damaged" in lists.said[0]


def test_ctas_of_all_earlier_launches_are_counted_from_their_headers(lists):
    for number, grid in enumerate([3, 7]):
        lists.trace(number, launch_text([access("LDG.E", 0)], grid=grid))
    replay = lists.replay(lists.write([0, 1, 1, 0]), counts_ctas=True)
    assert [replay.before(i).earlier_ctas for i in (3, 0, 1, 2)] == [17, 0, 3, 10]
    assert lists.replay(lists.write([0, 1])).before(1).earlier_ctas == 0


def test_grids_reach_back_to_where_each_sm_was_given_a_cta(lists):
    short, long = [access("LDG.E", 0)], [access("LDG.E", 0)] * 2
    for number, ctas in enumerate([[cta(short, short)] * 3, [cta(short, long, short)], [cta(long, short)]]):
        lists.trace(number, small_trace("".join(ctas), grid=f"({len(ctas)},1,1)", block=f"({(64, 96, 64)[number]},1,1)"))
    lists.trace(3, "-kernel name = broken\n")
    replay = lists.replay(lists.write([0, 1, 2, 3, 2]), counts_ctas=True, residency=(2, 1, 0, 0, 0))
    grids = [replay.before(launch).grids.tolist() for launch in range(5)]
    of = [(3, 2, 1), (1, 3, 1), (1, 2, 0), (0, 0, 0)]
    assert grids == [[], [of[0]], [of[1], of[0]], [of[2], of[1]], [of[3], of[2], of[1]]]
    assert not len(lists.replay(lists.write([0, 1]), residency=(2, 1, 0, 0, 0)).before(1).grids), "not wanted"


def test_a_launch_that_is_not_in_the_list_is_refused(lists):
    lists.trace(0, launch_text([access("LDG.E", 0)]))
    with pytest.raises(IndexError, match="launch 1 is not in the list"):
        lists.replay(lists.write([0])).before(1)


def test_a_list_that_cannot_be_read_is_refused(lists):
    with pytest.raises(TraceError, match=r"kernelslist\.g"):
        lists.replay(str(lists.folder / "kernelslist.g"))


def test_launches_of_equal_traces_are_one_content_whose_footprint_is_made_once(tmp_path):
    lists = Lists(tmp_path)
    reading, other = launch_text([access("LDG.E", 0)]), launch_text([access("STG.E", 256)])
    for number in range(6):
        lists.trace(number, reading if number % 2 else other)
    listed = lists.write([*range(6), (1024, 64), 0])
    contents = np.array([0, 1, 0, 1, 0, 1, 0], dtype=np.int32)
    by_path = lists.replay(listed, copies_fill=True)
    by_content = lists.replay(listed, copies_fill=True, contents=contents)
    for launch in range(7):
        expected, shared = by_path.before(launch), by_content.before(launch)
        assert np.array_equal(shared.touches, expected.touches)
    assert by_content.memory < by_path.memory


@pytest.mark.parametrize("content", [1, -1, -2])
def test_contents_that_are_not_of_the_list_are_refused(tmp_path, content):
    lists = Lists(tmp_path)
    lists.trace(1, launch_text([access("LDG.E", 0)]))
    with pytest.raises(ValueError, match=r"content of launch 0|launch 0 was not traced"):
        _native.Replay(
            np.array([content], np.int32), ["kernel-1.traceg"], np.zeros((0, 3), np.uint64), lines=1, residency=(1,) * 5,
            with_copies=False, counts_ctas=False, first_reads=False, by_sm=False, predictor=(0, 0), caches=(1,) * 6,
            trained=b"", memory=1, load=print, save=print, refuse=print,
        )  # fmt: skip


@given(traces=TRACES, data=st.data())
@settings(max_examples=30, deadline=None)
def test_the_launches_right_before_one_leave_the_lines_that_they_touch_as_well(tmp_path_factory, traces, data):
    lists = Lists(tmp_path_factory.mktemp("list"))
    for number, lines in enumerate(traces):
        lists.trace(number, launch_text(lines))
    commands = data.draw(st.lists(st.integers(0, len(traces) - 1), min_size=1, max_size=8))
    launch, most = len(commands) - 1, data.draw(st.integers(1, 9))
    lines = [{touch[0] for touch in slow_footprint(str(lists.folder / f"kernel-{c}.traceg"), 1)} for c in commands]
    counts = [len(lines[launch] & set().union(*lines[launch - d : launch])) for d in range(1, min(most, launch) + 1)]
    replay = lists.replay(lists.write(commands))
    assert replay.shares_left(launch, most).tolist() == [count / len(lines[launch]) for count in counts]
    with pytest.raises(IndexError):
        replay.shares_left(launch + 1, most)


def test_what_a_launch_larger_than_the_state_drives_out_is_not_left(tmp_path):
    lists = Lists(tmp_path)
    lists.trace(0, launch_text([access("LDG.E", 0)]))
    lists.trace(1, launch_text([access("LDG.E", 128 * line) for line in range(1, 9)]))
    commands = lists.write([0, 1, 0])
    assert lists.replay(commands, 16).shares_left(2, 2).tolist() == [0.0, 1.0]
    assert lists.replay(commands, 8).shares_left(2, 2).tolist() == [0.0, 0.0]

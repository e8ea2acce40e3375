"""The calls of a run through C and Python: what goes in arrives, what comes back is what was answered."""

import struct

import pytest

ECHO = """
def on_launch(*given): log(repr(given)); return 1, 2, 3, 1, 0, 1
def on_progress(*given): log(repr(given)); return 1
def on_complete(*given): log(repr(given)); kept.setdefault(id(given[5])); log(f"{len(kept)} names")
def on_abort(*given): log(repr(given))
"""


def test_host_information_arrives(host):
    run = host("open", script="log(repr(sorted(info.items())))")
    assert run.one("open") == "0 session"
    assert dict(eval(run.one("log"))) == {
        "simulator": "scripted",
        "version": "1.0",
        "config_hash": "abc",
        "concurrent": False,
        "can_stop": True,
        "process_count": 2,
        "list_paths": ["/lists/kernelslist.g", None],
        "launch_counts": [7, 0],
        "configuration": "",
        "needs_whole_traces": False,
        "has_no_traces": False,
        "stateless": False,
        "is_deterministic": False,
        "executes": False,
        "architectures": [],
        "descriptions": None,
        "counter_names": [],
    }


def test_what_the_host_keeps_between_launches_arrives_with_its_bytes_in_hexadecimal_digits(host):
    run = host("keep:0102ff", "open", script="log(repr(sorted(info.items())))")
    stated = dict(eval(run.one("log")))
    assert {name: stated[name] for name in ("state_lines", "residency", "not_replayed", "state_bytes")} == {
        "state_lines": 64,
        "residency": (1, 2, 3, 4, 5),
        "not_replayed": "",
        "state_bytes": "0102ff",
    }
    assert [stated[name] for name in ("restores", "copies_fill", "keeps_rows", "counts_ctas")] == [False, True] * 2


REPLAYED = """
from types import SimpleNamespace
def replay_before(process, launch):
    import numpy
    touches = numpy.array([(4096, 3, 1, 2, 0, 7), (8192, 1, 0, 1, 0, 0)], "u8,u1,u1,u1,u1,u4")
    grids = numpy.array([(80, 4, 1)], "u8,u4,u4")
    return SimpleNamespace(touches=touches, grids=grids, state_bytes=b"ab", covered=True, launches=launch, unreadable=0,
                           earlier_ctas=9)
"""


@pytest.mark.parametrize("more", [0, 8])
def test_the_state_before_a_launch_returns_in_elements_of_the_hosts_size(host, more):
    run = host("keep:00", "open", f"replay:{more}", script=REPLAYED)
    assert run.one("replay") == "0 4096/3/7 8192/1/0 grid 80/4/1 byte 97 byte 98"


def test_elements_smaller_than_the_first_ones_are_refused(host):
    run = host("keep:00", "open", "replay:-1", script=REPLAYED)
    assert run.one("replay").startswith("-1 replay.touch_size and grid_size are 15 and 15, expected sizeof(kp_touch)")


def test_what_is_not_replayed_and_the_known_architectures_arrive(host):
    run = host("know:2", "open", script="log(repr((info['not_replayed'], info['architectures'])))")
    assert eval(run.one("log")) == ("-network_mode 1", [70, 90])


@pytest.mark.parametrize(
    ("stated", "refusal"),
    [
        ("know:none", "host.architecture_count is 1, expected 0 to 256, and architectures not NULL"),
        ("know:257", "host.architecture_count is 257, expected 0 to 256, and architectures not NULL"),
        ("names:l2_misses,NULL", "host.counter_names[1] is NULL none"),
        ("describe:0", "host.descriptions is not NULL, but host.launch_counts names no launches"),
    ],
)
def test_a_number_of_entries_without_them_is_refused(host, stated, refusal):
    assert host(stated, "open").one("open").startswith(f"-1 {refusal}")


@pytest.mark.parametrize("names", [[], ["l2_misses"], ["l2_misses", "dram_reads"]], ids=len)
def test_the_names_of_counters_arrive_be_there_none(host, names):
    run = host("names:" + ",".join(names), "open", script="log(repr(info['counter_names']))")
    assert eval(run.one("log")) == names


def test_a_launch_arrives_and_its_decision_returns(host):
    run = host("open", "launch:5", script=ECHO)
    assert eval(run.one("log")) == (1, 5, "kernel-1.traceg")
    assert run.one("launch") == "0 action=1 index=5 pass=2 flags=5 interval=3"


def test_the_trace_of_another_launch_than_the_next_one_is_not_handed_on(host):
    script = ECHO + "def next(process, after): return 0, after + 2"
    assert eval(host("open", "launch:5", script=script).one("log")) == (1, 6, None)


@pytest.mark.parametrize(("step", "after"), [("next:first", -1), ("next:end", -2), ("next:0", 0), ("next:41", 41)])
def test_positions_in_the_list_arrive_and_pending_returns(host, step, after):
    run = host("open", step, script="def next(*given): log(repr(given)); return 2, -1")
    assert eval(run.one("log")) == (0, after)
    assert run.one("next") == "2 none"


def test_the_next_launch_returns(host):
    run = host("open", "next:first", "next:2", "next:3", "next:end")
    assert run.of("next") == ["0 0", "0 3", "1 none", "1 none"]


def test_progress_arrives_and_stop_returns(host):
    run = host("open", "progress:1234", script=ECHO)
    assert eval(run.one("log")) == (0, 1, 1234, 5, 6, 7, 8)
    assert run.one("progress") == "0 1"


def test_results_arrive_with_the_names_that_the_host_stated(host):
    run = host("names:l2_misses,dram_reads", "open", "complete:7", "complete:8", "complete:9+", script=ECHO)
    first, names, second, names_again = run.of("log")
    assert eval(first) == (0, 7, True, 100, 200, ("l2_misses", "dram_reads"), (1.5, 2.0))
    assert eval(second)[1] == 8
    assert names == names_again == "1 names"
    assert run.of("complete")[2].startswith("-1 result.counter_count is 3, host.counter_count is 2:")


def test_an_abort_arrives_with_its_reason(host):
    assert eval(host("open", "abort:9", script=ECHO).one("log")) == (0, 9, "ran out of memory")


def test_cost_and_summary_return(host):
    run = host("open", "cost:0", "cost:3", "finish", "finish")
    assert run.of("cost") == ["0 12.5 3 flags=1 counters=2 NULL", "0 12.5 3 flags=0 counters=0 gemm_1_3"]
    summary = (
        "0 flags=2 launches=7 simulated=1 skipped=6 projected=1 passes=1 confidence=0.95 cycle_speedup=7.5 "
        "saved_seconds=12.5 "
        "cycles=100+-1.5/10 instructions=200+-nan/20 sampling ipc=2+-0.5/2.5 ratio sampling"
    )
    assert run.of("finish") == [summary, summary]


def test_each_process_has_its_own_counts_and_estimates(host):
    run = host("open", "finish:0", "finish", "finish:0", "finish:1", "finish:2", "estimate:2", "estimate:3")
    early, _, first, second, unknown = run.of("finish")
    assert early.startswith("-1 results were asked for before the run was finished")
    assert first.startswith("0 flags=2 launches=4 simulated=1 skipped=3 projected=1 passes=1 confidence=0.95")
    assert first.endswith(" cycles=100+-1.5/10")
    assert " launches=3 simulated=0 skipped=3 " in second
    assert unknown.startswith("-1 process: got 2; there are 2 flags=0 launches=0")
    assert run.of("estimate") == ["0", "1"], "KP_DONE behind the last"


@pytest.mark.parametrize("processes", ["[(1, 4, 1, [])]", "[(0, 4)]", "None"])
def test_a_summary_of_another_shape_is_a_defect(host, processes):
    script = f"""
from types import SimpleNamespace
def finish():
    counts = dict(flags=0, launches=4, simulated=1, skipped=3, projected=0, passes=1, confidence=0.95)
    counts |= dict(cycle_speedup=4.0, saved_seconds=float("nan"))
    return SimpleNamespace(**counts, estimates=[], ratios=[], processes={processes})
"""
    run = host("open", "finish", "launch:0", script=script)
    assert run.one("finish").startswith("-4 ")
    assert run.one("launch").startswith("0 ")


def test_a_thread_with_too_little_stack_is_refused_and_others_go_on(host):
    run = host("on_stack:256:open", "open", "on_stack:256:launch:0", "on_stack:1024:launch:0", "launch:1")
    small, enough, main = run.of("launch")
    assert small.startswith("-1 the calling thread has 2")
    assert "KiB of stack left, the plugin needs 512" in small and small.endswith("action=0 index=-1 pass=0 flags=0 interval=0")
    assert run.of("open")[0].startswith("-1 the calling thread has 2")
    assert [enough, main] == [f"0 action={i} index={i} pass=0 flags=0 interval=100" for i in (0, 1)]


def test_the_least_stack_is_enough_for_numpy(host):
    run = host("open", "on_stack:640:launch:0", script="def on_launch(*given): import numpy; return 0, 0, 0, 0, 0, 0")
    assert run.one("launch") == "0 action=0 index=0 pass=0 flags=0 interval=0"


def test_two_sessions_live_in_one_process(host):
    run = host("open", "launch:0", "open", "launch:1", "finish")
    assert run.of("open") == ["0 session"] * 2
    assert run.of("launch") == [f"0 action={i} index={i} pass=0 flags=0 interval=100" for i in (0, 1)]


def test_a_session_opened_in_one_thread_serves_another(host):
    run = host("open_elsewhere", "launch:1", "finish")
    assert run.one("launch") == "0 action=1 index=1 pass=0 flags=0 interval=100"
    assert run.code == 0


def test_several_threads_ask_at_once(host):
    run = host("open", "threads:4", "launch:0")
    assert run.one("threads") == "0 wrong"
    assert run.one("launch").startswith("0 action=0")


def test_calls_on_one_session_never_overlap(host):
    script = """
import time
def on_launch(process, index, *rest):
    assert not kept.get("busy"), "two calls at once"
    kept["busy"] = True
    time.sleep(0)
    kept["busy"] = False
    return index % 2, 0, 0, 0, 0, 0
"""
    assert host("open", "threads:3", script=script).one("threads") == "0 wrong"


def test_a_forked_child_gets_answers_too(host):
    run = host("open", "launch:0", "fork:1", "launch:2")
    assert run.of("fork") == ["0 action=1 index=1 pass=0 flags=0 interval=100", "child 0"]
    assert run.of("launch")[1] == "0 action=1 index=2 pass=0 flags=0 interval=100"


@pytest.mark.parametrize("leave", ["exit", "_exit"])
@pytest.mark.parametrize("imports", ["", "import numpy"])
def test_leaving_without_a_word_is_clean_and_loses_no_record(host, tmp_path, leave, imports):
    journal = tmp_path / "records"
    script = f"""
{imports}
kept["file"] = open({str(journal)!r}, "w")
def on_complete(process, index, *rest): print("done", index, file=kept["file"], flush=True)
"""
    run = host("open", "complete:1", "complete:2", leave, script=script)
    assert run.code == 0
    assert run.stderr == ""
    assert journal.read_text() == "done 1\ndone 2\n"


DESCRIBED = "log(repr({name: getattr(column, 'hex', lambda: column)() for name, column in info['descriptions'].items()}))"


def test_descriptions_of_launches_arrive_column_by_column(host):
    run = host("describe:2", "open", script=DESCRIBED)
    columns = eval(run.one("log"))
    assert columns["names"] == ["gemm", "gemm"]
    assert bytes.fromhex(columns["extents"]) == (1).to_bytes(4, "little") * 2
    assert bytes.fromhex(columns["shapes"]) == b"".join(number.to_bytes(8, "little") for number in (64, 65))
    assert bytes.fromhex(columns["keys"]) == b"".join(number.to_bytes(8, "little") for number in (7, 8))
    assert columns["costs"] == struct.pack("<2d", 1.5, 2.5).hex() and columns["features"] == ""

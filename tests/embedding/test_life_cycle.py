"""The calls of a run through C and Python: what goes in arrives, what comes back is what was answered."""

import struct

import pytest

ECHO = """
def on_launch(*given): log(repr(given)); return 1, 2, 3, 1, 0, 1
def next(*given): log(repr(given)); return 2, -1
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
        "state_lines": 0,
        "residency": (0, 0, 0, 0, 0),
        "copies_fill": False,
        "counts_ctas": False,
        "keeps_l1": False,
        "keeps_rows": False,
        "needs_whole_traces": False,
        "has_no_traces": False,
        "stateless": False,
        "is_deterministic": False,
        "executes": False,
        "restores": False,
        "not_replayed": "",
        "architectures": [],
        "descriptions": None,
        "predictor": (0, 0),
        "counter_names": None,
    }


def test_what_is_not_replayed_and_the_known_architectures_arrive(host):
    run = host("know:2", "open", script="log(repr((info['not_replayed'], info['architectures'])))")
    assert eval(run.one("log")) == ("-network_mode 1", [70, 90])


@pytest.mark.parametrize(("known", "count"), [("none", 1), ("257", 257)])
def test_a_number_of_architectures_without_them_is_refused(host, known, count):
    run = host(f"know:{known}", "open")
    assert run.one("open").startswith(
        f"-1 info.architecture_count is {count}, expected 0 to 256, and architectures not NULL"
    )


@pytest.mark.parametrize("names", [[], ["l2_misses"], ["l2_misses", "dram_reads"]], ids=len)
def test_the_names_of_counters_arrive_be_there_none(host, names):
    run = host("names:" + ",".join(names), "open", script="log(repr(info['counter_names']))")
    assert eval(run.one("log")) == names


def test_names_of_counters_that_are_null_are_refused(host):
    run = host("names:l2_misses,NULL", "open")
    assert run.one("open") == "-1 info.counter_names[1] is NULL none"


def test_a_launch_arrives_and_its_decision_returns(host):
    run = host("open", "launch:5", script=ECHO)
    assert eval(run.one("log")) == (1, 5, "kernel-1.traceg")
    assert run.one("launch") == "0 action=1 pass=2 interval=3"


@pytest.mark.parametrize(("step", "after"), [("next:first", -1), ("next:end", -2), ("next:0", 0), ("next:41", 41)])
def test_positions_in_the_list_arrive_and_pending_returns(host, step, after):
    run = host("open", step, script=ECHO)
    assert eval(run.one("log")) == (0, after)
    assert run.one("next") == "2 none"


def test_the_next_launch_returns(host):
    run = host("open", "next:first", "next:2", "next:3", "next:end")
    assert run.of("next") == ["0 0", "0 3", "1 none", "1 none"]


def test_progress_arrives_and_stop_returns(host):
    run = host("open", "progress:1234", script=ECHO)
    assert eval(run.one("log")) == (0, 1, 1234, 5, 6, 7, 8)
    assert run.one("progress") == "0 1"


def test_results_arrive_and_counter_names_are_made_once(host):
    run = host("open", "complete:7", "complete:8", script=ECHO)
    first, names, second, names_again = run.of("log")
    assert eval(first) == (0, 7, True, 100, 200, ("l2_misses", "dram_reads"), (1.5, 2.0))
    assert eval(second)[1] == 8
    assert names == names_again == "1 names"


def test_an_abort_arrives_with_its_reason(host):
    assert eval(host("open", "abort:9", script=ECHO).one("log")) == (0, 9, "ran out of memory")


def test_estimate_and_summary_return(host):
    run = host("open", "estimate:0", "estimate:3", "finish", "finish")
    assert run.of("estimate") == ["0 12.5 3 flags=1", "0 12.5 3 flags=0"]
    summary = (
        "0 flags=2 launches=7 simulated=1 skipped=6 projected=1 passes=1 confidence=0.95 cycle_speedup=7.5 "
        "saved_seconds=12.5 "
        "cycles=100+-1.5/10 instructions=200+-nan/20 sampling ipc=2+-0.5/2.5 ratio sampling"
    )
    assert run.of("finish") == [summary, summary]


def test_each_process_has_its_own_counts_and_estimates(host):
    run = host("open", "process:0", "finish", "process:0", "process:1", "process:2", "estimate_at:3")
    early, first, second, unknown = run.of("process")
    assert early.startswith("-1 process was asked for before kp_finish")
    assert first == "0 launches=4 simulated=1 skipped=3 cycles=100+-1.5/10"
    assert second == "0 launches=3 simulated=0 skipped=3"
    assert unknown.startswith("-1 process: got 2; there are 2 launches=0")
    assert run.one("estimate_at") == "-1 estimate: got 3; there are 3"


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
    assert "KiB of stack left, the plugin needs 512" in small and small.endswith("action=0 pass=0 interval=0")
    assert run.of("open")[0].startswith("-1 the calling thread has 2")
    assert enough == "0 action=0 pass=0 interval=100" and main == "0 action=1 pass=0 interval=100"


def test_the_least_stack_is_enough_for_numpy(host):
    run = host("open", "on_stack:640:launch:0", script="def on_launch(*given): import numpy; return 0, 0, 0, 0, 0, 0")
    assert run.one("launch") == "0 action=0 pass=0 interval=0"


def test_a_kernel_name_returns_where_it_is_known(host):
    assert host("open", "name:0", "name:3").of("name") == ["0 NULL", "0 gemm_1_3"]


def test_two_sessions_live_in_one_process(host):
    run = host("open", "launch:0", "open", "launch:1", "finish")
    assert run.of("open") == ["0 session"] * 2
    assert run.of("launch") == ["0 action=0 pass=0 interval=100", "0 action=1 pass=0 interval=100"]


def test_a_session_opened_in_one_thread_serves_another(host):
    run = host("open_elsewhere", "launch:1", "finish")
    assert run.one("launch") == "0 action=1 pass=0 interval=100"
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
    assert run.of("fork") == ["0 action=1 pass=0 interval=100", "child 0"]
    assert run.of("launch")[1] == "0 action=1 pass=0 interval=100"


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


DESCRIBED = (
    "log(repr({name: getattr(column, 'hex', lambda: column)() for name, column in info['descriptions'].items()}))"
)


def test_descriptions_of_launches_arrive_column_by_column(host):
    run = host("describe:2", "open", script=DESCRIBED)
    columns = eval(run.one("log"))
    assert columns["names"] == ["gemm", "gemm"]
    assert bytes.fromhex(columns["extents"]) == (1).to_bytes(4, "little") * 2
    assert bytes.fromhex(columns["shapes"]) == b"".join(number.to_bytes(8, "little") for number in (64, 65))
    assert bytes.fromhex(columns["keys"]) == b"".join(number.to_bytes(8, "little") for number in (7, 8))
    assert columns["costs"] == struct.pack("<2d", 1.5, 2.5).hex() and columns["features"] == ""


def test_descriptions_of_another_number_of_launches_are_refused(host):
    run = host("describe:3", "open")
    assert run.one("open").startswith("-1 info.description_count is 3, info.launch_counts add up to 2:")

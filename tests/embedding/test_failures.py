"""Whatever goes wrong becomes a status and one message; the session and the process live on."""

import pytest

OK, EINVAL, ECONFIG, EVERSION, EFAILED = 0, -1, -2, -3, -4


def raising(where: str, what: str) -> str:
    return f"from kernelpoint.errors import *\ndef {where}(*given): raise {what}"


@pytest.mark.parametrize(
    ("what", "status"),
    [
        ("ConfigError('bad key')", ECONFIG),
        ("PlanError('bad key')", ECONFIG),
        ("JournalError('bad key')", ECONFIG),
        ("PolicyError('bad key')", ECONFIG),
        ("TraceError('bad key')", ECONFIG),
        ("SetupError('bad key')", EVERSION),
        ("HostError('bad key')", EINVAL),
    ],
)
def test_a_refused_opening_is_its_message(host, what, status):
    assert host("open", script=raising("open", what)).one("open") == f"{status} bad key none"


@pytest.mark.parametrize(("what", "status"), [("SessionError('disk full')", EFAILED), ("HostError('disk full')", EINVAL)])
@pytest.mark.parametrize("step", ["on_launch", "next", "on_progress", "on_complete", "on_abort", "finish"])
def test_a_refused_call_is_its_message_and_the_next_one_works(host, what, status, step):
    word = step.removeprefix("on_")
    run = host("open", word if word == "finish" else f"{word}:0", "cost:0", script=raising(step, what))
    assert run.one(word).startswith(f"{status} disk full")
    assert run.one("cost").startswith("0 ")


@pytest.mark.parametrize("what", ["ZeroDivisionError('no')", "SystemExit('no')", "MemoryError('no')"])
def test_a_defect_names_its_type_and_place_and_ends_nothing(host, what):
    run = host("open", "launch:0", "cost:0", script=raising("on_launch", what))
    name = what.partition("(")[0]
    assert run.one("launch").startswith(f"{EFAILED} {name}: no (")
    assert "script.py:2 in on_launch)" in run.one("launch")
    assert run.one("cost").startswith("0 ")


def test_an_interrupted_call_says_so_without_a_place_and_the_next_one_works(host):
    run = host("open", "launch:0", "cost:0", script=raising("on_launch", "KeyboardInterrupt"))
    assert run.one("launch").startswith(f"{EFAILED} interrupted; the same command goes on")
    assert run.one("cost").startswith("0 ")


def test_a_failed_decision_reads_as_simulate(host):
    run = host("open", "launch:1", script=raising("on_launch", "ValueError"))
    assert run.one("launch").endswith("action=0 index=-1 pass=0 flags=0 interval=0")


def test_a_defect_while_opening_is_a_refused_configuration(host):
    run = host("open", "open", script="1 / 0")
    assert all(line.startswith(f"{ECONFIG} ZeroDivisionError: division by zero (") for line in run.of("open"))


def test_an_exception_that_cannot_be_printed_is_still_a_status(host):
    script = "class Odd(Exception):\n  def __str__(self): raise ValueError\ndef on_launch(*given): raise Odd"
    assert host("open", "launch:0", script=script).one("launch").startswith(f"{EFAILED} a Python exception")


@pytest.mark.parametrize("answer", ["None", "(1, 2)", "(0, 0, 0)", "(0, 0, 0, 0, 0, 'x')", "(0, 0, 0, 0, 0, 2**70)"])
def test_an_answer_of_another_shape_is_a_defect(host, answer):
    run = host("open", "launch:0", "cost:0", script=f"def on_launch(*given): return {answer}")
    assert run.one("launch").startswith(f"{EFAILED} session.on_launch returned ")
    assert run.one("cost").startswith("0 ")


def test_the_last_error_belongs_to_its_thread(host):
    run = host("open", "abort:1", "launch:0", "error", "error_elsewhere", script=raising("on_abort", "HostError('mine')"))
    assert run.one("error") == "mine"
    assert run.one("error_elsewhere") == "no call has failed on this thread"


def test_calls_without_a_session_or_with_null_are_refused(host):
    run = host("launch:0", "open", "null")
    assert run.one("launch") == f"{EINVAL} session is NULL: open one first action=0 index=-1 pass=0 flags=0 interval=0"
    assert [line.partition(" ")[0] for line in run.of("null")] == [str(EINVAL)] * 3
    assert "order is NULL" in run.of("null")[0]


def test_the_log_function_must_not_call_the_plugin(host):
    run = host("reentrant_log", "open", "launch:0", script="def on_launch(*given): log('x'); return 0, 0, 0, 0, 0, 0")
    assert run.one("log") == f"x reentered {EINVAL}"
    assert run.one("launch") == "0 action=0 index=0 pass=0 flags=0 interval=0"

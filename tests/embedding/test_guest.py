"""Python is a guest in the simulator: what belongs to the host is the same after each call as before it."""

import subprocess

import pytest

CALLS = ("open", "launch:0", "complete:0", "next:first", "finish")


@pytest.mark.parametrize(
    ("calls", "mapped"),
    [(["load"], "none"), (["names:NULL", "open"], "none"), (["open"], "libpython")],
    ids=["an unsampled run", "a refused host", "a run"],
)
def test_only_a_run_that_opens_maps_python(host, calls, mapped):
    assert host(*calls, "maps").one("maps") == mapped


def test_extension_modules_import_although_the_plugin_is_local(host):
    run = host("open", script="import numpy, _ctypes; log(str(numpy.arange(3).sum()))")
    assert run.one("log") == "3"


def test_signal_handlers_stay_even_where_python_code_wants_them(host):
    script = """
import signal
def on_launch(*given):
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    except ValueError as error:
        log(str(error))
    return 0, 0, 0, 0, 0, 0
"""
    run = host("set_signals", *CALLS[:3], "check_signals", "interrupt", "finish", "check_signals", script=script)
    assert "belongs to the simulator" in run.one("log")
    assert run.of("check_signals") == ["unchanged"] * 2
    assert run.one("signal") == "handled"


def test_default_signal_handling_stays_the_default(host):
    run = host("open", "interrupt", script="import signal")
    assert run.code == -2  # killed by SIGINT, as a C program is


def test_a_signal_that_comes_while_a_session_opens_reaches_the_simulator_afterwards(host):
    script = "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nwhile True: pass"
    run = host("open", script=script)
    assert run.code == -2  # killed by SIGINT, as a C program is


INTERRUPTED = """
#include "kernelpoint/client.hpp"
int main(int, char**) {
    signal(SIGINT, %s);
    kernelpoint::announce_interrupt();
    raise(SIGINT);
    return 7;
}
"""


@pytest.mark.parametrize(
    ("before", "code", "said"),
    [("SIG_DFL", -2, "\nkernelpoint: interrupted; the same command goes on\n"), ("SIG_IGN", 7, "")],
)
def test_a_simulator_that_leaves_ctrl_c_to_the_system_says_what_becomes_of_the_run(header_folder, tmp_path, before, code, said):
    command = ["c++", "-std=c++11", "-x", "c++", f"-I{header_folder}", "-", "-o", tmp_path / "host", "-ldl"]
    subprocess.run(command, input=INTERRUPTED % before, text=True, check=True, timeout=60)
    done = subprocess.run([tmp_path / "host"], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (code, said)


def test_locale_stays(host):
    available = subprocess.run(["locale", "-a"], capture_output=True, text=True, check=False).stdout.split()
    name = next((locale_name for locale_name in ("C.utf8", "C.UTF-8", "en_US.utf8") if locale_name in available), None)
    if name is None:
        pytest.skip("no locale but C on this machine (locale -a)")
    change = "import locale\ndef on_launch(*given): locale.setlocale(locale.LC_ALL, 'C'); return 0, 0, 0, 0, 0, 0"
    run = host(f"set_locale:{name}", *CALLS, "show_locale", script=change)
    assert run.one("show_locale") == name


@pytest.mark.parametrize("variable", ["LC_ALL", "LANG"])
def test_the_c_locale_of_a_program_that_set_none_stays(host, variable):
    run = host(*CALLS, "show_locale", env={variable: "C.UTF-8"})
    assert run.one("show_locale") == "C"


def test_paths_are_utf8_whatever_the_locale(host):
    run = host("open", script="import sys; log(sys.getfilesystemencoding() + ' ' + str(sys.flags.utf8_mode))")
    assert run.one("log") == "utf-8 1"


def test_floating_point_environment_stays_and_python_sees_the_default(host):
    script = """
import numpy
def on_launch(*given):
    with numpy.errstate(all="ignore"):
        log(str(numpy.float64(0) / numpy.zeros(1)[0]) + " " + str(1 / 3 == 0.3333333333333333))
    return 0, 0, 0, 0, 0, 0
"""
    run = host("set_fenv", *CALLS, "check_fenv", script=script)
    assert run.code == 0, "a trap of the host killed Python code"
    assert set(run.of("log")) == {"nan True"}
    assert run.one("check_fenv") == "unchanged"


def test_printed_text_stands_in_order_with_the_simulators_own(host):
    script = "def on_launch(process, index, *rest): print('python', index); return 0, 0, 0, 0, 0, 0"
    run = host("open", "print:one", "launch:1", "print:two", "launch:2", "finish", script=script)
    words = [line for line in run.lines if line[0] in ("print", "log", "one", "two")]
    assert words == [("one", ""), ("log", "python 1"), ("two", ""), ("log", "python 2")]


def test_logging_and_standard_error_reach_the_log_and_warnings_of_libraries_do_not(host):
    script = """
import logging, sys, warnings
warnings.warn("first")
logging.getLogger("somebody").warning("second")
print("third", file=sys.stderr)
print("fourth\\nfifth")
sys.stdout.write("sixth without an end")
"""
    run = host("open", "finish", script=script)
    text = "\n".join(run.of("log"))
    assert all(word in text for word in ("second", "third", "fourth\nfifth"))
    assert "first" not in text
    assert run.of("log")[-1] == "sixth without an end"
    assert run.stderr == ""


def test_a_log_line_never_holds_a_newline_and_odd_text_is_escaped(host):
    run = host("open", script="log('a\\nb'); log('\\udcff')")
    assert run.of("log") == ["a", "b", "\\udcff"]


def test_without_a_log_function_text_goes_to_standard_error(host):
    run = host("open:stderr", script="log('hello'); print('there')")
    assert run.stderr == "hello\nthere\n"
    assert run.of("log") == []


def test_python_threads_of_the_plugin_print_to_standard_error(host):
    script = "import threading\nt = threading.Thread(target=print, args=('aside',)); t.start(); t.join()"
    assert host("open", script=script).stderr == "aside\n"


def test_numeric_libraries_use_one_thread_unless_told_otherwise(host, monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS")
    script = "import os; log(os.environ['OMP_NUM_THREADS'])"
    assert host("open", script=script).one("log") == "1"
    assert host("open", script=script, env={"OMP_NUM_THREADS": "3"}).one("log") == "3"


def test_a_child_that_is_forked_while_a_call_is_inside_is_refused_and_does_not_hang(host):
    run = host("open", "fork_inside", script="def next(*given): import time; time.sleep(0.3); return 2, -1")
    child, parent = run.of("fork_inside")
    assert child.startswith("child -1 this process was forked while a call of the plugin was inside")
    assert parent == "status 0"

"""The contract of kernelpoint/abi.h from the host's side: one suite, every host, as far as the host can go.

Accel-Sim and kernelpoint-host simulate one process, one launch at a time; MacSim stops nothing inside a launch.
"""

import itertools
import re
from pathlib import Path

import numpy as np
import pytest
from compiled import library

from hosts import LAUNCHES
from kernelpoint.policies.methods.kernelpoint import COLD_COUNTERS
from kernelpoint.ratios import PER_INSTRUCTION, RATIOS, STALLS
from kernelpoint.simulators import simulator
from kernelpoint.simulators.accelsim import TERMS
from kernelpoint.totals.exact import CANDIDATES
from kernelpoint.totals.identities import AT_MOST, IDENTITIES

HEADERS = Path(__file__).parents[2] / "plugin" / "include" / "kernelpoint"
FLAGS = {name: int(bit) for name, bit in re.findall(r"KP_HOST_(\w+) = 1u\s*<< (\d+)", (HEADERS / "abi.h").read_text())}


CLOSED = [(0,), (1, 2), (0, 1, 2)]


def without_paths(line: str) -> str:
    return re.sub(r"\S*/\S*", "PATH", line)


def needs(host, ability: str) -> None:
    if ability not in host.can:
        pytest.skip(f"{host.name} cannot: {ability}")


@pytest.mark.parametrize("wanted", [[], [0, 5], [1, 2, 3, 4]], ids=str)
def test_exactly_the_wanted_launches_are_simulated_in_program_order(host, tmp_path, wanted):
    run = host.run(tmp_path, "pass " + " ".join(map(str, wanted)) + "\nestimate 100 10")
    assert run.code == 0, run.err
    assert run.units("launch") == run.units("complete") == [f"0:{i}" for i in wanted]
    assert run.log[-1] == "finish" and run.log.count("finish") == 1


@pytest.mark.parametrize("closed", CLOSED, ids=str)
def test_messages_reach_no_file_where_standard_streams_are_closed(host, tmp_path, closed):
    (tmp_path / "open").mkdir()
    (tmp_path / "closed").mkdir()
    script = "pass 0 5\npass 1\nestimate 100 10"
    usual, host.closed = host.run(tmp_path / "open", script), closed
    try:
        run = host.run(tmp_path / "closed", script)
    finally:
        host.closed = ()
    assert run.code == usual.code == 0, run.err
    assert [without_paths(line) for line in run.log] == [without_paths(line) for line in usual.log]


def test_every_launch_is_described_where_the_host_describes_launches(host, tmp_path):
    needs(host, "describe")
    processes = 2 if "processes" in host.can else 1
    run = host.run(tmp_path, "pass 0\nestimate 100 10", processes=processes)
    described = [line.split() for line in run.log if line.startswith("describe ")]
    assert len(described) == processes * LAUNCHES
    assert all(words[1] != "none" or words[3] != "0" or len(words) > 6 for words in described), described


def test_the_flags_of_a_host_say_what_it_does(host, tmp_path):
    run = host.run(tmp_path, "pass 0 1\nestimate 100 10")
    stated = re.search(r"^open .* flags (\d+) hash ", run.log[0])
    flags = {name for name, bit in FLAGS.items() if int(stated[1]) & 1 << bit}
    assert ("CAN_STOP" in flags) == ("stop" in host.can) and ("EXECUTES" in flags) == ("execute" in host.can)
    if "NO_TRACES" in flags:
        assert all(line.endswith(" list none") for line in run.log if line.startswith("process "))
    if "STATELESS" in flags:
        assert any(line.startswith("state lines 0 flags 0 ") for line in run.log)
    if "DETERMINISTIC" in flags:
        keys = [line.split(" key ")[1].split()[0] for line in run.log if line.startswith("describe ")]
        assert len(keys) == LAUNCHES and "0" not in keys


def test_a_launch_that_is_answered_with_skip_is_not_simulated(host, tmp_path):
    run = host.run(tmp_path, "pass 0 1 2 3 4 5\nskip 0 3 5")
    assert run.code == 0, run.err
    assert run.units("launch") == [f"0:{i}" for i in range(6)]
    assert run.units("complete") == ["0:1", "0:2", "0:4"]


def test_launches_that_are_not_simulated_run_functionally_in_program_order(host, tmp_path):
    needs(host, "execute")
    for folder in ("some", "all"):
        (tmp_path / folder).mkdir()
    run = host.run(tmp_path / "some", "pass 1 3 5\nskip 3")
    assert run.code == 0, run.err
    assert [line.split()[1] for line in run.log if line.startswith(("launch", "execute"))] == [f"0:{i}" for i in range(6)]
    assert run.units("execute") == ["0:0", "0:2", "0:4"] and run.units("complete") == ["0:1", "0:5"]
    whole = host.run(tmp_path / "all", "pass 0 1 2 3 4 5")
    cycles = {call[0]: call[4] for call in whole.calls("complete")}
    assert all(cycles[call[0]] == call[4] for call in run.calls("complete")), "they meet the memory of a full run"
    assert run.totals["memory"] == whole.totals["memory"]


def test_a_further_pass_of_a_host_that_executes_goes_on_or_begins_the_program_again(host, tmp_path):
    needs(host, "execute")
    run = host.run(tmp_path, "pass 1\npass 3\npass 0 5")
    assert run.code == 0, run.err
    calls = [line.split() for line in run.log if line.startswith(("launch", "execute"))]
    again = ["0:0", "0:1", "0:2", "0:3", "0:4", "0:5"]
    assert [call[1] for call in calls] == [*again[:4], *again]
    assert run.units("complete") == ["0:1", "0:3", "0:0", "0:5"]


def test_a_further_pass_goes_back_in_the_list(host, tmp_path):
    run = host.run(tmp_path, "pass 3 4\npass 0 5\npass 1 2")
    assert run.code == 0, run.err
    assert run.units("complete") == ["0:3", "0:4", "0:0", "0:5", "0:1", "0:2"]
    assert [call[2] for call in run.calls("launch")] == ["0", "0", "1", "1", "2", "2"]
    assert run.totals["passes"] == 3


def test_the_same_launch_may_be_simulated_in_two_passes(host, tmp_path):
    run = host.run(tmp_path, "pass 2\npass 2 4")
    assert run.code == 0, run.err
    assert run.units("complete") == ["0:2", "0:2", "0:4"]


def test_what_the_plugin_states_is_what_the_host_states(host, tmp_path):
    run = host.run(tmp_path, "pass 1 3\nestimate 1000 10")
    simulated = sum(float(call[4]) for call in run.calls("complete"))
    assert run.totals["cycles"] == pytest.approx(simulated + 4 * 1000, abs=1)
    assert run.totals["launches"] == 6 and run.totals["simulated"] == 2
    assert 2.5 <= run.totals["cycles_half_width"] <= 3, "a host that writes whole numbers rounds up"
    assert run.totals["ipc"] == pytest.approx(run.totals["instructions"] / run.totals["cycles"], rel=1e-3)


def test_a_run_without_a_bound_states_none(host, tmp_path):
    run = host.run(tmp_path, "pass 1 3\nestimate 1000 10\nno_bound")
    assert run.code == 0, run.err
    assert not run.totals.get("cycles_half_width", 0) > 0


def test_every_counter_has_a_meaning(host, tmp_path):
    described = set(re.findall(r'X\("(\w+)", "', (HEADERS / "counters.h").read_text()))
    counters = host.run(tmp_path, "pass 0 1").counters()
    assert counters and counters <= described, f"not in counters.h: {counters - described}"


def test_the_counters_are_named_when_the_session_opens(host, tmp_path):
    run = host.run(tmp_path, "pass 0 3")
    (named,) = run.calls("counters")
    assert named and all(call[7::2] == named for call in run.calls("complete"))


def test_a_resumed_run_simulates_only_what_is_missing_and_counts_all(host, tmp_path):
    run = host.run(tmp_path, "done 2 5000 50\ndone 4 7000 70\npass 0 3\nestimate 1000 10")
    assert run.code == 0, run.err
    assert run.units("complete") == ["0:0", "0:3"]
    simulated = sum(float(call[4]) for call in run.calls("complete"))
    assert run.totals["simulated"] == 4
    assert run.totals["cycles"] == pytest.approx(5000 + 7000 + simulated + 2 * 1000, abs=1)


@pytest.mark.parametrize("call", ["open", "next", "complete", "finish"])
def test_what_the_plugin_refuses_ends_the_run_with_one_message(host, tmp_path, call):
    run = host.run(tmp_path, f"pass 1 3\nfail {call}")
    assert run.code == 1
    assert "the script says so" in run.err and run.err.count("\n") == 1
    assert not run.units("complete") or call == "finish"
    assert "finish" not in run.log


def test_a_plugin_that_is_not_there_ends_the_run_with_one_message(host, tmp_path, monkeypatch):
    monkeypatch.setattr(host, "plugin", "/nowhere/plugin.so")
    run = host.run(tmp_path, "pass 0")
    assert run.code == 1 and "/nowhere/plugin.so" in run.err and run.err.count("\n") == 1


@pytest.mark.parametrize("lacking", ["progress cost", "state", "progress cost state"])
def test_a_host_does_without_the_functions_that_an_older_plugin_does_not_have(host, tmp_path, monkeypatch, lacking):
    for folder in ("all", "some"):
        (tmp_path / folder).mkdir()
    script = "pass 1 3\npass 4\nestimate 1000 10"
    usual = host.run(tmp_path / "all", script)
    monkeypatch.setenv("WHOLE_PLUGIN", str(host.plugin))
    monkeypatch.setenv("LACKING", lacking)
    monkeypatch.setattr(host, "plugin", library(Path(__file__).with_name("older_plugin.cc"), tmp_path / "older.so"))
    run = host.run(tmp_path / "some", script + "\ninterval 20\nstop 3 40" * ("progress" in lacking))
    assert run.code == 0, run.err
    assert run.units("complete") == usual.units("complete")
    assert run.totals["cycles"] == usual.totals["cycles"]


def test_a_launch_beyond_the_list_is_refused(host, tmp_path):
    run = host.run(tmp_path, "pass 17")
    assert run.code == 1 and "the plugin asks for" in run.err


def test_a_plugin_that_waits_for_nothing_is_an_error_and_no_hang(host, tmp_path):
    run = host.run(tmp_path, "pass 1\npending 1000000")
    assert run.code == 1, "KP_PENDING while no launch is in flight: the host shall stop, for nothing will ever end"
    assert "waits for a launch" in run.err


def test_a_launch_that_cannot_be_simulated_is_reported_with_its_reason(host, tmp_path):
    if host.reads_no_broken_trace:
        pytest.skip(f"{host.name}: the plugin reads its traces to their end")
    run = host.run(tmp_path, "pass 0 1 2", broken=1)
    assert run.calls("abort")[0][0] == "0:1" and len(run.calls("abort")[0]) > 1
    assert "0:1" not in run.units("complete")
    assert run.units("complete") == ["0:0", "0:2"]
    assert run.units("abort") == ["0:1", "0:1"], "once more in the next pass, then never"
    assert run.log[-1] == "finish" and not run.totals.get("cycles_half_width", 0) > 0


def test_a_launch_is_stopped_inside(host, tmp_path):
    needs(host, "stop")
    run = host.run(tmp_path, "pass 3 5\ninterval 20\nstop 3 40")
    assert run.code == 0, run.err
    moments = [int(call[2]) for call in run.calls("progress") if call[0] == "0:3"]
    assert moments[:2] == [20, 40], "progress is told every progress_interval cycles of the launch"
    assert all(int(call[4]) >= int(call[6]) for call in run.calls("progress")), "issued before completed"
    flags = {call[0]: call[2] for call in run.calls("complete")}
    assert flags["0:5"] == "0"
    if not host.issues_at_once:
        assert flags["0:3"] == "1", "stopped at cycle 40 with CTAs left: completed with KP_RESULT_STOPPED"


@pytest.mark.parametrize(
    "passes", [["0:2 1:0 1:1", "0:0", "1:2"], ["0:0", "1:1", "0:2"], ["1:0 1:2", "0:1"], ["1:2"], []], ids=str
)
def test_the_passes_of_several_processes_wait_for_each_other(host, tmp_path, passes):
    needs(host, "processes")
    script = "\n".join([*(f"pass {launches}" for launches in passes), "estimate 100 10"])
    run = host.run(tmp_path, script, processes=2)
    assert run.code == 0, run.err
    assert sorted(run.units("complete")) == sorted(" ".join(passes).split())
    order = [int(call[2]) for call in run.calls("launch")]
    assert order == sorted(order)
    assert [call[2] for call in run.calls("process")] == ["6", "6"]


def test_launches_in_flight_together_may_end_in_any_order(host, tmp_path):
    needs(host, "overlap")
    script = "pass 0:0 0:1 0:2 1:0 1:1 1:2\npass 0:4 1:5"
    run = host.run(tmp_path, script, processes=2, in_flight=3)
    assert run.code == 0, run.err
    assert sorted(run.units("complete")) == sorted(run.units("launch"))
    events = [line.split()[0] for line in run.log if line.startswith(("launch", "complete"))]
    assert "launch launch" in " ".join(events), "two were in flight together"
    if "reorder" in host.can:
        assert run.units("complete") != run.units("launch")


def test_each_process_has_its_own_estimate(host, tmp_path):
    needs(host, "processes")
    run = host.run(tmp_path, "pass 0:0 1:0 1:2\nestimate 100 10", processes=2)
    assert run.code == 0, run.err
    prefix = host.process_prefix
    parts = [run.totals[f"{prefix}{p}_cycles"] for p in (0, 1)]
    assert sum(parts) == pytest.approx(run.totals["cycles"], abs=1)
    assert run.totals[f"{prefix}1_simulated"] == 2


HEADER = Path(__file__).parents[2] / "plugin" / "include" / "kernelpoint" / "counters.h"
MEANINGS = re.findall(r'X\("([^"]*)",\s*"([^"]*)",\s*"([^"]*)"\)', HEADER.read_text())
NAMES = {name for name, _, _ in MEANINGS}


def test_every_counter_has_one_row_with_a_unit_and_a_meaning():
    names = [name for name, _, _ in MEANINGS]
    assert len(names) == len(set(names)) == HEADER.read_text().count('X("') > 20
    assert all(name.islower() and unit and meaning for name, unit, meaning in MEANINGS)


PREDICTED = re.findall(r'\{"(\w+)", &Counters::', (HEADER.parents[2] / "fast_model" / "launch_counters.h").read_text())
STATISTICS = (HEADER.parents[3] / "macsim_patch" / "hook" / "statistics_reader.h").read_text()
USED = {
    "the ratios": itertools.chain(*RATIOS.values()),
    "the totals that traces determine, and the terms of Accel-Sim": [*CANDIDATES, *TERMS],
    "the identities and limits": itertools.chain(*IDENTITIES, *AT_MOST),
    "the fast model": PREDICTED,
    "MacSim's own files": re.findall(r'\{"(\w+)", (?:"[A-Z0-9_]+"|NULL), "[A-Z0-9_]+"\}', STATISTICS),
}


@pytest.mark.parametrize("names", USED.values(), ids=USED)
def test_every_counter_that_anything_names_has_a_meaning(names):
    names = set(names)
    assert names and names <= NAMES


def test_predictions_in_terms_of_accelsim_have_every_term():
    assert {*TERMS} <= {*simulator("accelsim").counters_of({name: np.ones(1) for name in ("cycles", *PREDICTED)})}


def test_the_rules_for_other_names_are_those_of_the_policy_and_of_the_ratios():
    rule = re.search(r'A name that contains "(\w+)" or "(\w+)"', HEADER.read_text())
    assert rule is not None and rule.groups() == COLD_COUNTERS
    rule = re.search(r'A name that ends in\s+\* "(\w+)" .* divide it by (\w+)\.', HEADER.read_text())
    assert rule is not None and rule.groups() == (STALLS, PER_INSTRUCTION)

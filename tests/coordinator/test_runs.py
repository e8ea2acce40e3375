"""Real simulators at work for a coordinator: the embedded host, on a local Dask cluster."""

import os
import re
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from coordinated import BUDGET, Bench

from kernelpoint.cli.host import program
from kernelpoint.coordinator.simulator import SimulatorEnded, SimulatorProcess
from kernelpoint.coordinator.task import Work, end_simulators, folder_of, read_all, simulate
from kernelpoint.errors import ConfigError, HostError, SessionError
from kernelpoint.journal import ResumeRecord, load_run, read_records
from kernelpoint.session.orders import Order

pytest.importorskip("distributed", reason="kernelpoint[cluster] is not installed")
if not program().exists():
    pytest.skip("the embedded host is not built; run `make build`", allow_module_level=True)

from kernelpoint.coordinator.batch_systems import read_cluster_file
from kernelpoint.coordinator.dask_pool import SETTINGS, open_pool
from kernelpoint.coordinator.run import run


@pytest.fixture(scope="module")
def bench_of_all(tmp_path_factory, traces):
    """One folder for all tests: their journals say the same of where they lie, and what one process does is made once."""
    return Bench(tmp_path_factory.mktemp("bench"), traces)


@pytest.fixture
def bench(bench_of_all, monkeypatch):
    monkeypatch.setenv("KERNELPOINT_CACHE", str(bench_of_all.folder / "cache"))
    monkeypatch.chdir(bench_of_all.folder)
    bench_of_all.clear()
    return bench_of_all


@pytest.mark.parametrize("yaml", [BUDGET, "policy: {name: pka, project: true}"])
def test_the_journal_is_that_of_the_simulator_alone_to_the_byte(bench, yaml):
    alone = bench.alone(yaml)
    assert bench.spread(yaml, 2) == 0
    assert bench.take() == alone
    assert not folder_of(bench.journal).exists()


def test_a_run_of_one_worker_says_what_it_cost_and_the_simulator_prints_its_end(bench, capfd, monkeypatch):
    for least in ("LEAST_SECONDS", "LEAST_SHARE"):  # the embedded host simulates faster than runs are planned
        monkeypatch.setattr(f"kernelpoint.session.session.{least}", -1e9)
    bench.spread(BUDGET, 1)
    printed = dict(re.findall(r"^(kernelpoint_\w+) = (\S+)", capfd.readouterr().out, re.MULTILINE))
    run, said = load_run(bench.journal), "\n".join(bench.said)
    assert bench.take() == bench.alone()
    assert run.header.command == bench.sampled(), "the simulator's command, whoever started it"
    summary = run.content()
    assert float(printed["kernelpoint_cycles"]) == summary["estimate"]
    assert int(printed["kernelpoint_simulated"]) == summary["simulated"]
    assert re.search(r"processor time saved: a full run would take about [\d.]+ s, this one took [\d.]+ s", said)
    assert "1 worker" in said.splitlines() and "dashboard" not in said
    assert re.search(r"simulators? started in [\d.]+ s \([\d.]+ % of what they did\)", said)


def simulators_of(folder: Path) -> list[int]:
    """Processes of the embedded host that work for a coordinator in a folder."""
    processes = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            working = b"KERNELPOINT_WORKER=" in path.read_bytes()
            here = os.readlink(path.parent / "cwd") == str(folder)
            if working and here and os.readlink(path.parent / "exe") == str(program()):
                processes.append(int(path.parent.name))
        except OSError:
            continue
    return processes


def test_killed_simulators_lose_nothing_and_double_nothing(bench):
    alone = bench.alone()
    kills, over = [], threading.Event()

    def kill():
        while not over.is_set() and len(kills) < 4:
            for pid in simulators_of(bench.folder)[:1] if bench.journal.exists() else ():
                os.kill(pid, signal.SIGKILL)
                kills.append(pid)
            time.sleep(0.15)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        assert bench.spread() == 0
    finally:
        over.set()
        killer.join()
    assert kills and bench.take() == alone


def records_without_doubles(path: Path) -> list:
    """Records in their order; of a launch that was decided again after a kill the first decision counts."""
    records: list = []
    for record in read_records(path):
        if not isinstance(record, ResumeRecord) and record not in records:
            records.append(record)
    return records


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_coordinator_that_was_killed_or_interrupted_is_resumed_by_the_same_command(bench, how):
    bench.journal.write_bytes(bench.alone())
    whole = read_records(bench.journal)
    bench.clear()
    code = (
        "import sys; from kernelpoint.coordinator.dask_pool import open_pool; from kernelpoint.coordinator.run import run\n"
        "run(sys.argv[2:], sys.argv[1], lambda memory: open_pool(2, None, memory, print), print)"
    )
    command = [sys.executable, "-c", code, str(bench.config), *bench.command()]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None and not (bench.journal.exists() and b'"outcome"' in bench.journal.read_bytes()):
        time.sleep(0.02)
    process.send_signal(how)
    process.wait()
    deadline = time.monotonic() + 60
    while simulators_of(bench.folder) and time.monotonic() < deadline:  # each ends with its coordinator
        time.sleep(0.05)
    assert not simulators_of(bench.folder)
    if load_run(bench.journal).summary is None:  # else the kill came too late
        bench.spread()
    assert records_without_doubles(bench.journal) == whole


def is_alive(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def test_a_stopped_simulator_is_told_and_goes_on(bench, monkeypatch):
    monkeypatch.setattr("kernelpoint.coordinator.simulator.SECONDS_SILENT", 0.4)
    said: list[str] = []
    simulator = SimulatorProcess(bench.sampled(), str(bench.folder), say=said.append)
    try:
        os.kill(simulator.hello.pid, signal.SIGSTOP)
        threading.Timer(2.0, os.kill, (simulator.hello.pid, signal.SIGCONT)).start()
        (outcome,) = simulator.simulate((Order(0, 0, 1),))
    finally:
        simulator.end()
    assert dict(outcome.counters)["cycles"] > 0
    assert len(said) == 2 and "gives no sign of life since 0 s: it is stopped, or hangs" in said[0]
    assert said[1].endswith("goes on")


@pytest.mark.parametrize("stopped", [False, True])
def test_a_simulator_ends_with_a_coordinator_that_is_killed_even_if_it_is_stopped(bench, stopped):
    code = (
        "import sys, time; from kernelpoint.coordinator.simulator import SimulatorProcess\n"
        "print(SimulatorProcess(sys.argv[1:], '.').hello.pid, flush=True); time.sleep(600)"
    )
    coordinator = subprocess.Popen(
        [sys.executable, "-c", code, *bench.sampled()], stdout=subprocess.PIPE, text=True, cwd=bench.folder
    )
    pid = int(coordinator.stdout.readline())
    if stopped:
        os.kill(pid, signal.SIGSTOP)
    coordinator.kill()
    coordinator.wait()
    deadline = time.monotonic() + 30
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    alive = is_alive(pid)
    if alive:
        os.kill(pid, signal.SIGKILL)
    assert not alive


@pytest.mark.parametrize(
    ("yaml", "message"),
    [
        ("policy: all", "policy: got 'all'; `kernelpoint run` cannot divide a full run"),
        ("policy: kernelpoint\nclusters: online", "needs the list of launches before the run"),
        ("policy: nosuch", "policy: got 'nosuch'"),
    ],
)
def test_runs_that_cannot_be_spread_are_refused_before_anything_is_simulated(bench, yaml, message):
    with pytest.raises((ConfigError, HostError), match=message):
        bench.spread(yaml)
    assert not bench.journal.exists()


def test_a_simulator_that_is_missing_or_refuses_its_options_is_one_message(bench):
    with pytest.raises(ConfigError, match="absent-sim: no such program"):
        run(["absent-sim"], str(bench.config), lambda memory: None, print)
    with pytest.raises(HostError, match=r"(?s)exit status 1 before it called KernelPoint.*nosuch.yaml: cannot"):
        run([*bench.command(gpu="nosuch.yaml")], str(bench.config), lambda memory: None, print)


KILLED = """#!/bin/sh
echo >> starts
[ $(wc -l < starts) -gt {times} ] || kill -9 $$
exec {program} "$@"
"""


@pytest.mark.parametrize(("times", "starts"), [(2, 3), (9, 5)])
def test_a_simulator_that_is_killed_while_it_introduces_itself_is_started_again(bench, times, starts):
    from kernelpoint.coordinator.run import ask

    simulator, said = bench.folder / "simulator", []
    simulator.write_text(KILLED.format(times=times, program=program()))
    simulator.chmod(0o755)
    (bench.folder / "starts").unlink(missing_ok=True)
    command = [str(simulator), *bench.sampled()[1:]]
    if times < starts:
        assert ask(command, said.append)[0].host["simulator"]
    else:
        with pytest.raises(HostError, match="was ended by SIGKILL before it called KernelPoint"):
            ask(command, said.append)
    assert (bench.folder / "starts").read_text().count("\n") == starts
    assert said == ["kernelpoint: the simulator was ended by SIGKILL before it called KernelPoint; it is started again"] * (
        starts - 1
    )


@pytest.fixture(scope="module")
def hello(bench_of_all):
    """The description that the simulator gives of itself."""
    simulator = SimulatorProcess(bench_of_all.sampled(), str(bench_of_all.folder))
    simulator.end()
    return simulator.hello


@pytest.fixture
def work_of(bench, hello):
    """Text that the coordinator would send, with changes."""
    host = {key: hello.host[key] for key in ("simulator", "version", "config_hash")}
    folder = str(bench.folder)
    fields = {"run": "r", "folder": folder, "outcomes": folder, "kernelpoint": hello.kernelpoint}

    def make(**changes) -> Work:
        stated = {**host, **changes.pop("host", {})}
        return Work(**{**fields, "command": tuple(bench.sampled()), "host": stated, **changes})

    return make


CHAIN = (Order(0, 5, 1),)


@pytest.mark.parametrize(
    ("changes", "refusal"),
    [
        ({"host": {"config_hash": "other"}}, "another build or configuration of the simulator: config_hash is "),
        ({"kernelpoint": "9.9"}, "install 9.9, with which the run began"),
        ({"command": ("/absent/sim",)}, "cannot start the simulator /absent/sim in .*: No such file"),
        ({"outcomes": "/dev/full"}, r"cannot write /dev/full/.*\.jsonl"),
        ({"outcomes": "/absent"}, r"cannot write /absent/.*\.jsonl: No such file"),
    ],
)
def test_a_machine_that_is_not_fit_for_the_run_says_why(work_of, changes, refusal):
    report = simulate(work_of(**changes), CHAIN)
    end_simulators()
    assert report.refusal is not None and re.search(refusal, report.refusal) and not report.outcomes


def test_a_disk_that_takes_no_more_is_named(work_of, tmp_path):
    work, limits = work_of(outcomes=str(tmp_path)), resource.getrlimit(resource.RLIMIT_FSIZE)
    simulate(work, (Order(0, 9, 1),))  # its simulator was started without the limit
    (path,) = tmp_path.iterdir()
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 100, limits[1]))
    try:
        report = simulate(work, CHAIN)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        end_simulators()
    assert report.refusal == f"cannot write {tmp_path}: No space left on device"


def test_a_worker_keeps_its_simulator_and_the_outcomes_of_every_chain(bench, work_of, tmp_path):
    work, other = work_of(outcomes=str(tmp_path)), (Order(0, 7, 1),)
    first, second = simulate(work, CHAIN), simulate(work, other)
    end_simulators()
    assert (first.starts, second.starts) == (1, 0)
    assert read_all(tmp_path) == {CHAIN: first.outcomes, other: second.outcomes}


def test_a_simulator_ends_with_its_coordinator_in_the_middle_of_a_launch(bench):
    simulator = SimulatorProcess(bench.sampled(), str(bench.folder))
    os.close(simulator._to)
    simulator._process.wait(60)
    with pytest.raises(SimulatorEnded):
        simulator._answer(5)


def test_a_scheduler_that_is_lost_is_one_message_and_the_run_can_go_on(bench, monkeypatch):
    monkeypatch.setitem(SETTINGS, "distributed.comm.timeouts.connect", "1s")
    alone = bench.alone()

    def failing(memory):
        pool = open_pool(2, None, memory, bench.said.append)
        threading.Timer(0.3, pool._cluster.close).start()
        return pool

    try:
        run(bench.command(), str(bench.config), failing, bench.said.append)
    except SessionError as error:
        assert "start the same command again to go on" in str(error)
        bench.spread()
    assert records_without_doubles(bench.journal)
    summary = load_run(bench.journal).ended()
    bench.take()
    bench.journal.write_bytes(alone)
    assert load_run(bench.journal).ended() == summary


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("jobqueue: {slurm: {cores: 1}}", None),
        ("slurm: {cores: 1}", "expected `jobqueue:`"),
        ("jobqueue: {slurm: {}, pbs: {}}", "expected `jobqueue:`"),
        ("jobqueue: [", "is not valid YAML: line 1"),
    ],
)
def test_a_cluster_file_is_one_of_dask_jobqueue(tmp_path, text, message):
    path = tmp_path / "cluster.yaml"
    path.write_text(text)
    if message is None:
        assert read_cluster_file(path) == ("slurm", {"cores": 1})
        return
    with pytest.raises(ConfigError, match=message):
        read_cluster_file(path)


CRASHING = """#!{python}
import json, os, signal, subprocess, sys, threading
inward, outward = map(int, os.environ["KERNELPOINT_WORKER"].split(","))
chains, to_host = os.pipe()
os.environ["KERNELPOINT_WORKER"] = f"{{chains}},{{outward}}"
host = subprocess.Popen([{program!r}, *sys.argv[1:]], pass_fds=(chains, outward))
os.close(chains), os.close(outward)
for line in os.fdopen(inward):
    if json.loads(line)[0][1] == {launch}:
        print("assertion failed: the launch that breaks it", flush=True)
        host.kill()
        os.kill(os.getpid(), signal.SIGSEGV)
    os.write(to_host, line.encode())
host.kill()
"""


def test_a_launch_that_ends_its_simulator_each_time_is_named_with_its_last_lines_and_the_run_goes_on(bench):
    yaml = f"{BUDGET.replace('0.02', '0.0001')}\nreplay: {{validation: 0}}"
    simulator = bench.folder / "simulator"
    simulator.write_text(CRASHING.format(python=sys.executable, program=str(program()), launch=17))
    simulator.chmod(0o755)
    command = [str(simulator), *bench.command(yaml)[1:]]
    run(command, str(bench.config), lambda memory: open_pool(2, None, memory, bench.said.append), bench.said.append)
    again = [line for line in bench.said if "; it is simulated again" in line]
    given_up = [line for line in bench.said if ", 2 times; its output ended:" in line]
    assert len(again) == len(given_up) == 1  # and not in the next pass
    assert all("launch 17: the simulator on " in line and "was ended by SIGSEGV" in line for line in again + given_up)
    assert all("assertion failed: the launch that breaks it" in line for line in given_up)
    results = [record.launch for record in read_records(bench.journal) if record.type == "outcome" and record.is_result]
    assert sorted(results) == [launch for launch in range(120) if launch != 17]

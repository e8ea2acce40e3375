"""Runs whose host, simulators, coordinator or scheduler are killed at random moments: is anything lost, doubled or changed?

    python lab/benchmarks/kills.py LIST [--hosts 60] [--simulators 60] [--coordinators 20] [--schedulers 5] [--seed 0]

LIST is a trace list for the embedded host. Prints a row for each kind of kill: kills, runs, and runs whose journal differs from
that of one process that was not killed (the record of the run's files, records of resuming, and decisions that were made again,
aside). Hosts run alone with the shipped defaults at 0.2 %, each with an empty cache: kills fall into planning too.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from kernelpoint.cli.host import program
from kernelpoint.journal import ResultRecord, ResumeRecord, RunRecord, read_records
from kernelpoint.journal.text import text_of

YAML = "version: 1\npolicy: random\nerror_budget: {relative_error: 0.005}\nfast_model: off\njournal: run.kpjournal\n"
ALONE = "version: 1\npolicy: kernelpoint\nerror_budget: {relative_error: 0.002}\njournal: run.kpjournal\n"
COMMAND = [sys.executable, "-c", "from kernelpoint.cli import main; main()", "run", "-c", "kp.yaml"]


def host(trace_list: Path, *more: str) -> list[str]:
    return [str(program()), "-trace", str(trace_list), "-config", "v100", *more]


def start(folder: Path, trace_list: Path, *options: str) -> subprocess.Popen:
    with (folder / "out.txt").open("a") as out:
        return subprocess.Popen([*COMMAND, *options, "--", *host(trace_list)], cwd=folder, stdout=out, stderr=out)


def simulators(folder: Path) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            works = b"KERNELPOINT_WORKER=" in (path / "environ").read_bytes()
            if works and os.readlink(path / "cwd") == str(folder) and os.readlink(path / "exe") == str(program()):
                found.append(int(path.name))
    return found


def is_under_way(folder: Path) -> bool:
    """True if the run has a plan and at least one simulator process."""
    return (folder / "run.kpjournal.outcomes").is_dir() and bool(simulators(folder))


def lines(folder: Path) -> list[str]:
    """Journal lines that a killed and an undisturbed run must share: no file names, no records of resuming. Raises
    ValueError if a launch has two results.
    """
    records = read_records(folder / "run.kpjournal")
    results = [record.launch for record in records if isinstance(record, ResultRecord)]
    if len(set(results)) != len(results):
        raise ValueError("a launch has two results")
    return list(
        dict.fromkeys(text_of(record) for record in records if not isinstance(record, (RunRecord, ResumeRecord)))
    )


class Trials:
    """Runs of one list that are killed at random moments, compared with the journal of an undisturbed run."""

    def __init__(self, trace_list: Path, seed: int, yaml: str) -> None:
        self.list, self.random, self.yaml = trace_list, random.Random(seed), yaml
        with self.folder() as folder:
            began = time.monotonic()
            if self.alone(folder).wait() != 0:
                sys.exit((folder / "out.txt").read_text())
            self.seconds = time.monotonic() - began
            self.truth = lines(folder)

    def alone(self, folder: Path) -> subprocess.Popen:
        """Start the embedded host in one process, or resume its run, with a cache in the run's folder."""
        command = host(self.list, "-kernel_sampling", "kp.yaml")
        with (folder / "out.txt").open("a") as out:
            environment = {**os.environ, "KERNELPOINT_CACHE": str(folder / "cache")}
            return subprocess.Popen(command, cwd=folder, env=environment, stdout=out, stderr=out)

    @contextlib.contextmanager
    def folder(self):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name).resolve()
            (folder / "kp.yaml").write_text(self.yaml)
            yield folder

    def row(self, what: str, wanted: int, trial: Callable[[Path, int], int]) -> None:
        kills = runs = differing = 0
        while kills < wanted:
            with self.folder() as folder:
                done = trial(folder, wanted - kills)
                kills, runs = kills + done, runs + 1
                same = lines(folder) == self.truth
                differing += not same
        print(f"{what:<12} {kills:>5} kills in {runs:>3} runs, {differing} journals differ", flush=True)

    def wait_a_moment(self, process: subprocess.Popen, folder: Path, most: float) -> bool:
        """Wait until the run simulates, then for a random time; False if the run ended before."""
        while process.poll() is None and not is_under_way(folder):
            time.sleep(0.02)
        time.sleep(self.random.uniform(0.0, most))
        return process.poll() is None

    def of_hosts(self, folder: Path, most: int) -> int:
        kills = 0
        while kills < min(most, 6):
            process = self.alone(folder)
            try:
                process.wait(self.random.uniform(0.0, self.seconds))
                return kills
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                kills += 1
        self.alone(folder).wait()
        return kills

    def of_simulators(self, folder: Path, most: int) -> int:
        process, kills = start(folder, self.list, "--workers", "2"), 0
        while kills < min(most, 6) and self.wait_a_moment(process, folder, 1.5):
            if found := simulators(folder):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self.random.choice(found), signal.SIGKILL)
                    kills += 1
        process.wait()
        return kills

    def of_coordinators(self, folder: Path, most: int) -> int:
        kills = 0
        while kills < min(most, 3):
            process = start(folder, self.list, "--workers", "2")
            if not self.wait_a_moment(process, folder, 3.0):
                break
            process.kill()
            process.wait()
            kills += 1
        start(folder, self.list, "--workers", "2").wait()
        return kills

    def of_schedulers(self, folder: Path, most: int) -> int:
        with self.cluster(folder) as (scheduler, address):
            process = start(folder, self.list, "--cluster", address)
            alive = self.wait_a_moment(process, folder, 3.0)
            scheduler.kill()
            process.wait()
        with self.cluster(folder) as (_, address):
            start(folder, self.list, "--cluster", address).wait()
        return int(alive)

    @contextlib.contextmanager
    def cluster(self, folder: Path):
        port = self.random.randrange(20000, 60000)
        address = f"tcp://127.0.0.1:{port}"
        dask = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", str(port)]
        worker = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nworkers", "2", "--nthreads", "1"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
        processes = [
            subprocess.Popen([*dask, "--dashboard-address", "127.0.0.1:0"], **quiet),
            subprocess.Popen([*worker, "--death-timeout", "60", "--no-dashboard"], **quiet),
        ]
        try:
            yield processes[0], address
        finally:
            for process in processes:
                process.terminate()
            for process in processes:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(20)
                process.kill()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("list", type=Path)
    for name, default in {"hosts": 60, "simulators": 60, "coordinators": 20, "schedulers": 5, "seed": 0}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    alone = Trials(options.list.resolve(), options.seed, ALONE)
    alone.row("hosts", options.hosts, alone.of_hosts)
    trials = Trials(options.list.resolve(), options.seed, YAML)
    print(f"undisturbed: {len(trials.truth)} records")
    trials.row("simulators", options.simulators, trials.of_simulators)
    trials.row("coordinator", options.coordinators, trials.of_coordinators)
    trials.row("scheduler", options.schedulers, trials.of_schedulers)


if __name__ == "__main__":
    main()

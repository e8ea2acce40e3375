"""Runs in network namespaces: on a machine with a network, nothing listens beyond loopback without being asked to."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time

import pytest

from kernelpoint.cli.host import program

pytest.importorskip("dask_jobqueue", reason="kernelpoint[cluster] is not installed")
pytest.importorskip("cryptography", reason="kernelpoint[cluster] is not installed")
if not program().exists():
    pytest.skip("the embedded host is not built; run `make build`", allow_module_level=True)

HERE, THERE = "10.199.7.1", "10.199.7.2"  # addresses of the two machines, which no other process sees
LISTEN = "0A"  # in /proc/net/tcp
# A stranger, where that is possible another user: connects to ports and asks what answers to run a function.
STRANGER = """
import asyncio, json, os, pickle, sys
from distributed.core import rpc
if os.getuid() == 0:
    os.setuid(65534)

async def ask(host, port, operation):
    async with rpc(f"tcp://{host}:{port}") as there:
        call = {"function": os.getuid, "args": (), "kwargs": {}}
        return await getattr(there, operation)(**{key: pickle.dumps(value) for key, value in call.items()}, wait=True)

async def reach(host, port):
    try:
        _, to = await asyncio.wait_for(asyncio.open_connection(host, port), 3)
    except OSError:
        return None, []
    to.close()
    answers = []
    for operation in ("run_function", "run"):  # of a scheduler, of a worker
        try:
            answers.append((await asyncio.wait_for(ask(host, port, operation), 3))["result"])
        except Exception:
            continue
    return host, answers

async def main():
    found = await asyncio.gather(*(reach(host, port) for host, port in json.loads(sys.argv[1])))
    print(json.dumps([[host for host, _ in found if host], [answer for _, answers in found for answer in answers]]))

asyncio.run(main())
"""


def call(*command: str, **more) -> subprocess.CompletedProcess:
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True, **more)


@pytest.fixture
def machines():
    """Two network namespaces with a cable between them: names of the one that runs, and of a stranger's."""
    if shutil.which("ip") is None:
        pytest.skip("no program `ip` (Debian: iproute2)")
    names = [f"kernelpoint-{os.getpid()}-{side}" for side in ("run", "stranger")]
    made = []
    try:
        try:
            for name in names:
                call("ip", "netns", "add", name)
                made.append(name)
            first, second = names
            call("ip", "-n", first, "link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns", second)
            for name, address in zip(names, (HERE, THERE), strict=True):
                call("ip", "-n", name, "address", "add", f"{address}/24", "dev", "cable")
                call("ip", "-n", name, "link", "set", "cable", "up")
                call("ip", "-n", name, "link", "set", "lo", "up")
        except subprocess.CalledProcessError as error:
            pytest.skip(f"network namespaces cannot be made here: {error.stderr.strip()}")
        yield names
    finally:
        for name in made:
            subprocess.run(["ip", "netns", "delete", name], check=False)


def inside(name: str, *command: str) -> list[str]:
    return ["ip", "netns", "exec", name, *command]


def listening(name: str) -> set[tuple[str, int]]:
    """Addresses and ports on which something listens in a namespace."""
    addresses = set()
    for line in call(*inside(name, "cat", "/proc/net/tcp", "/proc/net/tcp6")).stdout.splitlines():
        fields = line.split()
        if len(fields) > 3 and fields[3] == LISTEN:
            address, port = fields[1].split(":")
            words = [bytes.fromhex(address[i : i + 8])[::-1] for i in range(0, len(address), 8)]
            family = socket.AF_INET if len(words) == 1 else socket.AF_INET6
            addresses.add((socket.inet_ntop(family, b"".join(words)), int(port, 16)))
    return addresses


def test_listening_addresses_are_found(machines):
    code = "import socket; s = socket.create_server(('10.199.7.1', 4711)); print(flush=True); input()"
    with subprocess.Popen(
        inside(machines[0], sys.executable, "-c", code), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        process.stdout.readline()
        assert listening(machines[0]) == {(HERE, 4711)}
        process.communicate(b"\n")


def ask_as_a_stranger(machine: str, addresses: set[tuple[str, int]]) -> tuple[set[str], list[int]]:
    """Hosts that a stranger on a machine reaches, and the users as whom a function of the stranger ran."""
    pairs = [(host, port) for _, port in addresses for host in (HERE, "127.0.0.1")]
    done = call(*inside(machine, sys.executable, "-c", STRANGER, json.dumps(pairs)))
    reached, ran = json.loads(done.stdout.splitlines()[-1])
    return set(reached), ran


OPEN = """
import distributed
with distributed.LocalCluster(
    n_workers=1, processes=False, protocol="tcp://", host="10.199.7.1", dashboard_address=None, scheduler_port=4711
):
    print("works", flush=True)
    input()
"""


def test_a_stranger_is_one_who_runs_functions_where_connections_are_not_encrypted(machines):
    command, pipe = inside(machines[0], sys.executable, "-c", OPEN), subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout.readline() == "works\n"
        answers = [ask_as_a_stranger(machine, {(HERE, 4711)}) for machine in machines]
        process.communicate("\n")
    assert answers == [({HERE}, [os.getuid()])] * 2


def test_a_run_on_this_machine_listens_on_loopback_only(bench, machines):
    code = "import sys; from kernelpoint.cli import main; sys.argv[0] = 'kernelpoint'; main()"
    run = [sys.executable, "-c", code, "run", "--workers", "2", "-c", str(bench.config), "--", *bench.command()]
    heard = set()
    with (
        (bench.folder / "out").open("w") as out,
        subprocess.Popen(inside(machines[0], *run), stdout=out, stderr=subprocess.STDOUT) as process,
    ):
        while process.poll() is None:
            heard |= {address for address, _ in listening(machines[0])}
            time.sleep(0.05)
    assert process.returncode == 0, (bench.folder / "out").read_text()
    assert heard <= {"127.0.0.1"}


ENGINE = """
import contextlib, sys
from kernelpoint.coordinator.dask_pool import open_pool
with contextlib.closing(open_pool(1, sys.argv[1], 0, print)) as pool:
    next(pool.map(abs, [-1]))
    print("works", flush=True)
    input()
"""


def test_workers_of_a_batch_system_listen_where_its_file_says_and_run_nothing_for_strangers(machines, slurm_here):
    place = slurm_here("interface: cable")
    command, pipe = inside(machines[0], sys.executable, "-c", ENGINE, place), subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert any(line == "works\n" for line in process.stdout)
        heard = listening(machines[0])
        answers = [ask_as_a_stranger(machine, heard) for machine in machines]
        process.communicate("\n")
    assert answers == [({"127.0.0.1", HERE}, []), ({HERE}, [])]  # on the same machine, on another
    assert len(heard) >= 4 and {address for address, _ in heard} == {"127.0.0.1", HERE}
    assert process.returncode == 0

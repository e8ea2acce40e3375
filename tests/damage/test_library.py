"""`import kernelpoint as kp`: whatever its functions are given, they work or raise one KernelPointError in words of our own."""

import math
import os
import socket
import stat
from pathlib import Path

import numpy as np
import pytest
from in_time import in_time

import kernelpoint as kp
from kernelpoint.errors import KernelPointError
from kernelpoint.estimation import Design, ErrorBudget
from kernelpoint.program import Program

PYTHONS_WORDS = ("Traceback", "object at 0x", "<class", "NoneType", "Errno", "positional argument")


class Odd:
    """An object that answers no question."""

    def __repr__(self):
        return "o" * 10_000

    def __str__(self):
        raise ValueError

    def __fspath__(self):
        return 5


OTHERS = [None, True, 1.5, b"bytes", [], {}, ["x"], Odd(), object(), np.zeros(3), np.zeros((2, 2))]
NUMBERS = ["5", "", -1, 0, 10**30, 10**5000, math.nan, math.inf, -math.inf, 1e308, 1j, [10**5000], *OTHERS]
TEXTS = ["nosuch", "", "\0", "x" * 5000, "[/x]", "../all", 5, *OTHERS]
FILES = ["fifo", "socket", "noise", "empty", "folder", "loop", "damaged.kpjournal", "nosuch"]
DEVICES = ["/dev/zero", "/dev/tty"]  # to read from; a test that runs as root writes to none
PATHS = [*FILES, "a" * 300, "a/" * 1000, "", "a\0b", "\udcff", 7, Path("nosuch"), *OTHERS]
DESIGN = Design(np.zeros(12, np.int32), np.array([4]), np.linspace(0.0, 0.9, 12))
BUDGET = ErrorBudget(0.05)


@pytest.fixture(scope="module")
def place(tmp_path_factory, traces):
    """A folder with what is no trace, plan or journal, one whole run, and a damaged one."""
    folder = tmp_path_factory.mktemp("library")
    os.mkfifo(folder / "fifo")
    before = Path.cwd()
    os.chdir(folder)
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind("socket")
    (folder / "loop").symlink_to("loop")
    (folder / "noise").write_bytes(np.random.default_rng(1).bytes(500))
    (folder / "empty").touch()
    (folder / "folder").mkdir()
    whole = kp.simulate(traces, "run.kpjournal", policy="all").path.read_bytes()
    (folder / "damaged.kpjournal").write_bytes(whole[:90] + b"#" + whole[91:])
    yield folder
    os.chdir(before)


@pytest.fixture
def attack(record_property):
    """Function that makes calls, of which each works or is refused in one message; it returns how many were refused."""

    def refused_of(tries):
        tried = refused = 0
        for call in tries:
            tried += 1
            try:
                with in_time():
                    call()
            except KernelPointError as error:
                refused += 1
                text = str(error)
                assert text.strip() and not any(word in text for word in PYTHONS_WORDS), text[:500]
                assert len(text) < 7000, text[:500]
        record_property("tried", tried)
        return refused

    return refused_of


def test_any_path_is_taken_or_refused(place, traces, attack):
    plan = kp.Plan.from_traces(traces, policy="random")
    run = {"policy": "random"}
    outputs = [lambda v: plan.save(v), lambda v: kp.simulate(traces, v, **run)]
    assert attack(lambda call=call, v=v: call(v) for call in outputs for v in PATHS) > 0.6 * 2 * len(PATHS)
    tries = [
        lambda v: kp.Run.load(v),
        lambda v: kp.Plan.load(v, Program((12,))),
        lambda v: kp.Plan.from_traces(v, **run),
        lambda v: kp.Plan.from_traces(traces, gpu=v, **run),
        lambda v: kp.Plan.from_traces(traces, gpu=[v], **run),
        lambda v: kp.Plan.from_traces(traces, policy="gcl", encoder={"checkpoint": v}),
        lambda v: kp.cluster(v, "random"),
        lambda v: kp.embed(v),
        lambda v: kp.embed(place / "noise", checkpoint=v),
        lambda v: kp.simulate(v, "other.kpjournal", **run),
        lambda v: kp.simulate(traces, "other.kpjournal", gpu=v, **run),
        lambda v: kp.compare({"truth": v}, ["random"], [0.05], seeds=1),
        lambda v: kp.compare({"truth": "run.kpjournal", "traces": v}, ["random"], [0.05], seeds=1),
        *(
            lambda v, key=key: kp.Plan.from_traces(traces, policy="random", **{key: v})
            for key in ("profile", "plan", "selection", "journal", "fast_model")
        ),
    ]
    paths = [*PATHS, *DEVICES]
    assert attack(lambda call=call, v=v: call(v) for call in tries for v in paths) > 0.8 * len(tries) * len(paths)


def test_a_device_or_a_fifo_in_the_place_of_an_output_stays_what_it_is(tmp_path, traces, attack):
    plan = kp.Plan.from_traces(traces, policy="random")
    places = [tmp_path / "fifo", tmp_path / "device"]
    os.mkfifo(places[0])
    try:
        os.mknod(places[1], stat.S_IFCHR | 0o666, os.makedev(1, 3))
    except PermissionError:
        places.pop()
    before = [place.stat().st_mode for place in places]
    assert attack(lambda place=place: plan.save(place) for place in places) == len(places)
    assert [place.stat().st_mode for place in places] == before


def test_any_name_is_taken_or_refused(place, traces, attack):
    truth = {"truth": "run.kpjournal"}
    run, plan = kp.Run.load("run.kpjournal"), kp.Plan.from_traces(traces, policy="gcl")
    tries = [
        lambda v: kp.load_policy(v),
        lambda v: kp.cluster(traces, v),
        lambda v: kp.simulate(traces, "other.kpjournal", policy=v),
        lambda v: kp.compare(truth, v, [0.05], seeds=1),
        lambda v: kp.compare(truth, [v], [0.05], seeds=1),
        lambda v: kp.compare(v, ["random"], [0.05], seeds=1),
        lambda v: kp.compare(truth, ["random"], [0.05], seeds=1, log=v),
        lambda v: run.plot(v),
        lambda v: run.setting(v),
        lambda v: plan.count_of_unit(v),
        lambda v: kp.Engine(DESIGN, BUDGET, v),
        lambda v: kp.Engine(v, BUDGET),
        lambda v: kp.Engine(DESIGN, v),
        lambda v: kp.Engine(DESIGN, BUDGET, ratios=v) if v is not None else kp.load_policy(""),
        lambda v: kp.Engine(DESIGN, BUDGET).record(0, v, [1.0]) if v not in ("", "[/x]") else kp.load_policy(""),
    ]
    texts = [v for v in TEXTS if not isinstance(v, np.ndarray)]
    assert attack(lambda call=call, v=v: call(v) for call in tries for v in texts) > 0.8 * len(tries) * len(texts)


def test_any_number_is_taken_or_refused(place, traces, attack):
    truth = {"truth": "run.kpjournal"}
    run, plan = kp.Run.load("run.kpjournal"), kp.Plan.from_traces(traces, policy="gcl")
    tries = [
        lambda v: kp.Plan.from_traces(traces, policy="random", seed=v),
        lambda v: kp.Plan.from_traces(traces, policy="random", error_budget={"relative_error": v}),
        lambda v: kp.Plan.from_traces(traces, policy="random", error_budget=v),
        lambda v: kp.compare(truth, ["random"], [v], seeds=1),
        lambda v: kp.compare(truth, ["random"], v, seeds=1),
        lambda v: kp.compare(truth, ["random"], [0.05], seeds=v),
        lambda v: kp.compare(truth, ["random"], [0.05], seeds=1, confidence=v),
        lambda v: kp.embed(place / "noise", max_nodes=v),
        lambda v: plan.name_of_unit(v),
        lambda v: run.name_of(v),
        lambda v: kp.Plan.load("noise", v),
        lambda v: ErrorBudget(v),
        lambda v: Design(v, np.array([4]), np.zeros(12)),
        lambda v: Design(np.zeros(12, np.int32), v, np.zeros(12)),
        lambda v: Design(np.zeros(12, np.int32), np.array([4]), v),
        lambda v: kp.Engine(DESIGN, BUDGET).record(v, ("cycles",), [1.0]),
        lambda v: kp.Engine(DESIGN, BUDGET).record(0, ("cycles",), v),
        lambda v: kp.Engine(DESIGN, BUDGET).record(0, ("cycles",), [v]),
    ]
    assert attack(lambda call=call, v=v: call(v) for call in tries for v in NUMBERS) > 0.8 * len(tries) * len(NUMBERS)


def test_any_parameter_or_file_of_an_encoder_is_taken_or_refused(place, attack):
    pytest.importorskip("torch")
    tries = [lambda v: kp.TraceEncoder(num_bases=v), lambda v: kp.TraceEncoder(dropout=v)]
    assert attack(lambda call=call, v=v: call(v) for call in tries for v in NUMBERS) == 2 * len(NUMBERS) - 1
    assert attack(lambda v=v: kp.TraceEncoder.load(v) for v in PATHS) == len(PATHS)

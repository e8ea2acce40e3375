"""Inputs of a plan: refused where they are missing, made once where they are needed; progress of planning."""

import threading

import numpy as np
import pytest
from workloads import synthesised

from kernelpoint.config import parse_config
from kernelpoint.errors import ConfigError, PolicyError, TraceError
from kernelpoint.policies.registry import POLICIES, load_policy
from kernelpoint.program import Program, ProgramBuilder
from kernelpoint.progress import WorkProgress, elapsed_time
from kernelpoint.repeated import Repeated
from kernelpoint.traces import read_trace_list
from kernelpoint.workload import Available, Need, check_available, complete

ENCODER = parse_config({"version": 1, "policy": "all"}).encoder
QUIET = [].append


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    return tuple(read_trace_list(synthesised(tmp_path_factory.mktemp("traces"), "iterative-solver", 12, rows=1024)).traces)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("KERNELPOINT_CACHE", str(tmp_path / "cache"))


def profile(count):
    builder = ProgramBuilder("made up")
    for launch in range(count):
        builder.add("", order=launch, counters={"cycles": 100.0 + launch})
    return builder.finish()


def test_nothing_is_made_that_is_not_needed(paths):
    population = Program((len(paths),), traces=paths)
    assert complete(population, frozenset(), ENCODER, QUIET) is population
    scanned = complete(population, frozenset({Need.TRACES}), ENCODER, QUIET)
    assert scanned.contents is not None and len(scanned.content) == len(paths) and scanned.embeddings is None


def test_embeddings_come_with_the_scan_and_neither_is_made_again(paths, monkeypatch):
    needs = frozenset({Need.EMBEDDINGS})
    made = complete(Program((len(paths),), traces=paths), needs, ENCODER, QUIET)
    assert made.embeddings.shape == (len(made.contents.of_streams), 256)
    monkeypatch.setattr("kernelpoint.traces.scan_launches", None)
    monkeypatch.setattr("kernelpoint.encoder.embed_streams", None)
    assert complete(made, needs, ENCODER, QUIET) is made


def test_a_list_that_cannot_be_read_at_all_is_refused(tmp_path):
    for n in (1, 2):
        (tmp_path / f"kernel-{n}.traceg").write_text("no trace")
    population = Program((2,), traces=tuple(str(tmp_path / f"kernel-{n}.traceg") for n in (1, 2)))
    with pytest.raises(TraceError, match="none of the 2 traces can be read; the first: "):
        complete(population, frozenset({Need.TRACES}), ENCODER, QUIET)


@pytest.mark.parametrize(
    ("needs", "available", "error", "message"),
    [
        ({Need.PROFILE}, Available(traces=True), PolicyError, "policy: stem plans from the time or counters"),
        (
            {Need.TRACES},
            Available(profile(2)),
            ConfigError,
            "policy: stem reads every trace before the simulation, but the simulator names no",
        ),
        ({Need.TRACES, Need.EMBEDDINGS}, Available(), ConfigError, "reads every trace before the simulation"),
    ],
)
def test_a_missing_input_is_named(needs, available, error, message):
    with pytest.raises(error, match=message):
        check_available("stem", frozenset(needs), available)


@pytest.mark.parametrize("name", POLICIES.names())
@pytest.mark.parametrize("traces", [False, True])
def test_a_policy_asks_for_nothing_but_inputs_that_exist(name, traces):
    for times in (None, profile(3)):
        asked = load_policy(name).inputs(Available(times, traces))
        assert asked <= set(Need)
        assert Need.EMBEDDINGS not in asked or Need.TRACES in asked


def test_a_process_takes_its_rows_of_every_input():
    predictions = Repeated(None, profile(5).counters)
    whole = Program((2, 3), 5, traces=tuple("abcde"), predictions=predictions).with_times_of(profile(5))
    part = whole.part(1)
    assert part.size == 3 and part.traces == ("c", "d", "e") and np.array_equal(part.u, whole.u[2:])
    for values in (part.counters, part.predictions):
        assert values["cycles"].tolist() == [102.0, 103.0, 104.0]


class Clock:
    """Seconds, moved by hand."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def progress(said, **options):
    clock = Clock()
    return WorkProgress("fast model", "launches", said.append, clock, **options), clock


def test_what_is_done_at_once_says_nothing():
    said = []
    shown, clock = progress(said, terminal=False)
    for done in range(10):
        clock.now += 0.1
        shown(done, 10)
    clock.now = 60
    shown(10, 10)
    assert said == []


def test_a_log_gets_a_line_now_and_then_with_the_time_left():
    said = []
    shown, clock = progress(said, terminal=False)
    for second in range(1, 31):
        clock.now = float(second)
        shown(second, 40, second / 60)
    assert said[0] == "kernelpoint: fast model: 2 of 40 launches, about 58 s left"
    assert len(said) == 3


def test_a_terminal_has_one_line_that_is_cleared(capsys):
    shown, clock = progress([], terminal=True)
    for second in range(1, 11):
        clock.now = float(second)
        shown(second, 10)
    text = capsys.readouterr().err
    assert text.count("\n") == 0
    assert "5 of 10 launches, about 5 s left" in text
    assert text.endswith("\r\033[K")


def test_work_that_cannot_be_counted_tells_how_long_it_takes_so_far():
    lines, said = [], threading.Event()

    def log(line):
        lines.append(line)
        said.set()

    with elapsed_time("drawing", log, least=0.01):
        assert said.wait(60)
    assert lines == ["kernelpoint: drawing: 0 s so far"]
    assert "kernelpoint progress" not in [thread.name for thread in threading.enumerate()]


def test_work_that_is_soon_done_says_nothing():
    lines = []
    with elapsed_time("drawing", lines.append):
        pass
    assert lines == []

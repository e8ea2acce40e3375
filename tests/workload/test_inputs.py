"""Inputs of a plan: refused where they are missing, made once where they are needed."""

import numpy as np
import pytest
from workloads import synthesised

from kernelpoint.config import parse_config
from kernelpoint.errors import ConfigError, PolicyError, TraceError
from kernelpoint.policies.registry import load_policy, policy_names
from kernelpoint.profiles.builder import ProfileBuilder
from kernelpoint.traces import launch_paths
from kernelpoint.workload import Available, Need, Population, check_available, complete

ENCODER = parse_config({"version": 1, "policy": "all"}).encoder
QUIET = [].append


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    return tuple(launch_paths(synthesised(tmp_path_factory.mktemp("traces"), "iterative-solver", 12, rows=1024)))


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("KERNELPOINT_CACHE", str(tmp_path / "cache"))


def profile(count):
    builder = ProfileBuilder("made up")
    for launch in range(count):
        builder.add("", order=launch, counters={"cycles": 100.0 + launch})
    return builder.finish()


def test_nothing_is_made_that_is_not_needed(paths):
    population = Population((len(paths),), 0, paths=paths)
    assert complete(population, frozenset(), ENCODER, QUIET) is population
    scanned = complete(population, frozenset({Need.TRACES}), ENCODER, QUIET)
    assert scanned.scan is not None and len(scanned.scan) == len(paths) and scanned.embeddings is None


def test_embeddings_come_with_the_scan_and_neither_is_made_again(paths, monkeypatch):
    needs = frozenset({Need.EMBEDDINGS})
    made = complete(Population((len(paths),), 0, paths=paths), needs, ENCODER, QUIET)
    assert made.embeddings.shape == (len(made.scan.streams), 256)
    monkeypatch.setattr("kernelpoint.traces.scan_launches", None)
    monkeypatch.setattr("kernelpoint.encoder.embed_streams", None)
    assert complete(made, needs, ENCODER, QUIET) is made


def test_a_list_that_cannot_be_read_at_all_is_refused(tmp_path):
    for n in (1, 2):
        (tmp_path / f"kernel-{n}.traceg").write_text("no trace")
    population = Population((2,), 0, paths=tuple(str(tmp_path / f"kernel-{n}.traceg") for n in (1, 2)))
    with pytest.raises(TraceError, match="none of the 2 launches can be read; the first: "):
        complete(population, frozenset({Need.TRACES}), ENCODER, QUIET)


@pytest.mark.parametrize(
    ("needs", "available", "error", "message"),
    [
        ({Need.PROFILE}, Available(traces=True), PolicyError, "policy: stem plans from times or counters"),
        (
            {Need.TRACES},
            Available(profile(2)),
            ConfigError,
            "policy: stem reads traces beforehand, but the simulator names no",
        ),
        ({Need.TRACES, Need.EMBEDDINGS}, Available(), ConfigError, "reads traces beforehand"),
    ],
)
def test_a_missing_input_is_named(needs, available, error, message):
    with pytest.raises(error, match=message):
        check_available("stem", frozenset(needs), available)


@pytest.mark.parametrize("name", policy_names())
@pytest.mark.parametrize("traces", [False, True])
def test_a_policy_asks_for_nothing_but_inputs_that_exist(name, traces):
    for known in (None, profile(3)):
        asked = load_policy(name).inputs(Available(known, traces))
        assert asked <= set(Need)
        assert Need.EMBEDDINGS not in asked or Need.TRACES in asked


def test_a_process_takes_its_rows_of_every_input():
    whole = Population((2, 3), 5, profile=profile(5), model=profile(5), paths=tuple("abcde"))
    part = whole.process(1)
    assert part.size == 3 and part.paths == ("c", "d", "e") and np.array_equal(part.u, whole.u[2:])
    for known in (part.profile, part.model):
        assert known.counters["cycles"].tolist() == [102.0, 103.0, 104.0]

"""Observations of the fast model tell launches apart as they should."""

from __future__ import annotations

import numpy as np
import pytest

from kernelpoint.encoder.observations import OBSERVED, VARIANTS, WEIGHT, observe, variant
from kernelpoint.fast_model import shipped
from kernelpoint.randomness import generator
from kernelpoint.synth.families.programs import random_program
from kernelpoint.synth.memory import Memory
from kernelpoint.synth.writer import write_list
from kernelpoint.traces import launch_paths


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("programs")
    write_list([random_program(Memory(), n, 4, 64, 1) for n in range(8)], folder, 8, {"name": "test", "seed": 0})
    return launch_paths(str(folder / "kernelslist.g"))


def test_a_variant_changes_its_keys_alone():
    changed = variant({"l2_size": 0.5}).values
    before = shipped("v100").values
    assert changed["l2_size"] == before["l2_size"] / 2
    assert {k: v for k, v in changed.items() if k != "l2_size"} == {k: v for k, v in before.items() if k != "l2_size"}


def test_observations_have_means_of_zero_and_known_spreads_and_repeat(programs):
    work = generator(0, "test work").random((8, 4)) * 1000
    calls = []
    first, again = observe(programs, work, lambda done, total: calls.append((done, total))), observe(programs, work)
    assert first.targets.shape == (8, len(OBSERVED) + len(VARIANTS)) and first.targets.dtype == np.float32
    assert np.array_equal(first.targets, again.targets) and np.array_equal(first.work, again.work)
    spread = first.targets.std(0)[1:]
    assert np.allclose(first.targets.mean(0), 0, atol=1e-5)
    assert np.all(np.isclose(spread, WEIGHT, atol=1e-4) | (spread == 0)) and (spread > 0).any()
    assert calls[-1] == (8, 8)


def test_more_latency_costs_cycles_where_memory_is_read(programs):
    column = len(OBSERVED) + list(VARIANTS).index("twice the memory latency")
    from kernelpoint.encoder.observations import _alone

    slow, base = (_alone(programs[0], c) for c in (variant(VARIANTS["twice the memory latency"]), shipped("v100")))
    assert slow["cycles"] >= base["cycles"]
    assert observe(programs, np.ones((8, 4))).targets[:, column].std() > 0
